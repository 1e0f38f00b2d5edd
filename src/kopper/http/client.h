#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "kopper/http/h2_session.h"
#include "kopper/http/handler.h"
#include "kopper/http/url.h"
#include "kopper/rt/loop.h"
#include "kopper/rt/tls.h"

namespace kopper::http {

struct ClientOptions {
  Url origin;  // http or https; its path goes in front of every target

  // Keys and trust, asked for at each new connection: what changed since is used from then on. `alpn` is set by the
  // client.
  std::function<rt::TlsClientOptions()> tls;
  std::string server_name;  // what the server's certificate must be for; empty: the origin's host

  std::optional<Url> proxy;  // http, https or socks5, with user and password if need be

  std::size_t max_connections = 8;  // for ordinary calls; long-running requests have as many as they need
  rt::Duration connect_timeout = std::chrono::seconds(30);  // to the end of the TLS handshake
  rt::Duration idle_timeout = std::chrono::seconds(90);     // then an unused connection is closed
  std::size_t max_websocket_message = std::size_t{16} << 20U;
  H2Options h2;
};

// A client of one origin: HTTP/2 when the server offers it in the TLS handshake, else HTTP/1.1. Connects when it must
// and keeps connections for later calls; long-running requests go on connections apart from ordinary ones. A request
// that the server did not process is sent once more. There is no time-out but for connecting: rt::timeout() is the
// caller's. Throws Error{Unavailable} when no answer could be had, Error{Unauthorized} when the server's certificate is
// refused. The client outlives its calls; bodies and WebSockets may outlive it (a body then throws).
std::unique_ptr<Handler> make_client(ClientOptions options);

}  // namespace kopper::http
