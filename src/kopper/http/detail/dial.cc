#include "kopper/http/detail/dial.h"

#include <array>

#include <fmt/format.h>

#include "kopper/base/error.h"
#include "kopper/http/detail/h1.h"

namespace kopper::http::detail {
namespace {

constexpr std::size_t kMaxProxyHead = std::size_t{16} << 10U;

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto group = bytes.substr(i, 3);
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k)
      bits = bits << 8U | (k < group.size() ? static_cast<unsigned char>(group[k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k) out += k <= group.size() ? kDigits[bits >> (18U - 6U * k) & 63U] : '=';
  }
  return out;
}

// outlives: dial_proxy() holds the stream
Task<> http_connect(rt::Stream& stream, Url proxy, std::string host_port) {
  Request request;
  request.method = "CONNECT";
  if (const auto auth = basic_auth(proxy)) request.headers.add("Proxy-Authorization", *auth);
  const std::string head = request_head(request, host_port, host_port);
  co_await stream.write(head);
  H1Reader reader(stream, H1Reader::Kind::Responses, kMaxProxyHead);
  const auto answer = co_await reader.head(true);
  if (!answer) throw Error(Code::Unavailable, "it closed the connection");
  if (answer->status / 100 != 2) {
    throw Error(Code::Unavailable, fmt::format("CONNECT {} was refused with status {}", host_port, answer->status));
  }
  if (!reader.take_rest().empty()) throw Error(Code::Unavailable, "it sent data before it was asked");
}

std::string_view socks_reply(unsigned char reply) {
  constexpr std::array<std::string_view, 9> kReplies{"ok",
                                                     "general failure",
                                                     "not allowed by its rules",
                                                     "network unreachable",
                                                     "host unreachable",
                                                     "connection refused",
                                                     "time to live expired",
                                                     "command not supported",
                                                     "address type not supported"};
  return reply < kReplies.size() ? kReplies.at(reply) : "unknown reply";
}

std::string length_prefixed(std::string_view text, std::string_view what) {
  if (text.size() > 255) throw Error(Code::Invalid, fmt::format("{} is longer than SOCKS 5 allows", what));
  std::string out(1, static_cast<char>(text.size()));
  return out.append(text);
}

// RFC 1928 and 1929. The name goes to the proxy as it is: it may be one that only the proxy can resolve.
// outlives: dial_proxy() holds the stream
Task<> socks_connect(rt::Stream& stream, Url proxy, std::string host, std::uint16_t port) {
  constexpr char kVersion = 5;
  constexpr char kNoAuth = 0;
  constexpr char kPassword = 2;
  std::string ask{kVersion, 1, proxy.user.empty() ? kNoAuth : kPassword};
  co_await stream.write(ask);
  std::array<char, 4> reply{};
  co_await rt::read_exactly(stream, std::span(reply).first(2));
  if (reply[0] != kVersion) throw Error(Code::Unavailable, "it does not speak SOCKS 5");
  if (reply[1] != ask[2]) throw Error(Code::Unavailable, "it refuses our way to authenticate");
  if (reply[1] == kPassword) {
    ask = "\x01" + length_prefixed(proxy.user, "the user") + length_prefixed(proxy.password, "the password");
    co_await stream.write(ask);
    co_await rt::read_exactly(stream, std::span(reply).first(2));
    if (reply[1] != 0) throw Error(Code::Unavailable, "it refuses the user or password");
  }

  ask = std::string{kVersion, 1, 0, 3} + length_prefixed(host, "the host");
  ask += static_cast<char>(port >> 8U);
  ask += static_cast<char>(port & 0xffU);
  co_await stream.write(ask);
  co_await rt::read_exactly(stream, reply);
  if (reply[1] != 0) {
    throw Error(Code::Unavailable,
                fmt::format("it refuses {}:{}: {}", host, port, socks_reply(static_cast<unsigned char>(reply[1]))));
  }
  // The address it bound: of no use, but it must be read.
  std::size_t size = 0;
  if (reply[3] == 1) size = 4;
  if (reply[3] == 4) size = 16;
  if (reply[3] == 3) {
    std::array<char, 1> length{};
    co_await rt::read_exactly(stream, length);
    size = static_cast<unsigned char>(length[0]);
  }
  std::string bound(size + 2, '\0');
  co_await rt::read_exactly(stream, bound);
}

}  // namespace

std::optional<std::string> basic_auth(const Url& url) {
  if (url.user.empty()) return std::nullopt;
  return "Basic " + base64(url.user + ":" + url.password);
}

Task<std::unique_ptr<rt::Stream>> dial_proxy(Url proxy, std::optional<rt::TlsContext> tls, bool tunnel,
                                             std::string host, std::uint16_t port) {
  try {
    auto stream = co_await rt::connect_tcp(proxy.host, proxy.port);
    if (proxy.scheme == "https") stream = co_await rt::TlsStream::client(std::move(stream), *tls, proxy.host);
    const bool socks = proxy.scheme == "socks5" || proxy.scheme == "socks5h";
    if (socks) {
      co_await socks_connect(*stream, proxy, host, port);
    } else if (tunnel) {
      Url target;
      target.host = host;
      target.port = port;
      co_await http_connect(*stream, proxy, target.host_port());
    }
    co_return stream;
  } catch (const Error& error) {
    Error named = error;
    named.with("proxy " + proxy.str());
    throw named;
  }
}

}  // namespace kopper::http::detail
