#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <vector>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "kopper/rt/detail/fd.h"
#include "kopper/rt/detail/loop_impl.h"
#include "kopper/rt/scope.h"
#include "kopper/rt/stream.h"

namespace kopper::rt {

namespace {

// An address of any family.
struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
  std::string text;  // for messages: "10.0.0.1:6443"

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

Address tcp_address(const sockaddr* found, socklen_t size) {
  Address address;
  std::memcpy(&address.storage, found, size);
  address.size = size;
  std::array<char, INET6_ADDRSTRLEN> host{};
  if (found->sa_family == AF_INET6) {
    const auto& in6 = reinterpret_cast<const sockaddr_in6&>(address.storage);
    ::inet_ntop(AF_INET6, &in6.sin6_addr, host.data(), host.size());
    address.text = fmt::format("[{}]:{}", host.data(), ntohs(in6.sin6_port));
  } else {
    const auto& in = reinterpret_cast<const sockaddr_in&>(address.storage);
    ::inet_ntop(AF_INET, &in.sin_addr, host.data(), host.size());
    address.text = fmt::format("{}:{}", host.data(), ntohs(in.sin_port));
  }
  return address;
}

Address unix_address(const std::string& path) {
  Address address;
  auto& un = reinterpret_cast<sockaddr_un&>(address.storage);
  if (path.size() >= sizeof un.sun_path) throw Error(Code::Invalid, fmt::format("socket path too long: {}", path));
  un.sun_family = AF_UNIX;
  std::memcpy(un.sun_path, path.data(), path.size());
  address.size = sizeof un;
  address.text = path;
  return address;
}

// Blocks, unless the host is an IP address or AI_NUMERICHOST says that it must be one.
std::vector<Address> look_up(const std::string& host, std::uint16_t port, int flags) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_NUMERICSERV | flags;
  addrinfo* list = nullptr;
  const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &list);
  if (error != 0) throw Error(Code::Unavailable, fmt::format("lookup {}: {}", host, ::gai_strerror(error)));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(list, &::freeaddrinfo);
  std::vector<Address> found;
  for (const auto* entry = list; entry != nullptr; entry = entry->ai_next) {
    found.push_back(tcp_address(entry->ai_addr, entry->ai_addrlen));
  }
  return found;
}

bool is_ip(const std::string& host) {
  in6_addr ignored;
  const auto without_zone = host.substr(0, host.find('%'));
  return ::inet_pton(AF_INET, host.c_str(), &ignored) == 1 ||
         ::inet_pton(AF_INET6, without_zone.c_str(), &ignored) == 1;
}

Task<std::vector<Address>> resolve(std::string host, std::uint16_t port) {
  if (is_ip(host)) co_return look_up(host, port, AI_NUMERICHOST);
  auto& threads = Loop::current().impl().resolvers();
  auto blocking = [host, port] { return look_up(host, port, 0); };
  co_return co_await offload(threads, std::move(blocking));
}

class SocketStream final : public Stream {
 public:
  explicit SocketStream(Fd fd) : fd_(std::move(fd)) {
    const int on = 1;
    ::setsockopt(fd_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // a Unix socket refuses, rightly
  }

  Task<std::size_t> read(std::span<char> into) override {
    for (;;) {
      if (!drained_) {
        const auto n = ::recv(fd_.get(), into.data(), into.size(), 0);
        if (n >= 0) {
          // A short read emptied the socket: wait for readiness at once next time, without asking in vain before.
          drained_ = n > 0 && static_cast<std::size_t>(n) < into.size();
          co_return static_cast<std::size_t>(n);
        }
        if (errno == EINTR) continue;
        if (errno != EAGAIN) fail("read");
      }
      co_await fd_.readable();
      drained_ = false;
    }
  }

  Task<> write(std::string_view bytes) override {
    while (!bytes.empty()) {
      const auto n = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n >= 0) {
        bytes.remove_prefix(static_cast<std::size_t>(n));
      } else if (errno == EAGAIN) {
        co_await fd_.writable();
      } else if (errno != EINTR) {
        fail("write");
      }
    }
  }

  Task<> shutdown() override {
    if (::shutdown(fd_.get(), SHUT_WR) != 0) fail("shutdown");
    co_return;
  }

