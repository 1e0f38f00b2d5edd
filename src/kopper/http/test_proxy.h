#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "kopper/base/error.h"
#include "kopper/http/detail/dial.h"
#include "kopper/rt/scope.h"
#include "kopper/rt/stream.h"
#include "kopper/rt/tls.h"

namespace kopper::http {

// A proxy that asks for "user:password" unless `auth` is empty, notes where it was asked to connect to, and connects.
class TestProxy {
 public:
  enum class Kind { Connect, Socks5 };

  explicit TestProxy(Kind kind, std::string auth = {}, std::optional<rt::TlsContext> tls = {})
      : kind_(kind), auth_(std::move(auth)), tls_(std::move(tls)) {
    tasks_.spawn(accept_loop());
  }

  std::uint16_t port() const { return listener_.port(); }
  const std::vector<std::string>& asked() const { return asked_; }

 private:
  Task<> accept_loop() {
    for (;;) {
      auto stream = co_await listener_.accept();
      tasks_.spawn(serve(std::move(stream)));
    }
  }

  Task<> serve(std::unique_ptr<rt::Stream> stream) {
    try {
      if (tls_) stream = co_await rt::TlsStream::server(std::move(stream), *tls_);
      auto asking = kind_ == Kind::Connect ? connect_port(stream.get()) : socks_port(stream.get());
      const auto port = co_await asking;
      if (port == 0) co_return;
      auto target = co_await rt::connect_tcp("127.0.0.1", port);
      rt::Scope both;
      both.spawn(copy(stream.get(), target.get()));
      both.spawn(copy(target.get(), stream.get()));
      co_await both.join();
    } catch (const Error&) {
      // one of the two is gone
    }
  }

  static Task<> copy(rt::Stream* from, rt::Stream* to) {
    std::string buffer(16'384, '\0');
    while (const auto size = co_await from->read(buffer)) co_await to->write(std::string_view(buffer).substr(0, size));
    co_await to->shutdown();
  }

  Task<std::uint16_t> connect_port(rt::Stream* stream) {
    std::string head;
    std::string byte(1, '\0');
    while (!head.ends_with("\r\n\r\n")) {
      co_await rt::read_exactly(*stream, byte);
      head += byte;
    }
    Url user;
    user.user = auth_.substr(0, auth_.find(':'));
    user.password = auth_.substr(auth_.find(':') + 1);
    if (!auth_.empty() && head.find("Proxy-Authorization: " + *detail::basic_auth(user)) == std::string::npos) {
      co_await stream->write("HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n");
      co_return 0;
    }
    const std::string target = head.substr(8, head.find(' ', 8) - 8);  // after "CONNECT "
    asked_.push_back(target);
    co_await stream->write("HTTP/1.1 200 Connection established\r\n\r\n");
    co_return static_cast<std::uint16_t>(std::stoi(target.substr(target.rfind(':') + 1)));
  }

  static Task<std::string> take(rt::Stream* stream, std::size_t size) {
    std::string bytes(size, '\0');
    if (size > 0) co_await rt::read_exactly(*stream, bytes);
    co_return bytes;
  }
  static Task<std::string> take_prefixed(rt::Stream* stream) {
    const std::string size = co_await take(stream, 1);
    co_return co_await take(stream, static_cast<unsigned char>(size[0]));
  }

  Task<std::uint16_t> socks_port(rt::Stream* stream) {
    co_await take(stream, 1);
    const std::string methods = co_await take_prefixed(stream);
    const char method = auth_.empty() ? '\0' : '\2';
    const std::string chosen{'\5', methods.find(method) == std::string::npos ? '\xff' : method};
    co_await stream->write(chosen);
    if (method != 0) {
      co_await take(stream, 1);
      const std::string user = co_await take_prefixed(stream);
      const std::string password = co_await take_prefixed(stream);
      const std::string verdict{'\1', user + ":" + password == auth_ ? '\0' : '\1'};
      co_await stream->write(verdict);
    }
    co_await take(stream, 4);
    const std::string host = co_await take_prefixed(stream);
    const std::string port = co_await take(stream, 2);
    const int number = static_cast<unsigned char>(port[0]) * 256 + static_cast<unsigned char>(port[1]);
    asked_.push_back(fmt::format("{}:{}", host, number));
    const std::string reply{'\5', '\0', '\0', '\1', '\0', '\0', '\0', '\0', '\0', '\0'};
    co_await stream->write(reply);
    co_return static_cast<std::uint16_t>(number);
  }

  const Kind kind_;
  const std::string auth_;
  const std::optional<rt::TlsContext> tls_;
  rt::Listener listener_ = rt::Listener::tcp();
  std::vector<std::string> asked_;
  rt::Scope tasks_;
};

}  // namespace kopper::http
