#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/api/object.h"
#include "kopper/base/log.h"
#include "kopper/cache/test_server.h"
#include "kopper/json/value.h"
#include "kopper/rt/scope.h"
#include "kopper/runtime/controller.h"
#include "kopper/runtime/manager.h"
#include "kopper/runtime/test_lease_server.h"

// What a controller does with a key: when it calls the user's function, how often, and what it makes of the outcome.

namespace kopper::runtime {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

struct WidgetSpec {
  std::int32_t size = 0;
};
struct Widget {
  static constexpr Kind kind{"example.com", "v1", "Widget"};
  api::metav1::ObjectMeta metadata;
  WidgetSpec spec;
};

// A user's function that notes its calls and does as it is told.
struct User {
  std::vector<std::string> calls;  // "n/a: reasons"
  std::vector<rt::Duration> times;
  std::function<void()> fails = [] {};  // may throw
  rt::Duration takes{};
  Next next = Next::wait();
  int running = 0;
  int most = 0;
};

Task<Next> reconcile(User* user, Context<Widget> widget) {
  user->calls.push_back(widget.key().str() + ": " + widget.reasons().str());
  user->times.push_back(rt::Loop::current().now().time_since_epoch());
  user->most = std::max(user->most, ++user->running);
  if (user->takes > 0s) co_await rt::sleep(user->takes);
  --user->running;
  user->fails();
  co_return user->next;
}

class ControllerLoop : public ::testing::Test {
 protected:
  // Failures are what is tested here; thousands of lines about them tell nobody anything.
  void SetUp() override {
    log::configure({.level = log::Level::Error, .format = log::Format::Human, .sink = [](std::string_view) {}});
  }
  void TearDown() override { log::configure(log::Options()); }

  auto reconciler() {
    return [this](Context<Widget> widget) { return reconcile(&user_, std::move(widget)); };
  }
  void start(ControllerSpec spec) {
    manager_.add(std::move(spec));
    start();
  }
  void start() {
    scope_.spawn(manager_.run());
    loop_.poll();
  }
  std::vector<std::string> calls() { return std::exchange(user_.calls, {}); }
  double counted(std::string_view name) {
    return manager_.metrics().counter(name, "", {{"controller", "widget"}}).value();
  }