  void close() noexcept override { fd_.close(); }

 private:
  [[noreturn]] void fail(std::string_view what) const {
    const int error = errno;
    if (fd_.get() < 0) throw Error(Code::Unavailable, "connection closed");
    throw errno_error(what, error);
  }

  Fd fd_;
  bool drained_ = false;
};

int new_socket(int family) {
  const int fd = ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) throw errno_error("socket", errno);
  return fd;
}

Task<std::unique_ptr<Stream>> connect(Address address) {
  const int number = new_socket(address.storage.ss_family);
  int error = ::connect(number, address.get(), address.size) == 0 ? 0 : errno;
  Fd fd(number);  // only now: an idle socket counts as hung up
  if (error == EINPROGRESS || error == EINTR) {
    co_await fd.writable();
    socklen_t size = sizeof error;
    ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  }
  if (error != 0) throw errno_error("connect " + address.text, error);
  co_return std::make_unique<SocketStream>(std::move(fd));
}

}  // namespace

Task<std::unique_ptr<Stream>> connect_tcp(std::string host, std::uint16_t port, ConnectOptions options) {
  const auto addresses = co_await resolve(host, port);
  std::optional<Error> last;
  for (const auto& address : addresses) {
    try {
      co_return co_await timeout(options.per_address, connect(address));
    } catch (const Error& error) {
      last = error;
      if (error.code == Code::Timeout) last->with("connect " + address.text);
    }
  }
  if (!last) last.emplace(Code::Unavailable, "lookup " + host + ": no address");
  last->code = Code::Unavailable;
  throw *last;
}

Task<std::unique_ptr<Stream>> connect_unix(std::string path) {
  auto address = unix_address(path);
  co_return co_await connect(std::move(address));
}

struct Listener::Impl {
  ~Impl() {
    if (!unix_path.empty()) ::unlink(unix_path.c_str());
  }
  Fd fd;
  std::uint16_t port = 0;
  std::string unix_path;
};

namespace {

Fd listen_at(const Address& address) {
  const int number = new_socket(address.storage.ss_family);
  const int on = 1;
  ::setsockopt(number, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(number, address.get(), address.size) != 0 || ::listen(number, SOMAXCONN) != 0) {
    const int error = errno;
    ::close(number);
    throw errno_error("listen on " + address.text, error);
  }
  return Fd(number);  // only now: an idle socket counts as hung up
}

}  // namespace

Listener Listener::tcp(const std::string& address, std::uint16_t port) {
  if (!is_ip(address)) throw Error(Code::Invalid, fmt::format("listen on {}: not an IP address", address));
  auto impl = std::make_unique<Impl>();
  impl->fd = listen_at(look_up(address, port, AI_NUMERICHOST).at(0));
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  ::getsockname(impl->fd.get(), reinterpret_cast<sockaddr*>(&bound), &size);
  impl->port = ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(bound).sin6_port
                                                 : reinterpret_cast<const sockaddr_in&>(bound).sin_port);
  return Listener(std::move(impl));
}

Listener Listener::unix_socket(const std::string& path) {
  auto impl = std::make_unique<Impl>();
  const auto address = unix_address(path);
  if (std::filesystem::is_socket(path)) ::unlink(path.c_str());
  impl->fd = listen_at(address);
  impl->unix_path = path;
  return Listener(std::move(impl));
}

Listener::Listener(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Listener::Listener(Listener&&) noexcept = default;
Listener& Listener::operator=(Listener&&) noexcept = default;
Listener::~Listener() = default;

Task<std::unique_ptr<Stream>> Listener::accept() {
  auto& listening = impl_->fd;
  for (;;) {
    const int fd = ::accept4(listening.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) co_return std::make_unique<SocketStream>(Fd(fd));
    if (errno == EAGAIN) {
      co_await listening.readable();
    } else if (listening.get() < 0) {
      throw Error(Code::Unavailable, "listener closed");
    } else if (errno != EINTR && errno != ECONNABORTED) {
      throw errno_error("accept", errno);
    }
  }
}

void Listener::close() noexcept { impl_->fd.close(); }
std::uint16_t Listener::port() const { return impl_->port; }

}  // namespace kopper::rt
