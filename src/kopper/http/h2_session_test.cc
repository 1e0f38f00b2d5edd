#include "kopper/http/h2_session.h"

#include <list>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/http/test_handler.h"

namespace kopper::http {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

Request get(std::string target) {
  Request request;
  request.target = std::move(target);
  return request;
}

// A call whose outcome the test looks at when it likes.
struct Call {
  std::optional<Response> response;
  std::optional<std::string> body;
  std::optional<Error> error;
};

Task<> perform(H2Session* session, Request request, Call* call, bool read_body) {
  try {
    call->response = co_await session->request(request);
    if (read_body) call->body = co_await read_all(*call->response->body);
  } catch (const Error& error) {
    call->error = error;
  }
}

// A client and a server session over a pipe in memory; time stands still unless a test moves it.
class H2SessionTest : public ::testing::Test {
 protected:
  void connect(H2Options server_options = {}, H2Options client_options = {}) {
    auto [here, there] = rt::pipe(std::size_t{1} << 20U);
    client = std::make_unique<H2Session>(std::move(here), H2Client{"https", "api.example.com"}, client_options);
    server = std::make_unique<H2Session>(std::move(there), H2Server{&handler, Peer{"alice", {"dev"}}}, server_options);
    loop.poll();
  }
  Call& start(Request request, bool read_body = true) {
    auto& call = calls.emplace_back();
    tasks.spawn(perform(client.get(), std::move(request), &call, read_body));
    loop.poll();
    return call;
  }

