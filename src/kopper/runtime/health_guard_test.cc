#include "kopper/runtime/health_guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/client/fake_server.h"
#include "kopper/json/value.h"
#include "kopper/rt/loop.h"

namespace kopper::runtime {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class Open final : public http::Handler {
 public:
  Task<http::Response> handle(http::Request) override { co_return http::text_response(200, "numbers"); }
};

struct GuardTest : testing::Test {
  int get(std::string authorization, std::string target = "/metrics?x=1") {
    http::Request request;
    request.target = std::move(target);
    if (!authorization.empty()) request.headers.set("Authorization", authorization);
    return loop.run(guard->handle(std::move(request))).status;
  }
  void say_who(bool known) {
    server->then(201, known ? R"({"status":{"authenticated":true,"user":{"username":"prometheus","groups":["g"]}}})"
                            : R"({"status":{"authenticated":false,"user":{}}})");
  }
  void say_may(bool may) {
    server->then(201, may ? R"({"status":{"allowed":true}})" : R"({"status":{"allowed":false}})");
  }

  rt::Loop loop{rt::ClockMode::Manual};
  std::shared_ptr<client::FakeServer> server = std::make_shared<client::FakeServer>();
  std::unique_ptr<http::Handler> guard =
      guarded(client::Client(server, client::ClientOptions{.max_retries = 0}), std::make_unique<Open>());
};

TEST_F(GuardTest, WhoMayGetsIn) {
  say_who(true);
  say_may(true);
  EXPECT_EQ(get("Bearer secret"), 200);
  EXPECT_THAT(server->target(0), HasSubstr("/apis/authentication.k8s.io/v1/tokenreviews"));
  EXPECT_EQ((*json::parse(server->seen[0].body))["spec"].text("token"), "secret");
  EXPECT_THAT(server->target(1), HasSubstr("/apis/authorization.k8s.io/v1/subjectaccessreviews"));
  const auto question = (*json::parse(server->seen[1].body))["spec"];
  EXPECT_EQ(question.text("user"), "prometheus");
  EXPECT_EQ(question["groups"][0], json::Value("g"));
  EXPECT_EQ(question["nonResourceAttributes"].text("verb"), "get");
  EXPECT_EQ(question["nonResourceAttributes"].text("path"), "/metrics");
}

TEST_F(GuardTest, NobodyIsUnauthorized) {
  EXPECT_EQ(get(""), 401);
  EXPECT_EQ(get("Basic eDp5"), 401);
  EXPECT_EQ(get("Bearer "), 401);
  EXPECT_TRUE(server->seen.empty());
  say_who(false);
  EXPECT_EQ(get("Bearer wrong"), 401);
}

TEST_F(GuardTest, WhoMayNotIsForbidden) {
  say_who(true);
  say_may(false);
  EXPECT_EQ(get("bearer secret"), 403);
}

TEST_F(GuardTest, NoAnswerIsNoEntry) {
  server->then_unreachable();
  EXPECT_EQ(get("Bearer secret"), 503);
  say_who(true);
  server->then(403, client::status_json(403, "Forbidden", "no reviews"));
  EXPECT_EQ(get("Bearer secret"), 503);
}

TEST_F(GuardTest, AnswersAreRemembered) {
  say_who(true);
  say_may(true);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(get("Bearer secret"), 200);
  EXPECT_EQ(server->seen.size(), 2U);
  loop.advance(1min);
  say_who(true);
  EXPECT_EQ(get("Bearer secret"), 200);
  EXPECT_EQ(server->seen.size(), 3U) << "a yes lasts longer than a token";
  loop.advance(4min);
  say_who(true);
  say_may(false);
  EXPECT_EQ(get("Bearer secret"), 403);
  loop.advance(29s);
  EXPECT_EQ(get("Bearer secret"), 403);
  loop.advance(1s);
  say_may(true);
  EXPECT_EQ(get("Bearer secret"), 200);
  EXPECT_TRUE(server->done());
}

}  // namespace
}  // namespace kopper::runtime
