#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <string>

#include "kopper/base/error.h"
#include "kopper/http/detail/signal.h"
#include "kopper/http/h2_session.h"
#include "kopper/http/handler.h"
#include "kopper/http/upgrade.h"
#include "kopper/http/websocket.h"
#include "kopper/rt/loop.h"
#include "kopper/rt/scope.h"
#include "kopper/rt/stream.h"
#include "kopper/rt/tls.h"

namespace kopper::http {

struct ServerOptions {
  // Asked for at each new connection: a new certificate is used from then on. Its alpn should name "h2" and "http/1.1".
  // None: plain HTTP/1.1.
  std::function<rt::TlsContext()> tls;

  // The next one takes the place of the one that is idle for longest, or waits to be accepted.
  std::size_t max_connections = 1000;
  rt::Duration header_timeout = std::chrono::seconds(10);  // for the TLS handshake, and for each request's headers
  rt::Duration idle_timeout = std::chrono::seconds(120);   // between requests
  H2Options h2;                                            // its limits and time-outs hold for HTTP/1.1 too
  std::size_t max_bodies = std::size_t{256} << 20U;        // Intake::limit
  std::function<Response(int status)> refusal;             // Intake::refusal
  WebSocketOptions websocket;
  // Who takes over connections of HTTP/1.1 that ask for `upgrade_to`, "SPDY/3.1"; refuses by an Error as a Handler
  // does. None: they are answered as if they had not asked.
  std::string upgrade_to;
  std::function<Task<Upgraded>(Request request)> upgrade;
};

// Serves a Handler on a listener from construction on. HTTP/2 and HTTP/1.1 over TLS, HTTP/1.1 without; WebSockets over
// HTTP/1.1 go to Handler::connect(). An Error that the handler throws is answered with its http_status, or what fits
// its code, and its message. A handler whose client is gone is cancelled.
class Server {
 public:
  // `handler` outlives the server.
  Server(rt::Listener listener, Handler& handler, ServerOptions options = {});
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Accepts no more, lets requests in flight finish for `grace`, then breaks off what is left.
  Task<> stop(rt::Duration grace);

  std::uint16_t port() const { return listener_.port(); }
  std::size_t connections() const { return connections_.size(); }

 private:
  // One connection: what stop() must reach.
  struct Connection {
    detail::Signal wake;  // stopping, or its session changed
    rt::Activity* activity = nullptr;
    H2Session* session = nullptr;
    bool waiting = false;  // HTTP/1.1 and between requests
    rt::TimePoint since;   // when that began

    bool idle() const { return session != nullptr ? session->open_streams() == 0 : waiting; }
    rt::TimePoint idle_since() const { return session != nullptr ? session->idle_since() : since; }
  };

  Task<> accept_loop();
  Task<> serve(std::unique_ptr<rt::Stream> stream);
  Task<> serve_connection(Connection* connection, std::unique_ptr<rt::Stream> stream);
  Task<> serve_h2(Connection* connection, std::unique_ptr<rt::Stream> stream, std::optional<Peer> peer);
  Task<> serve_h1(Connection* connection, std::unique_ptr<rt::Stream> stream, std::optional<Peer> peer);
  Task<> refuse(std::unique_ptr<rt::Stream> stream, int status);
  void close_longest_idle();
  void becomes_idle(Connection& connection);
  Task<> serve_upgrade(std::unique_ptr<rt::Stream> stream, std::string rest, Request request);
  Task<> refuse(std::unique_ptr<rt::Stream> stream, Error error);
  Task<> serve_websocket(std::unique_ptr<rt::Stream> stream, std::string rest, Request request);

  // constant after construction
  Handler& handler_;
  const ServerOptions options_;

  // this loop only
  rt::Listener listener_;
  std::list<Connection> connections_;
  Intake intake_;
  bool stopping_ = false;
  detail::Signal fewer_;  // connections, or one more that is idle
  rt::Scope tasks_;
};

}  // namespace kopper::http