  rt::Loop loop_{rt::ClockMode::Manual};
  std::shared_ptr<cache::TestServer> server_ = std::make_shared<cache::TestServer>();
  User user_;
  Manager manager_{server_};
  rt::Scope scope_;
};

TEST_F(ControllerLoop, RunsWhatWasThereThenWhatChanges) {
  server_->put({"n", "a"});
  start(controller<Widget>().reconcile(reconciler()));
  EXPECT_THAT(calls(), ElementsAre("n/a: initial list"));
  server_->put({"n", "b"});
  server_->put({"n", "a"}, 2, R"(,"labels":{"x":"y"})");
  loop_.poll();
  EXPECT_THAT(calls(), UnorderedElementsAre("n/b: created", "n/a: updated (labels)"));
  server_->remove({"n", "b"});
  loop_.advance(1h);
  EXPECT_THAT(calls(), IsEmpty()) << "what is gone needs no reconcile: finalize() is for that";
  EXPECT_EQ(manager_.metrics()
                .counter("controller_runtime_reconcile_total", "", {{"controller", "widget"}, {"result", "success"}})
                .value(),
            4);
}

TEST_F(ControllerLoop, RetriesLaterAndLaterUntilItSucceeds) {
  server_->put({"n", "a"});
  int left = 3;
  user_.fails = [&] {
    if (left-- > 0) throw Error(Code::Unavailable, "away");
  };
  start(controller<Widget>().reconcile(reconciler()));
  loop_.advance(1min);
  EXPECT_THAT(user_.times, ElementsAre(0ms, 5ms, 15ms, 35ms));
  EXPECT_THAT(calls(), ElementsAre("n/a: initial list", "n/a: retry 1 after error", "n/a: retry 2 after error",
                                   "n/a: retry 3 after error"));
  EXPECT_EQ(counted("controller_runtime_reconcile_errors_total"), 3);

  left = 1;
  server_->put({"n", "a"}, 2);
  loop_.advance(1min);
  EXPECT_EQ(user_.times.back() - user_.times[4], 5ms) << "success was remembered";
}

TEST_F(ControllerLoop, TerminalErrorsWaitForAChange) {
  server_->put({"n", "a"});
  user_.fails = [] { throw Terminal("this cannot work"); };
  start(controller<Widget>().reconcile(reconciler()));
  loop_.advance(1h);
  EXPECT_THAT(calls(), ElementsAre("n/a: initial list"));
  EXPECT_EQ(counted("controller_runtime_terminal_reconcile_errors_total"), 1);
  server_->put({"n", "a"}, 2);
  loop_.poll();
  EXPECT_THAT(calls(), ElementsAre("n/a: updated"));
}

TEST_F(ControllerLoop, NextInComesBackOrEarlierWhenSomethingChanges) {
  server_->put({"n", "a"});
  user_.next = Next::in(30s);
  start(controller<Widget>().reconcile(reconciler()));
  loop_.advance(30s);
  EXPECT_THAT(calls(), ElementsAre("n/a: initial list", "n/a: requested after 30s"));
  loop_.advance(10s);
  server_->put({"n", "a"}, 2);
  loop_.poll();
  EXPECT_THAT(calls(), ElementsAre("n/a: requested after 30s; updated"));
}

TEST_F(ControllerLoop, ADeadlineEndsARunAndItIsTriedAgain) {
  server_->put({"n", "a"});
  user_.takes = 1h;
  ControllerOptions options;
  options.deadline = 10s;
  start(controller<Widget>().with(options).reconcile(reconciler()));
  loop_.advance(10s);
  user_.takes = 0s;
  loop_.advance(1s);
  EXPECT_THAT(calls(), ElementsAre("n/a: initial list", "n/a: retry 1 after error"));
  EXPECT_EQ(counted("controller_runtime_reconcile_timeouts_total"), 1);
}

TEST_F(ControllerLoop, ExceptionsAreContainedAndCounted) {
  server_->put({"n", "a"});
  bool thrown = false;
  user_.fails = [&] {
    if (!std::exchange(thrown, true)) throw std::out_of_range("a bug");
  };
  start(controller<Widget>().reconcile(reconciler()));
  server_->put({"n", "b"});
  loop_.advance(1s);
  EXPECT_THAT(calls(), ElementsAre("n/a: initial list", "n/b: created", "n/a: retry 1 after error"));
  EXPECT_EQ(counted("controller_runtime_reconcile_panics_total"), 1);
}

TEST_F(ControllerLoop, WorkersRunSideBySide) {
  for (int i = 0; i < 10; ++i) server_->put({"n", std::to_string(i)});
  user_.takes = 1s;
  start(controller<Widget>().workers(3).reconcile(reconciler()));
  EXPECT_EQ(user_.running, 3);
  EXPECT_EQ(manager_.metrics().gauge("controller_runtime_active_workers", "", {{"controller", "widget"}}).value(), 3);
  loop_.advance(1min);
  EXPECT_EQ(user_.most, 3);
  EXPECT_EQ(user_.calls.size(), 10U);
}

TEST_F(ControllerLoop, StopsWhenWhatIsInWorkIsDone) {
  server_->put({"n", "a"});
  user_.takes = 5s;
  start(controller<Widget>().reconcile(reconciler()));
  EXPECT_EQ(user_.running, 1);
  manager_.stop();
  loop_.advance(4s);
  EXPECT_FALSE(scope_.empty());
  loop_.advance(2s);
  EXPECT_TRUE(scope_.empty());
  EXPECT_EQ(user_.running, 0);
}

Task<std::vector<Key>> nobody(std::shared_ptr<const Widget>) {
  std::vector<Key> none;
  co_return none;
}

TEST_F(ControllerLoop, StopsWithAsynchronousMapsWaiting) {
  start(controller<Widget>().watches_async<Widget>(nobody).reconcile(reconciler()));
  manager_.stop();
  loop_.advance(1s);
  EXPECT_TRUE(scope_.empty());
}

TEST_F(ControllerLoop, AChannelAsksForRuns) {
  server_->put({"n", "a"});
  auto channel = std::make_shared<rt::Channel<Request>>(4);
  start(controller<Widget>().watches(channel).reconcile(reconciler()));
  calls();
  channel->try_send(Request({"n", "a"}, "the disk is full"));
  loop_.poll();
  EXPECT_THAT(calls(), ElementsAre("n/a: the disk is full"));
}

TEST_F(ControllerLoop, APausedObjectIsLeftAlone) {
  server_->put({"n", "a"}, 1, R"(,"annotations":{"kopper.dev/paused":"true"})");
  start(controller<Widget>().reconcile(reconciler()));
  EXPECT_THAT(calls(), IsEmpty());
  server_->put({"n", "a"});
  loop_.poll();
  EXPECT_THAT(calls(), ElementsAre("n/a: updated (annotations)"));
}

TEST_F(ControllerLoop, APredicateDecidesWhatCounts) {
  server_->put({"n", "a"});
  start(controller<Widget>().when(labels_changed()).reconcile(reconciler()));
  calls();
  server_->put({"n", "a"}, 2);
  loop_.poll();
  EXPECT_THAT(calls(), IsEmpty());
}

TEST_F(ControllerLoop, SeveralClustersInOneManager) {
  auto other = std::make_shared<cache::TestServer>();
  other->put({"far", "b"});
  server_->put({"near", "a"});
  manager_.add_cluster("other", other);
  ControllerOptions there;
  there.name = "widget-there";
  there.cluster = "other";
  manager_.add(controller<Widget>().reconcile(reconciler()));
  manager_.add(controller<Widget>().with(there).reconcile(reconciler()));
  start();
  EXPECT_THAT(calls(), UnorderedElementsAre("near/a: initial list", "far/b: initial list"));
  const auto text = manager_.metrics().text();
  EXPECT_THAT(text, HasSubstr("kopper_cache_objects{cluster=\"\",resource=\"widgets.example.com\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("kopper_cache_objects{cluster=\"other\",resource=\"widgets.example.com\"} 1\n"));
}

TEST_F(ControllerLoop, TellsWhatItWaitsFor) {
  server_->pause_lists(true);
  server_->watch_list = false;
  server_->put({"n", "a"});
  start(controller<Widget>().reconcile(reconciler()));
  EXPECT_THAT(manager_.waiting_for(), HasSubstr("widgets.example.com"));
  server_->pause_lists(false);
  loop_.poll();
  EXPECT_EQ(manager_.waiting_for(), "");
  EXPECT_EQ(user_.calls.size(), 1U);
}

TEST_F(ControllerLoop, StopsThoughTheListNeverComes) {
  server_->pause_lists(true);
  server_->watch_list = false;
  server_->put({"n", "a"});
  start(controller<Widget>().reconcile(reconciler()));
  manager_.stop();
  loop_.advance(1s);
  EXPECT_TRUE(scope_.empty());
  EXPECT_EQ(user_.calls.size(), 0U);
}

TEST_F(ControllerLoop, EveryLineOfARunNamesControllerObjectAndRun) {
  std::vector<std::string> lines;
  log::configure({.level = log::Level::Debug, .format = log::Format::Json, .sink = [&](std::string_view line) {
                    lines.emplace_back(line);
                  }});
  server_->put({"n", "a"});
  start(controller<Widget>().reconcile(reconciler()));
  const auto line = std::ranges::find_if(lines, [](const auto& one) { return one.contains("initial list"); });
  ASSERT_NE(line, lines.end());
  EXPECT_THAT(*line, HasSubstr(R"("controller":"widget")"));
  EXPECT_THAT(*line, HasSubstr(R"("object":"n/a")"));
  EXPECT_THAT(*line, HasSubstr(R"("run":")"));
}

// Takes a merge patch of the finalizers, as an API server does, and lets go what is to be deleted and has none left.
class FinalizingServer final : public http::Handler {
 public:
  explicit FinalizingServer(std::shared_ptr<cache::TestServer> server) : server_(std::move(server)) {}

  Task<http::Response> handle(http::Request request) override {
    if (request.method != "PATCH") co_return co_await server_->handle(std::move(request));
    const auto path = request.target.substr(0, request.target.find('?'));
    const Key key("n", path.substr(path.rfind('/') + 1));
    const auto patch = json::parse(request.body).value();
    finalizers_ = json::dump(patch["metadata"]["finalizers"]);
    const auto object = put(key);
    if (deleting_ && finalizers_ == "[]") server_->remove(key);
    co_return http::text_response(200, object, "application/json");
  }
  void ask_for_deletion(const Key& key) {
    deleting_ = true;
    put(key);
  }
  const std::string& finalizers() const { return finalizers_; }

 private:
  std::string put(const Key& key) {
    return server_->put(key, 1,
                        fmt::format(R"(,"finalizers":{}{})", finalizers_,
                                    deleting_ ? R"(,"deletionTimestamp":"2026-01-01T00:00:00Z")" : ""));
  }

  std::shared_ptr<cache::TestServer> server_;
  std::string finalizers_ = "[]";
  bool deleting_ = false;
};

Task<Next> finalize(int* left, Context<Widget>) {
  const Next next = --*left > 0 ? Next::in(std::chrono::seconds(1)) : Next::wait();
  co_return next;
}

TEST_F(ControllerLoop, FinalizersAreAddedAndRemovedByThemselves) {
  auto server = std::make_shared<FinalizingServer>(server_);
  Manager manager(server);
  int left = 2;
  manager.add(controller<Widget>()
                  .finalize([&](Context<Widget> widget) { return finalize(&left, std::move(widget)); })
                  .reconcile(reconciler()));
  rt::Scope scope;
  scope.spawn(manager.run());
  server_->put({"n", "a"});
  loop_.advance(1s);
  EXPECT_EQ(server->finalizers(), R"(["example.com/finalizer"])")
      << "before anything is made that would be left behind";
  EXPECT_FALSE(calls().empty());
  server->ask_for_deletion({"n", "a"});
  loop_.poll();
  EXPECT_EQ(left, 1);
  EXPECT_EQ(server->finalizers(), R"(["example.com/finalizer"])") << "not done yet";
  loop_.advance(1s);
  EXPECT_EQ(left, 0);
  EXPECT_EQ(server->finalizers(), "[]");
  loop_.advance(1min);
  EXPECT_EQ(left, 0) << "and that was it";
  EXPECT_THAT(calls(), IsEmpty()) << "no reconcile of what is to be deleted";
}

TEST_F(ControllerLoop, WhoAsksForItSeesObjectsGo) {
  std::vector<Key> gone;
  start(
      controller<Widget>().while_deleting().gone([&](const Key& key) { gone.push_back(key); }).reconcile(reconciler()));
  server_->put({"n", "a"}, 1, R"(,"finalizers":["other"],"deletionTimestamp":"2026-01-01T00:00:00Z")");
  loop_.advance(1s);
  EXPECT_EQ(calls().size(), 1);
  EXPECT_THAT(gone, IsEmpty());
  server_->remove({"n", "a"});
  loop_.advance(1s);
  EXPECT_THAT(gone, ElementsAre(Key("n", "a")));
  EXPECT_THAT(calls(), IsEmpty());
}

// Reads and deletes single objects.
class DeletingServer final : public http::Handler {
 public:
  explicit DeletingServer(std::shared_ptr<cache::TestServer> server) : server_(std::move(server)) {}

  Task<http::Response> handle(http::Request request) override {
    const auto path = request.target.substr(0, request.target.find('?'));
    const auto name = path.substr(path.rfind('/') + 1);
    if (name == "widgets") co_return co_await server_->handle(std::move(request));
    const Key key("n", name);
    std::string answer = json_of[key];
    if (request.method == "DELETE") {
      answer = fmt::format(R"({{"kind":"Status","status":"Success","details":{{"name":"{}","uid":"{}"}}}})", name,
                           server_->uid(key));
      server_->remove(key);
    }
    co_return http::text_response(200, answer, "application/json");
  }
  std::map<Key, std::string> json_of;

 private:
  std::shared_ptr<cache::TestServer> server_;
};

Task<Next> remove_child(int* left, Context<Widget> widget) {
  if (widget.key().name != "parent") co_return Next::wait();
  const bool removed = co_await widget.remove<Widget>("child");
  if (removed) *left = static_cast<int>(widget.list<Widget>(cache::Filter()).size());
  co_return Next::wait();
}

TEST_F(ControllerLoop, WhatItRemovesIsGoneFromTheCacheAtOnce) {
  auto server = std::make_shared<DeletingServer>(server_);
  server_->put({"n", "parent"});
  server->json_of[{"n", "child"}] = server_->put(
      {"n", "child"}, 1,
      fmt::format(
          R"(,"ownerReferences":[{{"apiVersion":"example.com/v1","kind":"Widget","name":"parent","uid":"{}","controller":true}}])",
          server_->uid({"n", "parent"})));
  Manager manager(server);
  int left = -1;
  manager.add(
      controller<Widget>().reconcile([&](Context<Widget> widget) { return remove_child(&left, std::move(widget)); }));
  rt::Scope scope;
  scope.spawn(manager.run());
  server_->pause_watches(true);
  loop_.poll();
  EXPECT_EQ(left, 1) << "the watch has not told of it yet";
  server_->pause_watches(false);
  loop_.poll();
  EXPECT_EQ(manager.cluster().cache.reader<Widget>().list().size(), 1);
}

// Leases here, all else there.
class WithLeases final : public http::Handler {
 public:
  WithLeases(LeaseServer& leases, std::shared_ptr<http::Handler> rest)
      : leases_(leases.line()), rest_(std::move(rest)) {}
  Task<http::Response> handle(http::Request request) override {
    return (request.target.contains("/leases") ? *leases_ : *rest_).handle(std::move(request));
  }

 private:
  std::shared_ptr<http::Handler> leases_;
  std::shared_ptr<http::Handler> rest_;
};

TEST_F(ControllerLoop, AStandbyKeepsItsCacheWarm) {
  LeaseServer leases;
  json::Value other = json::Object{};
  other["holderIdentity"] = "another";
  other["leaseDurationSeconds"] = 3600;
  leases.put(other);
  ManagerOptions options;
  options.election.emplace();
  options.election->namespace_ = "system";
  options.election->name = "operator";
  Manager manager(std::make_shared<WithLeases>(leases, server_), std::move(options));
  manager.add(controller<Widget>().reconcile(reconciler()));
  server_->put({"n", "a"});
  rt::Scope scope;
  scope.spawn(manager.run());
  loop_.advance(1min);
  EXPECT_FALSE(manager.leads());
  EXPECT_EQ(manager.waiting_for(), "") << "the cache is filled";
  EXPECT_THAT(calls(), IsEmpty());

  const auto requests = server_->seen.size();
  other["holderIdentity"] = "";
  leases.put(other);
  loop_.advance(1s);
  EXPECT_TRUE(manager.leads());
  EXPECT_THAT(calls(), ElementsAre("n/a: initial list"));
  EXPECT_EQ(server_->seen.size(), requests) << "nothing was listed again";
}

// The same kind, read by a program that expects something else.
struct OddSpec {
  std::string size;
};
struct Odd {
  static constexpr Kind kind{"example.com", "v1", "Widget"};
  api::metav1::ObjectMeta metadata;
  OddSpec spec;
};

Task<Next> never(Context<Odd>) {
  ADD_FAILURE() << "called with an object that does not decode";
  co_return Next::wait();
}

TEST_F(ControllerLoop, AnObjectThatDoesNotDecodeIsCountedAndNotRetried) {
  server_->put({"n", "a"});
  start(controller<Odd>().reconcile(never));
  loop_.advance(1h);
  EXPECT_EQ(counted("kopper_undecodable_objects_total"), 1);
  EXPECT_EQ(counted("controller_runtime_reconcile_errors_total"), 1);
}

TEST_F(ControllerLoop, HardCase17_ServerAwayForFiveMinutesWithAThousandFailingKeys) {
  for (int i = 0; i < 1000; ++i) server_->put({fmt::format("n{}", i % 10), std::to_string(i)});
  const auto up = rt::TimePoint(5min);
  user_.takes = 1ms;
  user_.fails = [&] {
    if (loop_.now() < up) throw Error(Code::Unavailable, "connection refused");
  };
  start(controller<Widget>().reconcile(reconciler()));
  loop_.advance(5min);
  // 5 ms * 2^n: sixteen tries in five minutes, not one a second.
  EXPECT_LE(user_.calls.size(), 17U * 1000U);
  EXPECT_LE(user_.most, 8) << "the herd goes through the workers";
  calls();
  loop_.advance(1min);
  EXPECT_EQ(user_.calls.size(), 1000U) << "each once, within a minute";
  EXPECT_EQ(manager_.controllers().at(0)->queue().figures().size(), 0U);
}

}  // namespace
}  // namespace kopper::runtime
