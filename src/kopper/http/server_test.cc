// Client against server, over TLS and TCP on loopback.
#include "kopper/http/server.h"

#include <functional>
#include <list>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/http/client.h"
#include "kopper/http/test_handler.h"
#include "kopper/http/test_proxy.h"
#include "kopper/rt/cert.h"

namespace kopper::http {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const rt::CertifiedKey& authority() {
  static const rt::CertifiedKey ca = rt::make_ca("test authority");
  return ca;
}

rt::CertifiedKey issue_to(std::string name, std::vector<std::string> organizations = {}) {
  rt::CertificateSpec spec;
  spec.common_name = std::move(name);
  spec.organizations = std::move(organizations);
  spec.dns_names = {"localhost"};
  spec.ip_addresses = {"127.0.0.1"};
  return rt::issue(authority(), spec);
}

rt::TlsContext server_tls(std::vector<std::string> alpn) {
  static const rt::CertifiedKey key = issue_to("server");
  rt::TlsServerOptions options;
  options.cert_pem = key.cert_pem;
  options.key_pem = key.key_pem;
  options.client_ca_pem = authority().cert_pem;
  options.alpn = std::move(alpn);
  return rt::TlsContext::server(options);
}

rt::TlsClientOptions client_tls() {
  rt::TlsClientOptions options;
  options.ca_pem = authority().cert_pem;
  return options;
}

Request get(std::string target) {
  Request request;
  request.target = std::move(target);
  return request;
}

WsMessage message(std::string data, bool binary = true) { return {.binary = binary, .data = std::move(data)}; }

struct Call {
  std::optional<Response> response;
  std::optional<std::string> body;
  std::optional<Error> error;
  bool done() const { return body || error; }
};

Task<> perform(Handler* client, Request request, Call* call, bool read_body) {
  try {
    call->response = co_await client->handle(std::move(request));
    if (read_body) call->body = co_await read_all(*call->response->body);
  } catch (const Error& error) {
    call->error = error;
  }
}

Task<> turn_until(std::function<bool()> condition) {
  while (!condition()) co_await rt::yield();
}

class ServerTest : public ::testing::Test {
 protected:
  enum class Speak { Http2, Http1, Plain };

  void serve(Speak speak, ServerOptions options = {}, std::uint16_t port = 0) {
    if (speak == Speak::Http2) options.tls = [] { return server_tls({"h2", "http/1.1"}); };
    if (speak == Speak::Http1) options.tls = [] { return server_tls({"http/1.1"}); };
    server = std::make_unique<Server>(rt::Listener::tcp("127.0.0.1", port), handler, std::move(options));
    scheme_ = speak == Speak::Plain ? "http" : "https";
  }
  ClientOptions client_options() const {
    ClientOptions options;
    options.origin = parse_url(fmt::format("{}://127.0.0.1:{}", scheme_, server->port())).value();
    options.tls = client_tls;
    return options;
  }
  void connect() { client = make_client(client_options()); }
  void connect(ClientOptions options) { client = make_client(std::move(options)); }

  Call& start(Request request, bool read_body = true) {
    auto& call = calls.emplace_back();
    tasks.spawn(perform(client.get(), std::move(request), &call, read_body));
    return call;
  }
  Call& call(Request request) {
    auto& started = start(std::move(request));
    until([&] { return started.done(); });
    return started;
  }
  void until(std::function<bool()> condition) { loop.run(turn_until(std::move(condition))); }
  bool all_done() const {
    return std::ranges::all_of(calls, [](const Call& c) { return c.done(); });
  }

