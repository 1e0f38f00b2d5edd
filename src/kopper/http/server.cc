#include "kopper/http/server.h"

#include <utility>

#include <fmt/format.h>

#include "kopper/base/error.h"
#include "kopper/base/log.h"
#include "kopper/http/detail/h1.h"
#include "kopper/http/detail/serve.h"

namespace kopper::http {
namespace {

using detail::H1Head;
using detail::H1Reader;

constexpr std::size_t kMaxWrite = std::size_t{64} << 10U;

std::optional<Peer> to_peer(const std::optional<rt::PeerIdentity>& identity) {
  if (!identity) return std::nullopt;
  return Peer{identity->common_name, identity->organizations};
}

Request to_request(H1Head head, std::optional<Peer> peer) {
  Request request;
  request.method = std::move(head.method);
  request.target = std::move(head.target);
  request.headers = std::move(head.headers);
  request.peer = std::move(peer);
  return request;
}

// What must be right before anything is done with a request: who reads it otherwise than the proxy in front of us would
// take its body for the next request. 0, or the status with which it is refused.
int objection(const H1Head& head, std::size_t max_body) {
  const std::size_t hosts = head.headers.all("host").size();
  if (hosts > 1 || (hosts == 0 && head.version >= 11)) return 400;
  const auto encodings = head.headers.all("transfer-encoding");
  if (encodings.size() > 1 || (encodings.size() == 1 && !same_name(encodings[0], "chunked"))) return 501;
  const auto expected = head.headers.get("expect");
  if (expected && !same_name(*expected, "100-continue")) return 417;
  return detail::content_length(head.headers).value_or(0) > max_body ? 413 : 0;
}

// The body of one request, and the part of the intake that it holds.
struct Held {
  explicit Held(Intake& i) : intake(i) {}
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() { intake.used -= bytes; }

