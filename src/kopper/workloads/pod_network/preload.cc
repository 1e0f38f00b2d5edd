// Preloaded into the programs of a pod. All pods share the machine's loopback; here each gets what looks like a network
// of its own: what is bound to every address, or to localhost, is bound to the pod's; localhost is the pod; and who is
// called sees the pod's address. Programs that make system calls without the C library do not get it.
#include <cstdlib>
#include <cstring>

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace {

struct in_addr pod_address() {
  static const struct in_addr address = [] {
    struct in_addr out{};
    const char* text = std::getenv("KOPPER_POD_IP");
    if (text != nullptr) ::inet_pton(AF_INET, text, &out);
    return out;
  }();
  return address;
}

// The C library's own.
template <class F>
F* next(const char* name) {
  return reinterpret_cast<F*>(::dlsym(RTLD_NEXT, name));
}
int real_bind(int fd, const sockaddr* address, socklen_t size) {
  static auto* const call = next<int(int, const sockaddr*, socklen_t)>("bind");
  return call(fd, address, size);
}
int real_connect(int fd, const sockaddr* address, socklen_t size) {
  static auto* const call = next<int(int, const sockaddr*, socklen_t)>("connect");
  return call(fd, address, size);
}

template <class T>
T read_as(const sockaddr* address) {
  T out{};
  std::memcpy(&out, address, sizeof out);
  return out;
}

template <class T>
const sockaddr* plain(const T& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

bool is_everywhere(const in_addr& address) { return address.s_addr == htonl(INADDR_ANY); }
bool is_localhost(const in_addr& address) { return address.s_addr == htonl(INADDR_LOOPBACK); }

// ::ffff:a.b.c.d
in6_addr mapped(const in_addr& address) {
  in6_addr out{};
  out.s6_addr[10] = 0xff;
  out.s6_addr[11] = 0xff;
  std::memcpy(&out.s6_addr[12], &address.s_addr, sizeof address.s_addr);
  return out;
}

bool only_six(int fd) {
  int only = 0;
  socklen_t size = sizeof only;
  return ::getsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, &size) == 0 && only != 0;
}

bool is_bound(int fd) {
  sockaddr_in here{};
  socklen_t size = sizeof here;
  return ::getsockname(fd, reinterpret_cast<sockaddr*>(&here), &size) != 0 || here.sin_family != AF_INET ||
         here.sin_port != 0 || !is_everywhere(here.sin_addr);
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int bind(int fd, const sockaddr* address, socklen_t size) {
  const in_addr pod = pod_address();
  if (address == nullptr || is_everywhere(pod)) return real_bind(fd, address, size);
  if (address->sa_family == AF_INET && size >= sizeof(sockaddr_in)) {
    auto four = read_as<sockaddr_in>(address);
    if (is_everywhere(four.sin_addr) || is_localhost(four.sin_addr)) four.sin_addr = pod;
    return real_bind(fd, plain(four), sizeof four);
  }
  if (address->sa_family == AF_INET6 && size >= sizeof(sockaddr_in6)) {
    auto six = read_as<sockaddr_in6>(address);
    const bool everywhere = IN6_IS_ADDR_UNSPECIFIED(&six.sin6_addr);
    if (everywhere && !only_six(fd)) {
      six.sin6_addr = mapped(pod);
    } else if (everywhere || IN6_IS_ADDR_LOOPBACK(&six.sin6_addr)) {
      // A pod has no such address, so nobody can call: but two pods may listen on the same port of it.
      six.sin6_addr = in6addr_loopback;
      six.sin6_port = 0;
    }
    return real_bind(fd, plain(six), sizeof six);
  }
  return real_bind(fd, address, size);
}

__attribute__((visibility("default"))) int connect(int fd, const sockaddr* address, socklen_t size) {
  const in_addr pod = pod_address();
  if (address == nullptr || is_everywhere(pod)) return real_connect(fd, address, size);
  if (address->sa_family == AF_INET && size >= sizeof(sockaddr_in)) {
    auto four = read_as<sockaddr_in>(address);
    // Only addresses of this machine can be called from the pod's.
    const bool loopback = (ntohl(four.sin_addr.s_addr) >> 24U) == 127;
    if (is_localhost(four.sin_addr) || is_everywhere(four.sin_addr)) four.sin_addr = pod;
    if (loopback && !is_bound(fd)) {
      const int later = 1;  // the port is chosen when the other side is known: so many more connections fit
      ::setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &later, sizeof later);
      sockaddr_in here{};
      here.sin_family = AF_INET;
      here.sin_addr = pod;
      real_bind(fd, plain(here), sizeof here);
    }
    return real_connect(fd, plain(four), sizeof four);
  }
  if (address->sa_family == AF_INET6 && size >= sizeof(sockaddr_in6)) {
    auto six = read_as<sockaddr_in6>(address);
    if (IN6_IS_ADDR_LOOPBACK(&six.sin6_addr) && !only_six(fd)) six.sin6_addr = mapped(pod);
    return real_connect(fd, plain(six), sizeof six);
  }
  return real_connect(fd, address, size);
}

}  // extern "C"