  std::string scheme_;
  rt::Loop loop;
  TestHandler handler;
  std::unique_ptr<Server> server;
  std::unique_ptr<Handler> client;
  std::list<Call> calls;
  rt::Scope tasks;
};

TEST_F(ServerTest, Http2OverTls) {
  serve(Speak::Http2);
  connect();
  Request post = get("/echo?x=1");
  post.method = "POST";
  post.body = "body";
  auto& done = call(post);
  ASSERT_TRUE(done.body) << done.error->what();
  EXPECT_EQ(done.response->status, 200);
  EXPECT_EQ(*done.body, "POST /echo?x=1 body");
  EXPECT_EQ(handler.last.headers.get("host"), client_options().origin.authority());
  EXPECT_EQ(handler.last.peer, std::nullopt);
}

TEST_F(ServerTest, TheServerKnowsItsClientByCertificate) {
  serve(Speak::Http2);
  rt::CertifiedKey key = issue_to("alice", {"dev", "ops"});
  auto options = client_options();
  options.tls = [&key] {
    auto tls = client_tls();
    tls.cert_pem = key.cert_pem;
    tls.key_pem = key.key_pem;
    return tls;
  };
  connect(options);
  EXPECT_TRUE(call(get("/echo")).body);
  EXPECT_EQ(handler.last.peer, (Peer{"alice", {"dev", "ops"}}));

  key = issue_to("bob");  // from now on, for new connections
  EXPECT_TRUE(call(get("/echo")).body);
  EXPECT_EQ(handler.last.peer->common_name, "alice");
  Request watch = get("/echo");
  watch.long_running = true;
  EXPECT_TRUE(call(watch).body);
  EXPECT_EQ(handler.last.peer->common_name, "bob");
}

TEST_F(ServerTest, ThousandCallsUseSeveralConnections) {
  ServerOptions options;
  options.h2.max_streams = 100;
  serve(Speak::Http2, options);
  connect();
  for (int i = 0; i < 1000; ++i) start(get("/hold"));
  until([&] { return handler.running == 800; });  // what 8 connections take; the others wait
  EXPECT_EQ(server->connections(), 8U);
  handler.gate.open();
  until([&] { return all_done(); });
  for (const auto& done : calls) ASSERT_EQ(done.body, "GET /hold ");
  EXPECT_EQ(server->connections(), 8U);
}

TEST_F(ServerTest, WatchesHaveConnectionsOfTheirOwn) {
  serve(Speak::Http2);
  connect();
  Request watch = get("/watch");
  watch.long_running = true;
  auto& watching = start(watch, false);
  until([&] { return watching.response.has_value(); });
  EXPECT_TRUE(call(get("/echo")).body);
  EXPECT_TRUE(call(get("/echo")).body);
  EXPECT_EQ(server->connections(), 2U);
}

TEST_F(ServerTest, StoppingLetsCallsFinishAndTheNextServerTakesOver) {
  serve(Speak::Http2);
  connect();
  auto& held = start(get("/hold"));
  until([&] { return handler.running == 1; });
  tasks.spawn(server->stop(1min));
  until([&] { return handler.running == 1 && server->connections() == 1; });
  handler.gate.open();
  until([&] { return held.done(); });
  EXPECT_EQ(held.body, "GET /hold ");
  until([&] { return server->connections() == 0; });

  const auto port = server->port();
  server.reset();
  serve(Speak::Http2, {}, port);
  EXPECT_EQ(call(get("/echo")).body, "GET /echo ");
}

TEST_F(ServerTest, StoppingBreaksOffWhatDoesNotFinish) {
  serve(Speak::Http2);
  connect();
  auto& watching = start(get("/watch"), false);
  until([&] { return watching.response.has_value(); });
  loop.run(server->stop(0s));
  EXPECT_EQ(server->connections(), 0U);
  EXPECT_EQ(loop.run(watching.response->body->read()), "xxxxxxxxxx");
  EXPECT_THROW(loop.run(watching.response->body->read()), Error);
}

Task<> goaway_first(rt::Listener* listener, Handler* handler, int* accepted) {
  std::list<H2Session> sessions;
  const rt::TlsContext tls = server_tls({"h2"});
  for (;;) {
    auto stream = co_await listener->accept();
    auto secured = co_await rt::TlsStream::server(std::move(stream), tls);
    H2Server role{handler, {}};
    auto& session = sessions.emplace_back(std::move(secured), std::move(role));
    if (++*accepted == 1) session.goaway();
  }
}

TEST_F(ServerTest, ARequestThatWasNotProcessedIsSentAgain) {
  serve(Speak::Http2);
  auto listener = rt::Listener::tcp();
  int accepted = 0;
  rt::Scope scope;
  scope.spawn(goaway_first(&listener, &handler, &accepted));
  auto options = client_options();
  options.origin.port = listener.port();
  connect(options);
  Request post = get("/echo");
  post.method = "POST";
  auto& done = call(post);
  EXPECT_EQ(done.body, "POST /echo ") << done.error->what();
  EXPECT_EQ(accepted, 2);
  EXPECT_EQ(handler.requests, 1);
}

TEST_F(ServerTest, ASlowReaderDoesNotStopOthers) {
  serve(Speak::Http2);
  connect();
  auto& slow = start(get("/stream"), false);
  until([&] { return slow.response.has_value(); });
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(call(get("/echo")).body);
  EXPECT_EQ(server->connections(), 1U);
  EXPECT_LT(handler.chunks_read, 1000);
  EXPECT_EQ(loop.run(read_all(*slow.response->body)).size(), 10'000'000U);
}

TEST_F(ServerTest, AnIdleConnectionIsClosed) {
  serve(Speak::Http2);
  auto options = client_options();
  options.idle_timeout = 1ms;
  connect(options);
  EXPECT_TRUE(call(get("/echo")).body);
  until([&] { return server->connections() == 0; });
  EXPECT_TRUE(call(get("/echo")).body);
}

TEST_F(ServerTest, Http1KeepsConnections) {
  serve(Speak::Http1);
  connect();
  Request post = get("/echo");
  post.method = "POST";
  post.body = "body";
  EXPECT_EQ(call(post).body, "POST /echo body");
  EXPECT_EQ(call(get("/nothing")).response->status, 204);
  Request head = get("/echo");
  head.method = "HEAD";
  EXPECT_EQ(call(head).body, "");
  EXPECT_EQ(call(get("/echo")).response->headers.get("x-answer"), "42");
  EXPECT_EQ(server->connections(), 1U);
}

TEST_F(ServerTest, Http1StreamsInChunks) {
  serve(Speak::Http1);
  connect();
  auto& streamed = call(get("/stream"));
  ASSERT_TRUE(streamed.body) << streamed.error->what();
  EXPECT_EQ(streamed.body->size(), 10'000'000U);
  EXPECT_EQ(streamed.response->headers.get("transfer-encoding"), "chunked");

  handler.chunks_read = 0;
  auto& watching = start(get("/watch"), false);
  until([&] { return watching.response.has_value(); });
  EXPECT_EQ(loop.run(watching.response->body->read()), "xxxxxxxxxx");
  handler.gate.open();
  EXPECT_EQ(loop.run(watching.response->body->read()), "xxxxxxxxxx");
  EXPECT_EQ(loop.run(watching.response->body->read()), std::nullopt);
}

TEST_F(ServerTest, Http1BodyThatBreaksIsAnError) {
  serve(Speak::Http1);
  connect();
  auto& broken = call(get("/broken"));
  ASSERT_TRUE(broken.error);
  EXPECT_EQ(broken.error->code, Code::Unavailable);
}

TEST_F(ServerTest, Http1CallsInParallel) {
  serve(Speak::Http1);
  connect();
  for (int i = 0; i < 100; ++i) start(get("/hold"));
  until([&] { return handler.running == 64; });
  handler.gate.open();
  until([&] { return all_done(); });
  for (const auto& done : calls) ASSERT_EQ(done.body, "GET /hold ");
}

TEST_F(ServerTest, Http1ReconnectsWhenTheServerHasClosed) {
  serve(Speak::Plain);
  connect();
  for (int i = 0; i < 3; ++i) start(get("/hold"));
  until([&] { return handler.running == 3; });
  handler.gate.open();
  until([&] { return all_done(); });
  const auto port = server->port();
  loop.run(server->stop(1min));
  server.reset();
  serve(Speak::Plain, {}, port);
  EXPECT_EQ(call(get("/echo")).body, "GET /echo ");
}

TEST_F(ServerTest, Http1HandlerWhoseClientIsGoneIsCancelled) {
  serve(Speak::Plain);
  connect();
  {
    rt::Scope scope;
    Call gone;
    scope.spawn(perform(client.get(), get("/hold"), &gone, true));
    until([&] { return handler.running == 1; });
  }
  until([&] { return handler.running == 0 && server->connections() == 0; });
}

Task<std::string> raw(std::uint16_t port, std::string text) {
  auto stream = co_await rt::connect_tcp("127.0.0.1", port);
  co_await stream->write(text);
  std::string answer;
  std::string buffer(4096, '\0');
  while (const auto size = co_await stream->read(buffer)) answer.append(buffer, 0, size);
  co_return answer;
}

TEST_F(ServerTest, Http1RawMessages) {
  ServerOptions options;
  options.h2.max_header_bytes = 1000;
  serve(Speak::Plain, options);
  const auto port = server->port();
  const auto answer = [&](const std::string& text) { return loop.run(raw(port, text)); };
  EXPECT_THAT(answer("nonsense\r\n\r\n"), StartsWith("HTTP/1.1 400 Bad Request\r\n"));
  EXPECT_THAT(answer("GET / HTTP/1.1\r\nx: " + std::string(1000, 'x') + "\r\n\r\n"), StartsWith("HTTP/1.1 431"));
  EXPECT_THAT(answer("GET / HTTP/3.0\r\n\r\n"), StartsWith("HTTP/1.1 505"));
  EXPECT_THAT(answer("GET /a HTTP/1.1\r\nHost: h\r\n\r\nGET /b HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"),
              ::testing::AllOf(HasSubstr("GET /a "), HasSubstr("GET /b ")));
  handler.gate.open();
  const auto old = loop.run(raw(port, "GET /watch HTTP/1.0\r\n\r\n"));
  EXPECT_THAT(old, ::testing::EndsWith("\r\n\r\n" + std::string(20, 'x')));
}

TEST_F(ServerTest, Http1RequestsThatOthersMayReadOtherwiseAreRefused) {
  ServerOptions options;
  options.h2.max_body_bytes = 10;
  serve(Speak::Plain, options);
  const auto answer = [&](const std::string& headers, const std::string& body = "") {
    return loop.run(raw(server->port(), "PUT / HTTP/1.1\r\n" + headers + "\r\n" + body));
  };
  EXPECT_THAT(answer(""), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(answer("Host: a\r\nHost: b\r\n"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(answer("Host: h\r\nContent-Length: 1\r\nContent-Length: 2\r\n", "ab"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(answer("Host: h\r\nContent-Length: -1\r\n"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(answer("Host: h\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
              StartsWith("HTTP/1.1 400"));
  for (const char* encoding : {"xchunked", "identity", "gzip, chunked", "chunked\r\nTransfer-Encoding: identity"})
    EXPECT_THAT(answer(fmt::format("Host: h\r\nTransfer-Encoding: {}\r\n", encoding), "0\r\n\r\n"),
                ::testing::AnyOf(StartsWith("HTTP/1.1 501"), StartsWith("HTTP/1.1 400")))
        << encoding;
  EXPECT_THAT(answer("Host: h\r\nTransfer-Encoding: chunked\r\n", "zz\r\n"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(answer("Host: h\r\nExpect: miracles\r\n"), StartsWith("HTTP/1.1 417"));
  EXPECT_EQ(handler.requests, 0);
}

TEST_F(ServerTest, Http1BodiesThatAreTooLargeAreRefused) {
  ServerOptions options;
  options.h2.max_body_bytes = 10;
  options.max_bodies = 5;
  options.refusal = [](int status) { return text_response(status, fmt::format("no, {}", status)); };
  serve(Speak::Plain, options);
  const auto answer = [&](const std::string& rest) {
    return loop.run(raw(server->port(), "PUT / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n" + rest));
  };
  EXPECT_THAT(answer("Content-Length: 11\r\n\r\n0123456789x"), StartsWith("HTTP/1.1 413"));
  EXPECT_THAT(answer("Content-Length: 11\r\nExpect: 100-continue\r\n\r\n"), StartsWith("HTTP/1.1 413"));
  EXPECT_THAT(answer("Transfer-Encoding: chunked\r\n\r\nb\r\n0123456789x\r\n"), StartsWith("HTTP/1.1 413"));
  EXPECT_THAT(answer("Content-Length: 6\r\n\r\n012345"), HasSubstr("no, 429"));
  EXPECT_THAT(answer("Content-Length: 5\r\n\r\n01234"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(answer("Content-Length: 5\r\n\r\n01234"), StartsWith("HTTP/1.1 200"));  // nothing is held any more
}

TEST_F(ServerTest, Http1BodiesThatDoNotComeAreNotWaitedFor) {
  ServerOptions options;
  options.h2.request_timeout = 5ms;
  serve(Speak::Plain, options);
  EXPECT_THAT(loop.run(raw(server->port(), "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n012")),
              StartsWith("HTTP/1.1 408"));
  EXPECT_EQ(handler.requests, 0);
}

TEST_F(ServerTest, Http1ResponsesThatAreNotTakenAreGivenUp) {
  ServerOptions options;
  options.h2.stall_timeout = 5ms;
  serve(Speak::Plain, options);
  auto stream = loop.run(rt::connect_tcp("127.0.0.1", server->port()));
  loop.run(stream->write("GET /stream HTTP/1.1\r\nHost: h\r\n\r\n"));
  until([&] { return handler.chunks_read > 0; });
  until([&] { return server->connections() == 0; });
  EXPECT_LT(handler.chunks_read, 1000);
}

TEST_F(ServerTest, SlowHeadersAreNotWaitedFor) {
  ServerOptions options;
  options.header_timeout = 5ms;
  serve(Speak::Plain, options);
  EXPECT_EQ(loop.run(raw(server->port(), "GET / HTTP/1.1\r\nx: ")), "");
  EXPECT_EQ(handler.requests, 0);
}

TEST_F(ServerTest, ConnectionsAreLimited) {
  ServerOptions options;
  options.max_connections = 1;
  options.idle_timeout = 1ms;  // the first makes room for the second
  serve(Speak::Plain, options);
  connect();
  start(get("/hold"));
  until([&] { return handler.running == 1; });
  auto& second = start(get("/hold"));
  for (int i = 0; i < 100; ++i) loop.run(rt::yield());
  EXPECT_EQ(handler.requests, 1);
  handler.gate.open();
  until([&] { return all_done(); });
  EXPECT_EQ(second.body, "GET /hold ");
}

TEST_F(ServerTest, WhoIsIdleForLongestMakesRoom) {
  ServerOptions options;
  options.max_connections = 3;
  serve(Speak::Http2, options);
  connect();
  EXPECT_TRUE(call(get("/echo")).body);  // idle from now on
  std::vector<std::unique_ptr<Handler>> others;
  for (int i = 0; i < 2; ++i) {
    others.push_back(make_client(client_options()));
    auto& held = calls.emplace_back();
    tasks.spawn(perform(others.back().get(), get("/hold"), &held, true));
    until([&] { return handler.running == i + 1; });
  }
  EXPECT_EQ(server->connections(), 3U);
  others.push_back(make_client(client_options()));
  auto& newcomer = calls.emplace_back();
  tasks.spawn(perform(others.back().get(), get("/echo"), &newcomer, true));
  until([&] { return newcomer.done(); });
  EXPECT_EQ(newcomer.body, "GET /echo ");
  EXPECT_EQ(handler.running, 2);
  EXPECT_EQ(call(get("/echo")).body, "GET /echo ");  // on a new connection
  handler.gate.open();
  until([&] { return all_done(); });
}

TEST_F(ServerTest, AWatchKeepsItsConnection) {
  ServerOptions options;
  options.idle_timeout = 1ms;
  serve(Speak::Http2, options);
  connect();
  auto& watching = start(get("/watch"), false);
  until([&] { return watching.response.has_value(); });
  loop.run(rt::sleep(5ms));  // the timer that was set before it began
  EXPECT_TRUE(call(get("/echo")).body);
  EXPECT_EQ(server->connections(), 1U);
}

// The other end of an upgraded connection: says what it is asked until it is told to end.
Task<> converse(std::unique_ptr<rt::Stream> stream) {
  const auto held = std::move(stream);
  std::string buffer(100, '\0');
  for (;;) {
    const auto n = co_await held->read(buffer);
    if (n == 0) co_return;
    co_await held->write(std::string_view(buffer).substr(0, n));
    if (std::string_view(buffer).substr(0, n).ends_with("end")) co_return;
  }
}

Task<Upgraded> parrot(Request request, rt::Scope* scope) {
  if (request.target != "/parrot") throw Error(Code::Forbidden, "not here");
  auto [ours, theirs] = rt::pipe();
  scope->spawn(converse(std::move(ours)));
  Upgraded upgraded;
  upgraded.headers.add("X-Bird", "grey");
  upgraded.stream = std::move(theirs);
  co_return upgraded;
}

TEST_F(ServerTest, Http1Upgrades) {
  ServerOptions options;
  options.upgrade_to = "PARROT/1";
  options.upgrade = [this](Request request) { return parrot(std::move(request), &tasks); };
  serve(Speak::Plain, options);
  const auto answer = [&](const std::string& path, const std::string& to) {
    return loop.run(raw(server->port(), "POST " + path +
                                            " HTTP/1.1\r\nHost: h\r\nConnection: Upgrade, close\r\nUpgrade: " + to +
                                            "\r\nContent-Length: 0\r\n\r\nhello end"));
  };
  EXPECT_EQ(
      answer("/parrot", "parrot/1"),
      "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: PARROT/1\r\nX-Bird: grey\r\n\r\nhello end");
  EXPECT_THAT(answer("/crow", "parrot/1"), StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(answer("/parrot", "crow/1"), StartsWith("HTTP/1.1 200 "));
}

TEST_F(ServerTest, WebSocketEchoes) {
  for (const auto speak : {Speak::Plain, Speak::Http2}) {
    serve(speak);
    connect();
    Request request = get("/ws");
    request.headers.add("Authorization", "Bearer t");
    auto socket = loop.run(client->connect(request, {"v5.channel.k8s.io", "v4.channel.k8s.io"}));
    EXPECT_EQ(socket->subprotocol(), "v4.channel.k8s.io");
    EXPECT_EQ(handler.last.headers.get("authorization"), "Bearer t");
    for (const auto size : {0, 10, 70'000, 1'000'000}) {
      loop.run(socket->send(message(std::string(size, 'x'))));
      const auto echo = loop.run(socket->receive());
      ASSERT_TRUE(echo);
      EXPECT_TRUE(echo->binary);
      EXPECT_EQ(echo->data.size(), size);
    }
    loop.run(socket->send(message("text", false)));
    EXPECT_FALSE(loop.run(socket->receive())->binary);
    loop.run(socket->send(message("bye")));
    EXPECT_EQ(loop.run(socket->receive()), std::nullopt);
    loop.run(socket->close());
    socket.reset();
    until([&] { return server->connections() == 0; });
    client.reset();
  }
}

TEST_F(ServerTest, WebSocketClosesFromTheClient) {
  serve(Speak::Plain);
  connect();
  auto socket = loop.run(client->connect(get("/ws"), {}));
  EXPECT_EQ(socket->subprotocol(), "");
  loop.run(socket->close());
  until([&] { return server->connections() == 0; });
  EXPECT_THROW(loop.run(socket->send(message("late"))), Error);

  socket = loop.run(client->connect(get("/ws"), {}));
  socket.reset();
  until([&] { return server->connections() == 0; });
}

TEST_F(ServerTest, WebSocketReceiveMayBeCancelled) {
  serve(Speak::Plain);
  connect();
  auto socket = loop.run(client->connect(get("/ws"), {}));
  EXPECT_THROW(loop.run(rt::timeout(1ms, socket->receive())), Error);
  loop.run(socket->send(message("hello")));
  EXPECT_EQ(loop.run(socket->receive())->data, "hello");
}

TEST_F(ServerTest, ARefusedWebSocketSaysWhy) {
  serve(Speak::Plain);
  connect();
  for (Handler* way : {client.get(), static_cast<Handler*>(&handler)}) {  // with a network between, and without
    try {
      loop.run(way->connect(get("/ws/refused"), {}));
      ADD_FAILURE() << "not refused";
    } catch (const Error& error) {
      EXPECT_EQ(error.http_status, 403);
      EXPECT_EQ(error.code, Code::Forbidden);
      EXPECT_EQ(error.message, R"({"kind":"Status","message":"no exec for you"})");
    }
  }
}

TEST_F(ServerTest, AWebSocketMessageMayBeTooLarge) {
  serve(Speak::Plain);
  auto options = client_options();
  options.max_websocket_message = 1000;
  connect(options);
  auto socket = loop.run(client->connect(get("/ws"), {}));
  loop.run(socket->send(message(std::string(1001, 'x'))));
  EXPECT_THROW(loop.run(socket->receive()), Error);
}

TEST_F(ServerTest, ThroughAConnectProxy) {
  serve(Speak::Http2);
  for (const bool secure : {false, true}) {
    std::optional<rt::TlsContext> tls;
    if (secure) tls = server_tls({});
    TestProxy proxy(TestProxy::Kind::Connect, "user:p w", tls);
    auto options = client_options();
    options.proxy =
        parse_url(fmt::format("{}://user:p%20w@127.0.0.1:{}", secure ? "https" : "http", proxy.port())).value();
    connect(options);
    auto& done = call(get("/echo"));
    EXPECT_EQ(done.body, "GET /echo ") << done.error->what();
    EXPECT_THAT(proxy.asked(), ElementsAre(options.origin.host_port()));
    options.proxy->password = "wrong";
    connect(options);
    auto& refused = call(get("/echo"));
    ASSERT_TRUE(refused.error);
    EXPECT_THAT(refused.error->what(), HasSubstr("407"));
    EXPECT_THAT(refused.error->what(), ::testing::Not(HasSubstr("wrong")));
    client.reset();
  }
}

TEST_F(ServerTest, ThroughASocksProxy) {
  serve(Speak::Http2);
  for (const std::string auth : {"", "user:pw"}) {
    TestProxy proxy(TestProxy::Kind::Socks5, auth);
    auto options = client_options();
    options.origin.host = "localhost";  // the proxy is given the name
    options.proxy =
        parse_url(fmt::format("socks5://{}127.0.0.1:{}", auth.empty() ? "" : auth + "@", proxy.port())).value();
    connect(options);
    auto& done = call(get("/echo"));
    EXPECT_EQ(done.body, "GET /echo ") << done.error->what();
    EXPECT_THAT(proxy.asked(), ElementsAre(options.origin.host_port()));
    client.reset();
  }
}

TEST_F(ServerTest, PlainRequestsGoToTheProxyAsWholeUrls) {
  serve(Speak::Plain);  // plays the proxy
  auto options = client_options();
  options.proxy = options.origin;
  options.proxy->user = "user";
  options.origin = parse_url("http://api.example.com/prefix/").value();
  connect(options);
  EXPECT_EQ(call(get("/echo")).body, "GET http://api.example.com/prefix/echo ");
  EXPECT_EQ(handler.last.headers.get("host"), "api.example.com");
  EXPECT_EQ(handler.last.headers.get("proxy-authorization"), "Basic dXNlcjo=");
}

TEST_F(ServerTest, WhatCannotBeReachedSaysSo) {
  serve(Speak::Http2);
  auto options = client_options();
  options.tls = [] { return rt::TlsClientOptions(); };  // knows no such authority
  connect(options);
  auto& untrusted = call(get("/echo"));
  ASSERT_TRUE(untrusted.error);
  EXPECT_EQ(untrusted.error->code, Code::Unauthorized) << untrusted.error->what();

  options = client_options();
  options.server_name = "other.example.com";
  connect(options);
  auto& misnamed = call(get("/echo"));
  ASSERT_TRUE(misnamed.error);
  EXPECT_EQ(misnamed.error->code, Code::Unauthorized) << misnamed.error->what();

  auto listener = rt::Listener::tcp();
  options = client_options();
  options.origin.port = listener.port();
  options.connect_timeout = 1ms;  // nobody answers the handshake
  connect(options);
  auto& late = call(get("/echo"));
  ASSERT_TRUE(late.error);
  EXPECT_EQ(late.error->code, Code::Unavailable);

  listener.close();
  connect(options);
  auto& refused = call(get("/echo"));
  ASSERT_TRUE(refused.error);
  EXPECT_EQ(refused.error->code, Code::Unavailable);
  EXPECT_THAT(refused.error->what(), HasSubstr(options.origin.str()));
}

TEST_F(ServerTest, BadOriginsAndProxiesAreRefusedAtOnce) {
  ClientOptions options;
  options.origin.scheme = "ftp";
  EXPECT_THROW(make_client(options), Error);
  options.origin.scheme = "http";
  options.proxy = Url{.scheme = "gopher", .host = "h"};
  EXPECT_THROW(make_client(options), Error);
}

}  // namespace
}  // namespace kopper::http
