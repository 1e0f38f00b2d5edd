#include "kopper/client/credentials.h"

#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/base/error.h"
#include "kopper/client/detail/temp_dir.h"

namespace kopper::client {
namespace {

using testing::ElementsAre;

// Answers 200 to one Authorization header and 401 to all others; keeps what it was asked.
class Door final : public http::Handler {
 public:
  Task<http::Response> handle(http::Request request) override {
    const auto authorization = request.headers.get("Authorization");
    seen.emplace_back(authorization.value_or("none"));
    last = std::move(request);
    http::Response response;
    response.status = seen.back() == open_to ? 200 : 401;
    response.body = http::whole("");
    co_return response;
  }

  Task<std::unique_ptr<http::WebSocket>> connect(http::Request request, std::vector<std::string>) override {
    seen.emplace_back(request.headers.get("Authorization").value_or("none"));
    if (seen.back() != open_to) {
      Error error(Code::Unauthorized, "401");
      error.http_status = 401;
      throw error;
    }
    co_return nullptr;
  }

  std::string open_to = "none";
  std::vector<std::string> seen;
  http::Request last;
};

class Credentials : public testing::Test {
 protected:
  int call(http::Request request = {}) {
    if (!handler_) handler_ = with_credentials(door_, config_, make_plugin(config_));
    return loop_.run(handler_->handle(std::move(request))).status;
  }

  rt::Loop loop_{rt::ClockMode::Manual};
  detail::TempDir dir_;
  Config config_;
  std::shared_ptr<Door> door_ = std::make_shared<Door>();
  std::shared_ptr<http::Handler> handler_;
};

TEST_F(Credentials, NobodySendsNoHeader) {
  EXPECT_EQ(call(), 200);
  EXPECT_THAT(door_->seen, ElementsAre("none"));
}

TEST_F(Credentials, TokenAndNoRetryOfTheSame) {
  config_.token = "abc";
  EXPECT_EQ(call(), 401);
  EXPECT_THAT(door_->seen, ElementsAre("Bearer abc"));
}

TEST_F(Credentials, Basic) {
  config_.username = "bob";
  config_.password = "secret";
  call();
  EXPECT_THAT(door_->seen, ElementsAre("Basic Ym9iOnNlY3JldA=="));
}

TEST_F(Credentials, ARequestsOwnAuthorizationStays) {
  config_.token = "abc";
  http::Request request;
  request.headers.set("Authorization", "Bearer own");
  call(request);
  EXPECT_THAT(door_->seen, ElementsAre("Bearer own"));
}

TEST_F(Credentials, ARotatedTokenFileIsUsedAtOnce) {
  config_.token_file = dir_.write("token", "one\n");
  call();
  rt::write_file_atomic(config_.token_file, "two\n");
  door_->open_to = "Bearer two";
  EXPECT_EQ(call(), 200);
  EXPECT_THAT(door_->seen, ElementsAre("Bearer one", "Bearer two"));
}

TEST_F(Credentials, A401ReadsTheTokenFileAtOnceAndRepeatsTheRequest) {
  config_.token_file = dir_.write("token", "one");
  door_->open_to = "Bearer one";
  EXPECT_EQ(call(), 200);
  // Written in place, with the time and size of before: no stamp tells.
  const auto time = std::filesystem::last_write_time(config_.token_file);
  dir_.write("token", "two");
  std::filesystem::last_write_time(config_.token_file, time);
  door_->open_to = "Bearer two";
  http::Request request;
  request.method = "POST";
  request.target = "/api/v1/pods";
  request.body = "{}";
  EXPECT_EQ(call(request), 200);
  EXPECT_THAT(door_->seen, ElementsAre("Bearer one", "Bearer one", "Bearer two"));
  EXPECT_EQ(door_->last.method, "POST");
  EXPECT_EQ(door_->last.target, "/api/v1/pods");
  EXPECT_EQ(door_->last.body, "{}");
}

TEST_F(Credentials, TheLastTokenStaysWhenTheFileGoesAway) {
  config_.token_file = dir_.write("token", "one");
  door_->open_to = "Bearer one";
  call();
  std::filesystem::remove(config_.token_file);
  EXPECT_EQ(call(), 200);
  dir_.write("token", " \n");
  EXPECT_EQ(call(), 200);
}

TEST_F(Credentials, ATokenFileThatWasNeverThereIsAnError) {
  config_.token_file = dir_.path("token");
  try {
    call();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code, Code::Unauthorized);
    EXPECT_THAT(error.what(), testing::HasSubstr(config_.token_file));
  }
  config_.token = "fallback";
  handler_ = nullptr;
  door_->open_to = "Bearer fallback";
  EXPECT_EQ(call(), 200);
}

TEST_F(Credentials, ImpersonationHeaders) {
  config_.impersonate = {"alice", "7", {"devs", "ops"}, {{"example.com/team", {"a", "b"}}, {"50%", {"c"}}}};
  call();
  const auto& headers = door_->last.headers;
  EXPECT_EQ(headers.get("impersonate-user"), "alice");
  EXPECT_EQ(headers.get("impersonate-uid"), "7");
  EXPECT_THAT(headers.all("impersonate-group"), ElementsAre("devs", "ops"));
  EXPECT_THAT(headers.all("impersonate-extra-example.com%2Fteam"), ElementsAre("a", "b"));
  EXPECT_THAT(headers.all("impersonate-extra-50%25"), ElementsAre("c"));
}

class PluginCredentials : public Credentials {
 protected:
  PluginCredentials() {
    config_.exec.emplace();
    config_.exec->api_version = "client.authentication.k8s.io/v1";
    config_.exec->interactive_mode = InteractiveMode::Never;
    script(R"(n=$(( $(cat count 2>/dev/null || echo 0) + 1 )); echo $n > count; token=t$n)");
  }
  void script(std::string_view set_token) {
    config_.exec->command = dir_.write_script("plugin", fmt::format(R"(#!/bin/bash
cd {}; {}
echo '{{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{{"token":"'$token'"}}}}'
)",
                                                                    dir_.path(), set_token));
  }
};

