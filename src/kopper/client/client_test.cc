#include "kopper/client/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/base/error.h"
#include "kopper/client/api.h"
#include "kopper/client/fake_server.h"
#include "kopper/rt/loop.h"
#include "kopper/rt/scope.h"

namespace kopper::client {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

// Runs a task on a manual clock: when it waits, time passes.
template <class T>
T run(rt::Loop& loop, Task<T> task) {
  std::optional<T> result;
  std::exception_ptr failure;
  rt::Scope scope;
  const auto store = [](Task<T> inner, std::optional<T>* to, std::exception_ptr* error) -> Task<> {
    try {
      to->emplace(co_await inner);
    } catch (const Error&) {
      *error = std::current_exception();
    }
  };
  scope.spawn(store(std::move(task), &result, &failure));
  loop.poll();
  while (!scope.empty()) loop.advance(100ms);
  if (failure) std::rethrow_exception(failure);
  return std::move(*result);
}

struct ClientTest : testing::Test {
  Client client(ClientOptions options = {}) { return Client(server, std::move(options)); }
  static http::Request get() { return {.method = "GET", .target = "/x"}; }
  static http::Request post() { return {.method = "POST", .target = "/x", .body = "{}"}; }

  rt::Loop loop{rt::ClockMode::Manual};
  std::shared_ptr<FakeServer> server = std::make_shared<FakeServer>();
};

TEST_F(ClientTest, ReturnsTheBody) {
  server->then(200, "hello");
  EXPECT_EQ(loop.run(client({.user_agent = "me/1"}).call(get())), "hello");
  EXPECT_EQ(server->seen[0].headers.get("user-agent"), "me/1");
}

TEST_F(ClientTest, ThrowsWhatTheServerSays) {
  server->then(403, status_json(403, "Forbidden", "no"));
  try {
    loop.run(client().call(get()));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code, Code::Forbidden);
    EXPECT_STREQ(error.what(), "no");
  }
}

TEST_F(ClientTest, WaitsAsLongAsTheServerAsks) {
  server->then(429, "", {{"retry-after", "3"}}).then(200, "ok");
  const auto start = loop.now();
  EXPECT_EQ(run(loop, client().call(post())), "ok");
  EXPECT_GE(loop.now() - start, 3s);
  EXPECT_EQ(server->seen[1].body, "{}");
}

TEST_F(ClientTest, RepeatsReadsAfterBrokenConnections) {
  server->then_unreachable().then_pieces({"ha"}, PiecesBody::Then::Break).then(502, "").then(200, "ok");
  EXPECT_EQ(run(loop, client().call(get())), "ok");
  EXPECT_TRUE(server->done());
}

TEST_F(ClientTest, DoesNotRepeatWritesThatMayHaveHappened) {
  server->then_unreachable();
  EXPECT_THROW(run(loop, client().call(post())), Error);
  server->then(500, "");
  EXPECT_THROW(run(loop, client().call(post())), Error);
  EXPECT_EQ(server->seen.size(), 2U);
}

TEST_F(ClientTest, GivesUpAfterItsRetries) {
  for (int i = 0; i < 3; ++i) server->then(503, "");
  EXPECT_THROW(run(loop, client({.max_retries = 2}).call(get())), Error);
  EXPECT_EQ(server->seen.size(), 3U);
}

TEST_F(ClientTest, ACallHasADeadline) {
  server->then_pieces({"never ends"}, PiecesBody::Then::Stay);
  try {
    run(loop, client({.timeout = 5s}).call(get()));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code, Code::Timeout);
  }
}

TEST_F(ClientTest, TheDeadlineOfAStreamIsThatOfItsHeaders) {
  server->then_pieces({"line"}, PiecesBody::Then::Stay);
  auto response = loop.run(client({.timeout = 5s}).stream(get()));
  loop.advance(1min);
  EXPECT_EQ(loop.run(response.body->read()), "line");
}

TEST_F(ClientTest, AListThatStallsIsGivenUp) {
  server->then_pieces({R"({"items":[{"metadata":{"name":"a"}},)"}, PiecesBody::Then::Stay);
  const Resource widgets{
      .group = "example.com", .version = "v1", .plural = "widgets", .kind = "Widget", .namespaced = true};
  try {
    run(loop, client({.timeout = 5s}).of(widgets).list());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code, Code::Timeout);
  }
}

TEST_F(ClientTest, WarningsAreToldOnce) {
  std::vector<std::string> told;
  const auto warned = client({.on_warning = [&](std::string_view text) { told.emplace_back(text); }});
  for (int i = 0; i < 2; ++i) {
    server->then(200, "", {{"warning", "299 - \"old API\""}, {"warning", "299 - \"unknown field\""}});
    loop.run(warned.call(get()));
  }
  EXPECT_THAT(told, ElementsAre("old API", "unknown field"));
}

TEST_F(ClientTest, RateLimitSpreadsCalls) {
  const auto slow = client({.qps = 2, .burst = 1});
  const auto start = loop.now();
  for (int i = 0; i < 3; ++i) {
    server->then(200, "");
    run(loop, slow.call(get()));
  }
  EXPECT_GE(loop.now() - start, 1s);
}

TEST_F(ClientTest, ATemporaryClientIsEnough) {
  server->then(200, "ok");
  auto task = Client(server).call(get());
  EXPECT_EQ(loop.run(std::move(task)), "ok");
}

}  // namespace
}  // namespace kopper::client