  rt::Loop loop{rt::ClockMode::Manual};
  TestHandler handler;
  std::unique_ptr<H2Session> client;
  std::unique_ptr<H2Session> server;
  std::list<Call> calls;
  rt::Scope tasks;
};

TEST_F(H2SessionTest, AnswersARequest) {
  connect();
  Request request = get("/echo");
  request.method = "POST";
  request.body = "some bytes";
  request.headers.add("Accept", "application/json");
  request.headers.add("Connection", "close");  // of HTTP/1: left out
  auto& call = start(request);
  ASSERT_TRUE(call.response && call.body);
  EXPECT_EQ(call.response->status, 200);
  EXPECT_EQ(call.response->headers.get("x-answer"), "42");
  EXPECT_EQ(*call.body, "POST /echo some bytes");
  EXPECT_EQ(handler.last.headers.get("host"), "api.example.com");
  EXPECT_EQ(handler.last.headers.get("accept"), "application/json");
  EXPECT_EQ(handler.last.headers.get("connection"), std::nullopt);
  EXPECT_EQ(handler.last.peer, (Peer{"alice", {"dev"}}));
  EXPECT_EQ(client->open_streams(), 0U);
  EXPECT_EQ(server->open_streams(), 0U);
}

TEST_F(H2SessionTest, HasNoBodyWhereNoneMayBe) {
  connect();
  EXPECT_EQ(start(get("/nothing")).body, "");
  Request head = get("/echo");
  head.method = "HEAD";
  auto& call = start(head);
  EXPECT_EQ(call.body, "");
  EXPECT_EQ(call.response->headers.get("content-length"), "11");
}

TEST_F(H2SessionTest, AHandlersErrorIsAStatus) {
  connect();
  auto& call = start(get("/error"));
  ASSERT_TRUE(call.response);
  EXPECT_EQ(call.response->status, 409);
  EXPECT_EQ(call.body, "somebody else was first");
}

TEST_F(H2SessionTest, ManyStreamsAtATime) {
  connect();
  for (int i = 0; i < 100; ++i) start(get("/hold"));
  EXPECT_EQ(handler.running, 100);
  EXPECT_EQ(client->room(), 150U);
  handler.gate.open();
  loop.poll();
  for (const auto& call : calls) EXPECT_EQ(call.body, "GET /hold ");
}

TEST_F(H2SessionTest, APeersLimitIsKept) {
  connect({.max_streams = 3});
  EXPECT_EQ(client->room(), 3U);
  for (int i = 0; i < 5; ++i) start(get("/hold"));
  EXPECT_EQ(client->room(), 0U);
  EXPECT_EQ(handler.running, 3);
  handler.gate.open();
  loop.poll();
  for (const auto& call : calls) EXPECT_EQ(call.body, "GET /hold ");
}

TEST_F(H2SessionTest, ABodyIsStreamedAsItComes) {
  connect();
  auto& call = start(get("/watch"), false);
  ASSERT_TRUE(call.response);
  EXPECT_EQ(loop.run(call.response->body->read()), "xxxxxxxxxx");
  EXPECT_EQ(handler.chunks_read, 1);
  handler.gate.open();
  EXPECT_EQ(loop.run(call.response->body->read()), "xxxxxxxxxx");
  EXPECT_EQ(loop.run(call.response->body->read()), std::nullopt);
}

TEST_F(H2SessionTest, AReaderWhoDoesNotReadHoldsBackOnlyItself) {
  connect();
  auto& slow = start(get("/stream"), false);
  // 10 MB are offered. What is under way: the stream's window, and what the server has in its hand.
  EXPECT_LT(handler.chunks_read, 120);
  EXPECT_EQ(start(get("/echo")).body, "GET /echo ");
  const std::string all = loop.run(read_all(*slow.response->body));
  EXPECT_EQ(all.size(), 10'000'000U);
}

TEST_F(H2SessionTest, SlowReadersDoNotUseUpTheConnectionsWindow) {
  connect({}, {.stream_window = 1U << 20U, .connection_window = 1U << 20U});
  for (int i = 0; i < 5; ++i) {
    handler.chunks_read = 0;
    start(get("/stream"), false);
  }
  EXPECT_EQ(start(get("/echo")).body, "GET /echo ");
}

TEST_F(H2SessionTest, CancellingARequestCancelsItsHandler) {
  connect();
  auto& call = calls.emplace_back();
  {
    rt::Scope scope;
    scope.spawn(perform(client.get(), get("/hold"), &call, true));
    loop.poll();
    EXPECT_EQ(handler.running, 1);
  }
  loop.poll();
  EXPECT_EQ(handler.running, 0);
  EXPECT_EQ(client->open_streams(), 0U);
  EXPECT_EQ(server->open_streams(), 0U);
  EXPECT_EQ(start(get("/echo")).body, "GET /echo ");
}

TEST_F(H2SessionTest, CancellingBeforeItWasSentSendsNothing) {
  connect();
  auto& call = calls.emplace_back();
  {
    auto task = perform(client.get(), get("/echo"), &call, true);
    rt::Activity activity;
    struct Nothing final : rt::Deferred {
      void run() noexcept override {}
    } nothing;
    task.start(activity, nothing);
  }
  loop.poll();
  EXPECT_EQ(handler.requests, 0);
  EXPECT_EQ(start(get("/echo")).body, "GET /echo ");
}

TEST_F(H2SessionTest, DroppingABodyEndsTheStream) {
  connect();
  auto& call = start(get("/stream"), false);
  call.response->body.reset();
  loop.poll();
  EXPECT_EQ(server->open_streams(), 0U);
  EXPECT_EQ(handler.running, 0);
}

TEST_F(H2SessionTest, ABodyThatBreaksIsAnErrorNotAnEnd) {
  connect();
  auto& call = start(get("/broken"));
  ASSERT_TRUE(call.error);
  EXPECT_EQ(call.error->code, Code::Unavailable);
  EXPECT_THAT(call.error->what(), HasSubstr("INTERNAL_ERROR"));
}

TEST_F(H2SessionTest, GoawayLetsOpenStreamsFinish) {
  connect();
  auto& call = start(get("/hold"));
  server->goaway();
  loop.poll();
  EXPECT_TRUE(client->closing());
  EXPECT_EQ(client->room(), 0U);
  auto& late = start(get("/echo"));
  ASSERT_TRUE(late.error);
  EXPECT_TRUE(not_processed(*late.error));
  EXPECT_FALSE(call.body || call.error);
  handler.gate.open();
  loop.poll();
  EXPECT_EQ(call.body, "GET /hold ");
  EXPECT_TRUE(client->closed());
  EXPECT_TRUE(server->closed());
}

TEST_F(H2SessionTest, WhatCrossesAGoawayWasNotProcessed) {
  connect();
  server->goaway();
  auto& call = start(get("/echo"));  // sent before the GOAWAY arrives
  ASSERT_TRUE(call.error);
  EXPECT_TRUE(not_processed(*call.error)) << call.error->what();
  EXPECT_TRUE(call.error->retryable());
  EXPECT_EQ(handler.requests, 0);
}

TEST_F(H2SessionTest, ALostConnectionFailsAllStreams) {
  connect();
  auto& one = start(get("/hold"));
  auto& two = start(get("/watch"), false);
  server.reset();
  loop.poll();
  ASSERT_TRUE(one.error);
  EXPECT_EQ(one.error->code, Code::Unavailable);
  EXPECT_FALSE(not_processed(*one.error));
  EXPECT_EQ(loop.run(two.response->body->read()), "xxxxxxxxxx");  // what came is still given out
  EXPECT_THROW(loop.run(two.response->body->read()), Error);
  EXPECT_TRUE(client->closed());
}

TEST_F(H2SessionTest, ABodyOutlivesItsSession) {
  connect();
  auto& call = start(get("/watch"), false);
  client.reset();
  EXPECT_EQ(loop.run(call.response->body->read()), "xxxxxxxxxx");
  EXPECT_THROW(loop.run(call.response->body->read()), Error);
}

TEST_F(H2SessionTest, PingsKeepAnIdleConnection) {
  connect();
  auto& call = start(get("/hold"));
  for (int i = 0; i < 10; ++i) loop.advance(20s);
  EXPECT_FALSE(client->closed());
  handler.gate.open();
  loop.poll();
  EXPECT_EQ(call.body, "GET /hold ");
}

// A peer that takes everything and says nothing.
Task<> swallow(rt::Stream* stream) {
  std::string buffer(1000, '\0');
  while (co_await stream->read(buffer) > 0) {
  }
}

TEST_F(H2SessionTest, ADeadPeerIsFoundOut) {
  auto [here, there] = rt::pipe();
  client = std::make_unique<H2Session>(std::move(here), H2Client{"https", "api.example.com"});
  tasks.spawn(swallow(there.get()));
  auto& call = start(get("/echo"));
  loop.advance(44s);
  EXPECT_FALSE(call.error);
  loop.advance(1s);
  ASSERT_TRUE(call.error);
  EXPECT_EQ(call.error->code, Code::Unavailable);
  EXPECT_THAT(call.error->what(), HasSubstr("PING"));
  EXPECT_TRUE(client->closed());
  loop.poll();
}

TEST_F(H2SessionTest, TooMuchIsRefused) {
  connect({.max_header_bytes = 4'000, .max_body_bytes = 1'000});
  Request request = get("/echo");
  request.method = "PUT";
  request.body = std::string(2'000'000, 'x');  // more than a window
  auto& body = start(request);
  ASSERT_TRUE(body.response);
  EXPECT_EQ(body.response->status, 413);

  request = get("/echo");
  request.headers.add("x-large", std::string(5'000, 'x'));
  auto& head = start(request);
  ASSERT_TRUE(head.response);
  EXPECT_EQ(head.response->status, 431);
  EXPECT_EQ(handler.requests, 0);
  EXPECT_EQ(server->open_streams(), 0U);
}

TEST_F(H2SessionTest, BodiesThatHoldTooMuchTogetherAreRefused) {
  Intake intake;
  intake.limit = 1'000;
  auto [here, there] = rt::pipe(std::size_t{1} << 20U);
  client = std::make_unique<H2Session>(std::move(here), H2Client{"https", "api.example.com"});
  server = std::make_unique<H2Session>(std::move(there), H2Server{&handler, {}, &intake});
  loop.poll();
  Request request = get("/hold");
  request.method = "PUT";
  request.body = std::string(600, 'x');
  auto& first = start(request);
  auto& second = start(request);
  ASSERT_TRUE(second.response);
  EXPECT_EQ(second.response->status, 429);
  handler.gate.open();
  loop.poll();
  EXPECT_EQ(first.response->status, 200);
  EXPECT_EQ(intake.used, 0U);
  EXPECT_EQ(start(request).response->status, 200);
}

// Frames, as a client would write them that is not ours.
std::string frame(char type, char flags, std::uint32_t stream, std::string_view payload) {
  std::string out;
  for (const unsigned shift : {16U, 8U, 0U}) out += static_cast<char>((payload.size() >> shift) & 0xffU);
  out += type;
  out += flags;
  for (const unsigned shift : {24U, 16U, 8U, 0U}) out += static_cast<char>((stream >> shift) & 0xffU);
  return out.append(payload);
}

TEST_F(H2SessionTest, RequestsThatDoNotArriveAreGivenUp) {
  auto [here, there] = rt::pipe(std::size_t{1} << 20U);
  server = std::make_unique<H2Session>(std::move(there), H2Server{&handler, {}});
  tasks.spawn(swallow(here.get()));
  const std::string headers("\x83\x87\x84\x41\x01h", 6);  // POST https / with the authority "h"
  loop.run(here->write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, "") + frame(1, 4, 1, headers) +
                       frame(0, 0, 1, "half") + frame(1, 0, 3, headers)));  // the second one's headers go on
  loop.poll();
  EXPECT_EQ(server->open_streams(), 2U);
  for (int i = 0; i < 8; ++i) {
    loop.run(here->write(frame(9, 0, 3, "")));  // it shows that it lives, and sends nothing
    loop.advance(9s);
  }
  EXPECT_EQ(server->open_streams(), 0U);
  EXPECT_EQ(handler.requests, 0);
}

TEST_F(H2SessionTest, ResponsesThatAreNotTakenAreGivenUp) {
  connect({}, {.stream_window = 1'000});
  start(get("/stream"), false);
  auto& watch = start(get("/hold"));
  EXPECT_EQ(server->open_streams(), 2U);
  for (int i = 0; i < 8; ++i) loop.advance(20s);
  EXPECT_EQ(server->open_streams(), 1U);  // one that has nothing to say may wait
  EXPECT_FALSE(watch.error);
}

TEST_F(H2SessionTest, APeerThatDoesNotReadIsGivenUp) {
  auto [here, there] = rt::pipe(1'000);
  server = std::make_unique<H2Session>(std::move(there), H2Server{&handler, {}});
  const std::string headers("\x82\x87\x04\x07/stream\x41\x01h", 14);
  const std::string window("\x00\x04\x7f\xff\xff\xff", 6);
  loop.run(here->write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, window) + frame(1, 5, 1, headers)));
  loop.poll();
  EXPECT_EQ(handler.requests, 1);
  for (int i = 0; i < 14 && !server->closed(); ++i) {
    loop.run(here->write(frame(2, 0, 1, std::string_view("\0\0\0\0\x10", 5))));  // PRIORITY: it lives
    loop.advance(10s);
  }
  EXPECT_TRUE(server->closed());
}

TEST_F(H2SessionTest, AResponseWithTooLargeHeadersIsAnError) {
  connect({}, {.max_header_bytes = 60});
  auto& call = start(get("/echo"));
  ASSERT_TRUE(call.error);
  EXPECT_THAT(call.error->what(), HasSubstr("too large"));
}

TEST_F(H2SessionTest, GarbageEndsTheSession) {
  auto [here, there] = rt::pipe();
  client = std::make_unique<H2Session>(std::move(here), H2Client{"https", "api.example.com"});
  auto& call = start(get("/echo"));
  loop.run(there->write("HTTP/1.1 400 Bad Request\r\n\r\n"));
  loop.poll();
  ASSERT_TRUE(call.error);
  EXPECT_EQ(call.error->code, Code::Unavailable);
}

TEST_F(H2SessionTest, TellsItsOwnerWhatChanged) {
  connect();
  int changes = 0;
  client->on_change([&changes] { ++changes; });
  start(get("/echo"));
  EXPECT_EQ(changes, 1);
  server.reset();
  loop.poll();
  EXPECT_EQ(changes, 2);
}

}  // namespace
}  // namespace kopper::http