TEST_F(PluginCredentials, A401RunsThePluginAgainAndRepeatsTheRequest) {
  door_->open_to = "Bearer t1";
  EXPECT_EQ(call(), 200);
  door_->open_to = "Bearer t2";
  EXPECT_EQ(call(), 200);
  EXPECT_EQ(call(), 200);
  EXPECT_THAT(door_->seen, ElementsAre("Bearer t1", "Bearer t1", "Bearer t2", "Bearer t2"));
}

TEST_F(PluginCredentials, TheSameTokenAgainIsNotRepeated) {
  script("token=same");
  EXPECT_EQ(call(), 401);
  EXPECT_THAT(door_->seen, ElementsAre("Bearer same"));
}

TEST_F(PluginCredentials, A401StaysWhenThePluginFailsThen) {
  script("[ -e ran ] && exit 1; touch ran; token=t");
  EXPECT_EQ(call(), 401);
  EXPECT_THAT(door_->seen, ElementsAre("Bearer t"));
}

TEST_F(PluginCredentials, WebSocketsAreSignedAndRetriedToo) {
  handler_ = with_credentials(door_, config_, make_plugin(config_));
  door_->open_to = "Bearer t2";
  http::Request request;
  std::vector<std::string> protocols;
  loop_.run(handler_->connect(request, protocols));
  EXPECT_THAT(door_->seen, ElementsAre("Bearer t1", "Bearer t2"));
}

TEST_F(PluginCredentials, ATokenOfItsOwnGoesFirst) {
  config_.token = "own";
  EXPECT_EQ(make_plugin(config_), nullptr);
  call();
  EXPECT_THAT(door_->seen, ElementsAre("Bearer own"));
}

}  // namespace
}  // namespace kopper::client
