#include "kopper/plane/faults.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kopper/base/error.h"
#include "kopper/rt/loop.h"
#include "kopper/rt/scope.h"

namespace kopper::plane {
namespace {

using namespace std::chrono_literals;

constexpr const char* kMaps = "/api/v1/namespaces/default/configmaps";

// Asks a plane through its faults, on a manual clock.
class FaultsTest : public testing::Test {
 protected:
  FaultsTest() { loop_.run(plane_.start()); }

  struct Answer {
    int status = 0;
    json::Value body;
    http::Headers headers;
  };
  static http::Request request(std::string method, std::string target, std::string body = {}) {
    http::Request out;
    out.method = std::move(method);
    out.target = std::move(target);
    out.body = std::move(body);
    out.headers.set("content-type", out.method == "PATCH" ? "application/merge-patch+json" : "application/json");
    out.headers.set("user-agent", "tester/1");
    return out;
  }
  Answer ask(std::string method, std::string target, std::string body = {}) {
    http::Response response = loop_.run(faults_.handle(request(std::move(method), std::move(target), std::move(body))));
    const std::string text = loop_.run(http::read_all(*response.body));
    auto value = json::parse(text);
    return {response.status, value ? std::move(*value) : json::Value(text), response.headers};
  }
  Answer make(const char* name) { return ask("POST", kMaps, fmt::format(R"({{"metadata":{{"name":"{}"}}}})", name)); }
  Answer set(const char* name, const char* value) {
    return ask("PATCH", fmt::format("{}/{}", kMaps, name), fmt::format(R"({{"data":{{"k":"{}"}}}})", value));
  }
  std::unique_ptr<http::Body> watch() {
    return loop_
        .run(faults_.handle(
            request("GET", fmt::format("{}?watch=1&resourceVersion={}", kMaps, plane_.core().state.revision()))))
        .body;
  }
  std::string next(http::Body& body) { return std::string(loop_.run(body.read()).value_or("the end")); }

