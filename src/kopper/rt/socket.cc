#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include <arpa/inet.h>
#include <boost/asio/ip/tcp.hpp>
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

Address tcp_address(const asio::ip::tcp::endpoint& endpoint) {
  Address address;
  std::memcpy(&address.storage, endpoint.data(), endpoint.size());
  address.size = static_cast<socklen_t>(endpoint.size());
  const auto host = endpoint.address().to_string();
  address.text = fmt::format(fmt::runtime(endpoint.address().is_v6() ? "[{}]:{}" : "{}:{}"), host, endpoint.port());
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

// Waits for the resolver, whose thread cannot be stopped: its handler finds the leaf gone when it was withdrawn.
class Resolve final : public Leaf {
 public:
  Resolve(std::string host, std::uint16_t port) : host_(std::move(host)), port_(std::to_string(port)) {}
  ~Resolve() override {
    if (pending()) withdraw();
  }
  std::vector<Address> await_resume() const {
    throw_if_cancelled();
    if (shared_->error) {
      throw Error(Code::Unavailable, fmt::format("lookup {}: {}", host_, shared_->error.message()));
    }
    std::vector<Address> found;
    for (const auto& entry : shared_->found) found.push_back(tcp_address(entry.endpoint()));
    return found;
  }

 private:
  struct Shared {
    explicit Shared(asio::io_context& io) : resolver(io) {}
    asio::ip::tcp::resolver resolver;
    asio::ip::tcp::resolver::results_type found;
    boost::system::error_code error;
    Resolve* leaf = nullptr;
  };
  void start() override {
    shared_ = std::make_shared<Shared>(Loop::current().impl().io);
    shared_->leaf = this;
    shared_->resolver.async_resolve(host_, port_, [shared = shared_](const auto& error, auto found) {
      shared->error = error;
      shared->found = std::move(found);
      if (shared->leaf != nullptr) shared->leaf->finish();
    });
  }
  void withdraw() noexcept override {
    shared_->leaf = nullptr;
    shared_->resolver.cancel();
  }
  std::string host_;
  std::string port_;
  std::shared_ptr<Shared> shared_;
};

Task<std::vector<Address>> resolve(std::string host, std::uint16_t port) {
  boost::system::error_code not_a_number;
  const auto address = asio::ip::make_address(host, not_a_number);
  if (not_a_number) co_return co_await Resolve(host, port);
  std::vector<Address> found;
  found.push_back(tcp_address({address, port}));
  co_return found;
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
  Fd fd(new_socket(address.storage.ss_family));
  int error = 0;
  if (::connect(fd.get(), address.get(), address.size) != 0) {
    error = errno;
    if (error == EINPROGRESS || error == EINTR) {
      co_await fd.writable();
      socklen_t size = sizeof error;
      ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    }
  }
  if (error != 0) throw errno_error("connect " + address.text, error);
  // A descriptor that once waited to be writable is woken for it at every later wait: begin with a fresh one.
  co_return std::make_unique<SocketStream>(Fd(fd.release()));
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
  Fd fd(new_socket(address.storage.ss_family));
  const int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(fd.get(), address.get(), address.size) != 0 || ::listen(fd.get(), SOMAXCONN) != 0) {
    throw errno_error("listen on " + address.text, errno);
  }
  return fd;
}

}  // namespace

Listener Listener::tcp(const std::string& address, std::uint16_t port) {
  boost::system::error_code not_a_number;
  const auto ip = asio::ip::make_address(address, not_a_number);
  if (not_a_number) throw Error(Code::Invalid, fmt::format("listen on {}: not an IP address", address));
  auto impl = std::make_unique<Impl>();
  impl->fd = listen_at(tcp_address({ip, port}));
  asio::ip::tcp::endpoint bound;
  auto size = static_cast<socklen_t>(bound.capacity());
  ::getsockname(impl->fd.get(), bound.data(), &size);
  impl->port = bound.port();
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