  Intake& intake;
  std::size_t bytes = 0;
};

// 0, or the status with which it is refused. outlives: serve_h1() holds the reader
Task<int> read_body(H1Reader& reader, std::string* body, std::size_t limit, Held* held) {
  while (const auto piece = co_await reader.body()) {
    if (piece->size() > limit - body->size()) co_return 413;
    if (!held->intake.take(piece->size())) co_return 429;
    held->bytes += piece->size();
    body->append(*piece);
  }
  co_return 0;
}

struct Exchange {
  std::string method;
  bool chunks_allowed = true;  // HTTP/1.1: not 1.0
  bool keep_alive = true;      // in: whether the client wants it; out: whether it is so
  rt::Duration patience{0};    // with a client that does not read
};

Task<> write(rt::Stream* stream, const std::string& bytes, rt::Duration patience) {  // outlives: awaited at once
  auto writing = stream->write(bytes);
  co_await rt::timeout(patience, std::move(writing));
}

// The head goes out before the first piece of a body of unknown length: a watch may be silent for long.
Task<> write_response(rt::Stream* stream, Response response, Exchange* exchange) {
  const bool has_body = detail::has_body(response.status, exchange->method);
  const auto length = detail::content_length(response.headers);
  const bool chunked = has_body && !length && exchange->chunks_allowed;
  if (has_body && !length && !chunked) exchange->keep_alive = false;  // the end of the connection is that of the body
  std::string out = detail::response_head(response, chunked, exchange->keep_alive);
  if (!has_body || !length) {
    co_await write(stream, out, exchange->patience);
    out.clear();
  }
  if (!has_body) co_return;

  std::uint64_t sent = 0;
  while (const auto piece = co_await response.body->read()) {
    sent += piece->size();
    if (chunked) fmt::format_to(std::back_inserter(out), "{:x}\r\n", piece->size());
    out.append(*piece);
    if (chunked) out.append("\r\n");
    if (length && sent < *length && out.size() < kMaxWrite) continue;
    co_await write(stream, out, exchange->patience);
    out.clear();
  }
  if (chunked) out = "0\r\n\r\n";
  if (!out.empty()) co_await write(stream, out, exchange->patience);
  if (length && sent != *length) throw Error(Code::Internal, "a body is not as long as its content-length says");
}

Task<> answer(Handler* handler, rt::Stream* stream, Request request, Exchange* exchange, rt::Scope* scope) {
  auto responding = detail::respond_to(*handler, std::move(request));
  Response response = co_await responding;
  auto writing = write_response(stream, std::move(response), exchange);
  co_await writing;
  scope->cancel();  // the one who looks out for the client's end
}

Task<> look_out(H1Reader* reader, rt::Scope* scope) {
  const bool ended = co_await reader->wait_for_end();
  if (ended) scope->cancel();
}

// A client that still sends would be told of a broken connection, and would not get to read the answer.
Task<> let_it_send(rt::Stream* stream) {
  constexpr std::size_t kEnough = std::size_t{64} << 20U;
  std::string buffer(std::size_t{16} << 10U, '\0');
  for (std::size_t dropped = 0; dropped < kEnough;) {
    const std::size_t size = co_await stream->read(buffer);
    if (size == 0) co_return;
    dropped += size;
  }
}

// One direction of an upgraded connection. When the client is gone, all is over.
Task<> take_in(rt::Stream* client, rt::Stream* inner, std::string first, rt::Scope* scope) {
  std::string buffer(kMaxWrite, '\0');
  try {
    co_await inner->write(first);
    for (;;) {
      const std::size_t size = co_await client->read(buffer);
      if (size == 0) break;
      co_await inner->write(std::string_view(buffer).substr(0, size));
    }
  } catch (const Error&) {
    // the same
  }
  scope->cancel();
}

Task<> give_out(rt::Stream* inner, rt::Stream* client, rt::Scope* scope) {
  std::string buffer(kMaxWrite, '\0');
  try {
    for (;;) {
      const std::size_t size = co_await inner->read(buffer);
      if (size == 0) break;
      co_await client->write(std::string_view(buffer).substr(0, size));
    }
  } catch (const Error&) {
    // the same
  }
  scope->cancel();
}

}  // namespace

Server::Server(rt::Listener listener, Handler& handler, ServerOptions options)
    : handler_(handler), options_(std::move(options)), listener_(std::move(listener)) {
  intake_.limit = options_.max_bodies;
  intake_.refusal = options_.refusal;
  tasks_.spawn(accept_loop());
}

Task<> Server::accept_loop() {
  while (!stopping_) {
    std::unique_ptr<rt::Stream> stream;
    std::optional<Error> failure;
    try {
      stream = co_await listener_.accept();
    } catch (const Error& error) {
      failure = error;
    }
    while (stream && !stopping_ && connections_.size() >= options_.max_connections) {
      close_longest_idle();
      co_await fewer_.wait();
    }
    if (stream) {
      tasks_.spawn(serve(std::move(stream)));
      co_await rt::yield();  // it is counted once it runs
    } else if (!stopping_) {
      // Most likely out of file descriptors: others will end.
      log::warn("cannot accept a connection", {{"error", failure->what()}});
      co_await rt::sleep(std::chrono::milliseconds(100));
    }
  }
}

Task<> Server::serve(std::unique_ptr<rt::Stream> stream) {
  const auto connection = connections_.emplace(connections_.end());
  connection->since = rt::Loop::current().now();
  try {
    rt::Activity& caller = co_await rt::this_activity();
    rt::Activity activity(&caller);
    connection->activity = &activity;
    auto work = serve_connection(&*connection, std::move(stream));
    co_await work.in(activity);
  } catch (const Error& error) {
    log::debug("a connection ended", {{"error", error.what()}});
  } catch (const rt::Cancelled&) {
    // stop(): nothing more to do here
  }
  connections_.erase(connection);
  fewer_.notify();
}

void Server::close_longest_idle() {
  Connection* longest = nullptr;
  for (Connection& connection : connections_) {
    if (!connection.idle() || connection.activity == nullptr) continue;
    if (longest == nullptr || connection.idle_since() < longest->idle_since()) longest = &connection;
  }
  if (longest != nullptr) longest->activity->cancel();
}

void Server::becomes_idle(Connection& connection) {
  connection.waiting = connection.session == nullptr;
  connection.since = rt::Loop::current().now();
  if (connections_.size() >= options_.max_connections) fewer_.notify();
}

Task<> Server::serve_connection(Connection* connection, std::unique_ptr<rt::Stream> stream) {
  if (!options_.tls) {
    auto serving = serve_h1(connection, std::move(stream), std::nullopt);
    co_await serving;
    co_return;
  }
  auto handshake = rt::TlsStream::server(std::move(stream), options_.tls());
  auto secured = co_await rt::timeout(options_.header_timeout, std::move(handshake));
  auto peer = to_peer(secured->peer());
  const bool h2 = secured->alpn() == "h2";
  auto serving = h2 ? serve_h2(connection, std::move(secured), std::move(peer))
                    : serve_h1(connection, std::move(secured), std::move(peer));
  co_await serving;
}

Task<> Server::serve_h2(Connection* connection, std::unique_ptr<rt::Stream> stream, std::optional<Peer> peer) {
  H2Server role{&handler_, std::move(peer), &intake_};
  H2Session session(std::move(stream), std::move(role), options_.h2);
  session.on_change([connection] { connection->wake.notify(); });
  struct IdleTimer final : rt::Timer {
    explicit IdleTimer(H2Session& s) : session(s) {}
    void on_timer() override {
      if (session.open_streams() == 0) session.goaway();  // else it is armed again when they end
    }
    H2Session& session;
  } idle(session);
  struct Shown {  // to those who look for an idle connection, while there is a session
    Shown(Connection* c, H2Session* s) : connection(c) { connection->session = s; }
    ~Shown() { connection->session = nullptr; }
    Shown(const Shown&) = delete;
    Shown& operator=(const Shown&) = delete;
    Connection* connection;
  } const shown(connection, &session);
  while (!session.closed()) {
    if (stopping_) session.goaway();
    if (session.open_streams() > 0) {
      idle.disarm();
    } else {
      if (!idle.armed()) idle.arm_in(options_.idle_timeout);
      becomes_idle(*connection);
    }
    co_await connection->wake.wait();
  }
}

// Says why, lets the client finish what it sends for a while, and closes the connection.
Task<> Server::refuse(std::unique_ptr<rt::Stream> stream, int status) {
  Exchange exchange;
  exchange.keep_alive = false;
  exchange.patience = options_.header_timeout;
  auto writing = write_response(stream.get(), intake_.refuse(status), &exchange);
  co_await writing;
  co_await rt::timeout(options_.header_timeout, stream->shutdown());
  co_await rt::timeout(options_.header_timeout, let_it_send(stream.get()));
}

Task<> Server::serve_h1(Connection* connection, std::unique_ptr<rt::Stream> stream, std::optional<Peer> peer) {
  H1Reader reader(*stream, H1Reader::Kind::Requests, options_.h2.max_header_bytes);
  for (bool first = true; !stopping_; first = false) {
    std::optional<H1Head> head;
    int refused = 0;
    becomes_idle(*connection);
    try {
      if (!first) co_await rt::timeout(options_.idle_timeout, reader.wait_for_data());
      head = co_await rt::timeout(options_.header_timeout, reader.head());
    } catch (const Error& error) {
      if (error.code != Code::Invalid) throw;
      refused = error.http_status;
    }
    connection->waiting = false;
    if (head) refused = objection(*head, options_.h2.max_body_bytes);
    if (refused != 0) {
      auto refusing = refuse(std::move(stream), refused);
      co_await refusing;
      co_return;
    }
    if (!head) co_return;
    Exchange exchange{head->method, head->version >= 11, head->keep_alive, options_.h2.stall_timeout};
    Request request = to_request(std::move(*head), peer);
    if (wants_websocket(request)) {
      auto serving = serve_websocket(std::move(stream), reader.take_rest(), std::move(request));
      co_await serving;
      co_return;
    }
    if (options_.upgrade && wants_upgrade(request, options_.upgrade_to)) {
      auto serving = serve_upgrade(std::move(stream), reader.take_rest(), std::move(request));
      co_await serving;
      co_return;
    }
    Held held(intake_);
    try {
      if (request.headers.get("expect")) co_await stream->write("HTTP/1.1 100 Continue\r\n\r\n");
      auto reading = read_body(reader, &request.body, options_.h2.max_body_bytes, &held);
      refused = co_await rt::timeout(options_.h2.request_timeout, std::move(reading));
    } catch (const Error& error) {
      if (error.code != Code::Invalid && error.code != Code::Timeout) throw;
      refused = error.code == Code::Timeout ? 408 : 400;
    }
    if (refused != 0) {
      auto refusing = refuse(std::move(stream), refused);
      co_await refusing;
      co_return;
    }
    if (stopping_) exchange.keep_alive = false;
    rt::Scope scope;
    scope.spawn(answer(&handler_, stream.get(), std::move(request), &exchange, &scope));
    scope.spawn(look_out(&reader, &scope));
    co_await scope.join();
    if (!exchange.keep_alive) break;
  }
  co_await stream->shutdown();
}

Task<> Server::serve_websocket(std::unique_ptr<rt::Stream> stream, std::string rest, Request request) {
  std::unique_ptr<WebSocket> inner;
  std::optional<Error> refused;
  try {
    auto connecting = handler_.connect(request, offered_subprotocols(request));
    inner = co_await connecting;
  } catch (const Error& error) {
    refused = error;
  }
  if (refused) {
    auto refusing = refuse(std::move(stream), std::move(*refused));
    co_await refusing;
    co_return;
  }
  auto accepting = websocket_accept(std::move(stream), std::move(rest), std::move(request),
                                    std::string(inner->subprotocol()), options_.websocket);
  const auto outer = co_await rt::timeout(options_.header_timeout, std::move(accepting));
  co_await websocket_bridge(*outer, *inner);
}

// Before an upgrade.
Task<> Server::refuse(std::unique_ptr<rt::Stream> stream, Error error) {
  Exchange exchange;
  exchange.keep_alive = false;
  exchange.patience = options_.h2.stall_timeout;
  auto writing = write_response(stream.get(), detail::refusal(error), &exchange);
  co_await writing;
  co_await stream->shutdown();
}

Task<> Server::serve_upgrade(std::unique_ptr<rt::Stream> stream, std::string rest, Request request) {
  Upgraded upgraded;
  std::optional<Error> refused;
  try {
    auto upgrading = options_.upgrade(std::move(request));
    upgraded = co_await upgrading;
  } catch (const Error& error) {
    refused = error;
  }
  if (refused) {
    auto refusing = refuse(std::move(stream), std::move(*refused));
    co_await refusing;
    co_return;
  }
  std::string head =
      fmt::format("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: {}\r\n", options_.upgrade_to);
  for (const auto& [name, value] : upgraded.headers) head += fmt::format("{}: {}\r\n", name, value);
  head += "\r\n";
  co_await write(stream.get(), head, options_.h2.stall_timeout);
  {
    rt::Scope scope;
    scope.spawn(take_in(stream.get(), upgraded.stream.get(), std::move(rest), &scope));
    scope.spawn(give_out(upgraded.stream.get(), stream.get(), &scope));
    co_await scope.join();
  }
  upgraded.stream->close();
  co_await rt::timeout(options_.header_timeout, stream->shutdown());
  co_await rt::timeout(options_.header_timeout, let_it_send(stream.get()));
}

Task<> Server::stop(rt::Duration grace) {
  stopping_ = true;
  listener_.close();
  for (auto& connection : connections_) {
    if (connection.waiting && connection.activity != nullptr) connection.activity->cancel();
    connection.wake.notify();
  }
  struct Deadline final : rt::Timer {
    explicit Deadline(Server& s) : server(s) {}
    void on_timer() override {
      for (auto& connection : server.connections_) {
        if (connection.activity != nullptr) connection.activity->cancel();
      }
    }
    Server& server;
  } deadline(*this);
  deadline.arm_in(grace);
  fewer_.notify();  // the accept loop, should it wait for room
  co_await tasks_.join();
}

}  // namespace kopper::http