  rt::Loop loop_{rt::ClockMode::Manual};
  Plane plane_;
  Faults faults_{plane_};
};

TEST_F(FaultsTest, RefusesAsOftenAsItIsTold) {
  make("a");
  faults_.add({.match = {.verbs = {"patch"}, .resource = "configmaps", .name = "a"}, .status = 409, .times = 2});
  const Answer refused = set("a", "1");
  EXPECT_EQ(refused.status, 409);
  EXPECT_EQ(refused.body.text("kind"), "Status");
  EXPECT_EQ(refused.body.text("reason"), "Conflict");
  EXPECT_EQ(refused.body["details"].text("name"), "a");
  EXPECT_EQ(ask("GET", std::string(kMaps) + "/a").status, 200) << "another verb";
  make("b");
  EXPECT_EQ(set("b", "1").status, 200) << "another object";
  EXPECT_EQ(set("a", "1").status, 409);
  EXPECT_TRUE(faults_.rules().empty());
  EXPECT_EQ(set("a", "1").status, 200);
}

TEST_F(FaultsTest, SaysWhenToComeBack) {
  faults_.add({.status = 429, .retryAfterSeconds = 7});
  const Answer answer = make("a");
  EXPECT_EQ(answer.status, 429);
  EXPECT_EQ(answer.headers.get("retry-after"), "7");
  EXPECT_EQ(*answer.body["details"]["retryAfterSeconds"].as_int(), 7);
  EXPECT_EQ(faults_.rules().front().hits, 1);
  faults_.clear();
  EXPECT_EQ(make("a").status, 201);
}

TEST_F(FaultsTest, EveryStatusIsAnObject) {
  for (const int status : {400, 401, 403, 404, 409, 410, 418, 429, 500, 503, 504}) {
    faults_.add({.status = status, .times = 1});
    const Answer answer = make("a");
    EXPECT_EQ(answer.status, status);
    EXPECT_EQ(answer.body.text("kind"), "Status");
    EXPECT_EQ(*answer.body["code"].as_int(), status);
    EXPECT_NE(answer.body.text("message"), "");
  }
  faults_.add({.status = 403, .reason = "Because", .message = "no"});
  EXPECT_EQ(make("a").body.text("reason"), "Because");
  EXPECT_THROW(faults_.add({.status = 200}), Error);
  EXPECT_THROW(faults_.add({.effect = FaultEffect::Lose, .onlyOpen = true}), Error);
}

TEST_F(FaultsTest, MatchesSubresourcesGroupsAndAgents) {
  faults_.add({.match = {.resource = "deployments.apps/status"}, .status = 500});
  faults_.add({.match = {.agent = "somebody"}, .status = 500});
  const std::string path = "/apis/apps/v1/namespaces/default/deployments";
  EXPECT_EQ(ask("GET", path).status, 200);
  EXPECT_EQ(ask("GET", path + "/d").status, 404);
  EXPECT_EQ(ask("GET", path + "/d/status").status, 500);
}

TEST_F(FaultsTest, FirstRuleDecides) {
  faults_.add({.match = {.name = "a"}, .effect = FaultEffect::Pass});
  faults_.add({.status = 503});
  EXPECT_EQ(ask("GET", std::string(kMaps) + "/a").status, 404);
  EXPECT_EQ(ask("GET", std::string(kMaps) + "/b").status, 503);
}

TEST_F(FaultsTest, IsLate) {
  faults_.add({.effect = FaultEffect::Pass, .delayMilliseconds = 300});
  rt::Scope scope;
  std::optional<int> status;
  struct Later {
    static Task<> ask(Faults* faults, http::Request request, std::optional<int>* status) {
      const http::Response response = co_await faults->handle(std::move(request));
      *status = response.status;
    }
  };
  scope.spawn(Later::ask(&faults_, request("GET", kMaps), &status));
  loop_.advance(299ms);
  EXPECT_FALSE(status);
  loop_.advance(1ms);
  EXPECT_EQ(status, 200);

  status.reset();
  faults_.clear();
  faults_.add({.effect = FaultEffect::Silence});
  scope.spawn(Later::ask(&faults_, request("GET", kMaps), &status));
  loop_.advance(10h);
  EXPECT_FALSE(status) << "a partition lasts";
  faults_.clear();
  loop_.poll();
  EXPECT_EQ(status, 200) << "until it heals";
}

TEST_F(FaultsTest, HangsUpBeforeOrAfterTheServerDidIt) {
  faults_.add({.effect = FaultEffect::HangUp, .times = 1});
  EXPECT_THROW(make("a"), Error);
  EXPECT_EQ(ask("GET", std::string(kMaps) + "/a").status, 404);
  faults_.add({.effect = FaultEffect::Lose, .times = 1});
  EXPECT_THROW(make("a"), Error);
  EXPECT_EQ(ask("GET", std::string(kMaps) + "/a").status, 200);
}

TEST_F(FaultsTest, OverANetworkTheBodyBreaks) {
  Faults faults(plane_, true);
  faults.add({.effect = FaultEffect::HangUp});
  const http::Response response = loop_.run(faults.handle(request("GET", kMaps)));
  EXPECT_THROW(loop_.run(response.body->read()), Error);
}

TEST_F(FaultsTest, DropsWatchesThatAreOpen) {
  const auto first = watch();
  const auto second = watch();
  EXPECT_EQ(faults_.open_watches(), 2U);
  make("a");
  EXPECT_TRUE(next(*first).starts_with(R"({"type":"ADDED")"));
  faults_.add({.match = {.resource = "pods"}, .effect = FaultEffect::HangUp, .onlyOpen = true});
  faults_.add({.match = {.resource = "configmaps"}, .effect = FaultEffect::HangUp, .onlyOpen = true});
  EXPECT_THROW(next(*first), Error);
  EXPECT_THROW(next(*second), Error);
  EXPECT_TRUE(faults_.rules().empty());
  const auto third = watch();
  make("b");
  EXPECT_TRUE(next(*third).starts_with(R"({"type":"ADDED")"));
}

TEST_F(FaultsTest, DropsAWatchWhileItIsRead) {
  const auto body = watch();
  rt::Scope scope;
  struct Reader {
    static Task<> read(http::Body* body) { co_await body->read(); }
  };
  scope.spawn(Reader::read(body.get()));
  loop_.poll();
  faults_.add({.effect = FaultEffect::HangUp, .times = 1});
  loop_.poll();
  EXPECT_TRUE(scope.empty());
  EXPECT_THROW(loop_.run(scope.join()), Error);
  EXPECT_TRUE(faults_.rules().empty()) << "the open watch was its one";
}

TEST_F(FaultsTest, HoldsEventsBack) {
  const auto body = watch();
  faults_.add({.match = {.verbs = {"watch"}}, .effect = FaultEffect::Silence});
  EXPECT_EQ(make("a").status, 201);
  rt::Scope scope;
  std::string seen;
  struct Reader {
    static Task<> read(http::Body* body, std::string* seen) {
      const auto chunk = co_await body->read();
      *seen = std::string(*chunk);
    }
  };
  scope.spawn(Reader::read(body.get(), &seen));
  loop_.advance(1min);
  EXPECT_EQ(seen, "");
  faults_.clear();
  loop_.poll();
  EXPECT_TRUE(seen.starts_with(R"({"type":"ADDED")")) << seen;
}

TEST_F(FaultsTest, HistoryVanishes) {
  make("a");
  make("b");
  const auto open = watch();
  const Answer page = ask("GET", std::string(kMaps) + "?limit=1");
  faults_.add({.effect = FaultEffect::Expire});
  EXPECT_NE(next(*open).find(R"("reason":"Expired")"), std::string::npos);
  EXPECT_EQ(next(*open), "the end");
  EXPECT_NE(next(*watch()).find(R"("code":410)"), std::string::npos);
  const Answer gone =
      ask("GET", fmt::format("{}?limit=1&continue={}", kMaps, http::escape(page.body["metadata"].text("continue"))));
  EXPECT_EQ(gone.status, 410);
  EXPECT_EQ(gone.body.text("reason"), "Expired");
  EXPECT_EQ(ask("GET", kMaps).status, 200) << "the present is there";
  EXPECT_EQ(ask("GET", std::string(kMaps) + "?resourceVersion=0").status, 200);
}

TEST_F(FaultsTest, ShowsThePastToThoseWhoDoNotMind) {
  make("a");
  set("a", "old");
  faults_.add({.match = {.resource = "configmaps"}, .effect = FaultEffect::Stale});
  set("a", "new");
  make("b");
  const std::string one = std::string(kMaps) + "/a";
  EXPECT_EQ(ask("GET", one).body["data"].text("k"), "new");
  const Answer stale = ask("GET", one + "?resourceVersion=0");
  EXPECT_EQ(stale.body["data"].text("k"), "old");
  EXPECT_EQ(stale.body.text("kind"), "ConfigMap");
  EXPECT_EQ(stale.body.text("apiVersion"), "v1");
  EXPECT_EQ(ask("GET", std::string(kMaps) + "/b?resourceVersion=0").status, 404);
  const Answer list = ask("GET", std::string(kMaps) + "?resourceVersion=0&labelSelector=!x");
  EXPECT_EQ(list.body["items"][0]["data"].text("k"), "old");
  EXPECT_EQ(ask("GET", std::string(kMaps) + "?labelSelector=!x").body["items"][0]["data"].text("k"), "new");
  faults_.clear();
  EXPECT_EQ(ask("GET", one + "?resourceVersion=0").body["data"].text("k"), "new");
}

TEST_F(FaultsTest, DebugEndpoint) {
  EXPECT_EQ(ask("GET", "/debug/faults").status, 404) << "off by default";
  serve_debug(plane_, faults_);
  const Answer made =
      ask("POST", "/debug/faults", R"({"match":{"verbs":["create"],"namespace":"default"},"status":429,"times":1})");
  ASSERT_EQ(made.status, 200) << json::dump(made.body);
  EXPECT_EQ(made.body["faults"][0]["match"].text("namespace"), "default");
  EXPECT_EQ(made.body["faults"][0].text("effect"), "Refuse");
  EXPECT_EQ(make("a").status, 429);
  EXPECT_EQ(make("a").status, 201);
  ask("POST", "/debug/faults", R"({"effect":"HangUp"})");
  EXPECT_EQ(ask("GET", "/debug/faults").body["faults"].as_array()->size(), 1U) << "it cannot lock itself out";
  ask("DELETE", "/debug/faults");
  EXPECT_EQ(make("b").status, 201);
  EXPECT_EQ(ask("POST", "/debug/faults", R"({"efect":"HangUp"})").body.text("message"),
            R"(fault: unknown field "efect")");
  EXPECT_EQ(ask("POST", "/debug/faults", R"({"effect":"Explode"})").status, 400);
  EXPECT_EQ(ask("POST", "/debug/faults", R"({"status":200})").body.text("message"),
            "fault: status: must be between 400 and 599");
  EXPECT_EQ(ask("PUT", "/debug/faults").status, 405);
}

TEST_F(FaultsTest, DebugEndpointIsForAdministrators) {
  serve_debug(plane_, faults_);
  http::Request asked = request("GET", "/debug/faults");
  asked.headers.set("impersonate-user", "somebody");
  EXPECT_EQ(loop_.run(faults_.handle(std::move(asked))).status, 403);
}

}  // namespace
}  // namespace kopper::plane
