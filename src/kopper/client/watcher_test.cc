#include "kopper/client/watcher.h"

#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/client/fake_server.h"
#include "kopper/http/url.h"
#include "kopper/rt/loop.h"
#include "kopper/rt/scope.h"

namespace kopper::client {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using namespace std::chrono_literals;

const Resource kWidgets{
    .group = "example.com", .version = "v1", .plural = "widgets", .kind = "Widget", .namespaced = true};

std::string object(std::string_view name, int version, std::string_view uid = "u") {
  return fmt::format(R"({{"metadata":{{"name":"{}","namespace":"n","uid":"{}-{}","resourceVersion":"{}"}}}})", name,
                     uid, name, version);
}
std::string event(std::string_view type, std::string object) {
  return fmt::format(R"({{"type":"{}","object":{}}})"
                     "\n",
                     type, object);
}
std::string bookmark(int version) {
  return event("BOOKMARK", fmt::format(R"({{"metadata":{{"resourceVersion":"{}"}}}})", version));
}
std::string initial_end(int version) {
  return event(
      "BOOKMARK",
      fmt::format(R"({{"metadata":{{"resourceVersion":"{}","annotations":{{"k8s.io/initial-events-end":"true"}}}}}})",
                  version));
}
std::string gone() {
  return event(
      "ERROR",
      R"({"kind":"Status","apiVersion":"v1","code":410,"reason":"Expired","message":"too old resource version"})");
}
std::string list(std::vector<std::string> objects, int version, std::string_view token = "") {
  return fmt::format(R"({{"kind":"WidgetList","metadata":{{"resourceVersion":"{}","continue":"{}"}},"items":[{}]}})",
                     version, token, fmt::join(objects, ","));
}

Task<> collect(Changes<json::Value>* changes, std::vector<std::string>* out) {
  static constexpr std::string_view kNames[] = {"Added", "Modified", "Deleted", "Synced", "Failed"};
  while (true) {
    const auto change = co_await changes->next();
    auto text = std::string(kNames[static_cast<int>(change.type)]);
    if (!change.key.name.empty()) text += " " + change.key.name;
    if (change.object) text += ":" + std::string((*change.object)["metadata"].text("resourceVersion"));
    out->push_back(text);
  }
}

struct ChangesTest : testing::Test {
  void start(WatcherOptions options = {}) {
    changes.emplace(Client(server, {.max_retries = 0}).of(kWidgets), std::move(options));
    scope.spawn(collect(&*changes, &told));
    loop.poll();
  }
  // Time passes until the server has given all its answers.
  void finish() {
    for (int i = 0; i < 100 && !server->done(); ++i) loop.advance(1s);
    loop.poll();
    EXPECT_TRUE(server->done());
  }

  rt::Loop loop{rt::ClockMode::Manual};
  std::shared_ptr<FakeServer> server = std::make_shared<FakeServer>();
  std::optional<Changes<json::Value>> changes;
  std::vector<std::string> told;
  rt::Scope scope;
};

constexpr auto kStay = PiecesBody::Then::Stay;
constexpr auto kBreak = PiecesBody::Then::Break;

TEST_F(ChangesTest, WatchList) {
  server->then_pieces(
      {event("ADDED", object("a", 1)), event("ADDED", object("b", 2)), initial_end(5),
       event("MODIFIED", object("a", 6)), event("DELETED", object("b", 7)), event("ADDED", object("c", 8))},
      kStay);
  start();
  EXPECT_THAT(told, ElementsAre("Added a:1", "Added b:2", "Synced", "Modified a:6", "Deleted b:7", "Added c:8"));
  EXPECT_THAT(server->target(0),
              HasSubstr("sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"));
}

TEST_F(ChangesTest, ListAndWatchWhenWatchListIsRefused) {
  server->then(422, status_json(422, "Invalid", "sendInitialEvents is forbidden"))
      .then(200, list({object("a", 1)}, 5, "next"))
      .then(200, list({object("b", 2)}, 5))
      .then_pieces({event("ADDED", object("c", 6))}, kStay);
  start({.namespace_ = "n", .page_size = 1});
  EXPECT_THAT(told, ElementsAre("Added a:1", "Added b:2", "Synced", "Added c:6"));
  EXPECT_THAT(server->target(1), HasSubstr("/namespaces/n/widgets?limit=1"));
  EXPECT_THAT(server->target(2), HasSubstr("continue=next"));
  EXPECT_THAT(server->target(3), HasSubstr("watch=true&resourceVersion=5&"));
}

TEST_F(ChangesTest, WatchesLastFiveToTenMinutesAndNotAllTheSame) {
  server->then_pieces({initial_end(1)});
  for (int version = 2; version < 22; ++version) server->then_pieces({bookmark(version)});
  server->then_pieces({bookmark(22)}, kStay);
  start();
  finish();
  std::set<int> seconds;
  for (const auto& request : server->seen) {
    const auto query = http::Query::parse(request.target.substr(request.target.find('?') + 1));
    seconds.insert(std::stoi(std::string(query->get("timeoutSeconds").value_or("0"))));
  }
  EXPECT_GE(*seconds.begin(), 300);
  EXPECT_LE(*seconds.rbegin(), 600);
  EXPECT_GT(seconds.size(), 5U) << "so that clients do not come back in step";
}

TEST_F(ChangesTest, AServerThatIgnoresWatchListIsFoundOut) {
  server->then_pieces({event("ADDED", object("a", 1))}, kStay)
      .then(200, list({object("a", 1)}, 5))
      .then_pieces({}, kStay);
  start();
  EXPECT_THAT(told, ElementsAre("Added a:1"));
  finish();
  EXPECT_THAT(told, ElementsAre("Added a:1", "Synced"));
}

TEST_F(ChangesTest, ResumesFromTheLastVersionWithoutRepeating) {
  server->then_pieces({event("ADDED", object("a", 1)), initial_end(5), event("ADDED", object("b", 6))}, kBreak)
      .then_unreachable()
      .then_pieces({event("ADDED", object("c", 7)), bookmark(20)})
      .then_pieces({event("ADDED", object("d", 21))}, kStay);
  start();
  finish();
  EXPECT_THAT(told, ElementsAre("Added a:1", "Synced", "Added b:6", "Failed", "Failed", "Added c:7", "Added d:21"));
  EXPECT_THAT(server->target(1), HasSubstr("resourceVersion=6&"));
  EXPECT_THAT(server->target(2), HasSubstr("resourceVersion=6&"));
  EXPECT_THAT(server->target(3), HasSubstr("resourceVersion=20&"));
}

TEST_F(ChangesTest, AfterGoneOnlyTheDifferenceIsTold) {
  server
      ->then_pieces({event("ADDED", object("same", 1)), event("ADDED", object("old", 2)),
                     event("ADDED", object("changed", 3)), event("ADDED", object("remade", 4)), initial_end(5), gone()},
                    kStay)
      .then_pieces({event("ADDED", object("same", 1)), event("ADDED", object("changed", 8)),
                    event("ADDED", object("remade", 9, "v")), event("ADDED", object("new", 10)), initial_end(11)},
                   kStay);
  start();
  told.clear();
  finish();
  EXPECT_THAT(told, ElementsAre("Modified changed:8", "Deleted remade", "Added remade:9", "Added new:10", "Deleted old",
                                "Synced"));
}

// The initial list that fails half-way counts for nothing: what it lacked was not deleted.
TEST_F(ChangesTest, ARelistThatFailsHalfWayDeletesNothing) {
  server->then_pieces({event("ADDED", object("a", 1)), event("ADDED", object("b", 2)), initial_end(5), gone()}, kStay)
      .then_pieces({event("ADDED", object("a", 1))}, kBreak)
      .then_pieces({event("ADDED", object("b", 2)), initial_end(11)}, kStay);
  start();
  told.clear();
  finish();
  EXPECT_THAT(told, ElementsAre("Failed", "Deleted a", "Synced"));
}

TEST_F(ChangesTest, BadObjectsAndLinesAreToldAndStopNothing) {
  server->then_pieces({initial_end(5), "what?\n", event("ADDED", object("a", 6))}, kStay)
      .then_pieces({event("ADDED", object("a", 6))}, kStay);
  start();
  finish();
  EXPECT_THAT(told, ElementsAre("Synced", "Failed", "Added a:6"));
}

TEST_F(ChangesTest, ForbiddenIsRetriedWithPatience) {
  server->then(403, status_json(403, "Forbidden", "no"))
      .then(403, status_json(403, "Forbidden", "no"))
      .then_pieces({initial_end(5)}, kStay);
  start();
  finish();
  EXPECT_THAT(told, ElementsAre("Failed", "Failed", "Synced"));
  EXPECT_GE(loop.now().time_since_epoch(), 1s);
}

TEST(WatcherTest, FiveEventsForAStore) {
  rt::Loop loop(rt::ClockMode::Manual);
  const auto server = std::make_shared<FakeServer>();
  server->then_pieces({event("ADDED", object("a", 1)), initial_end(5), event("MODIFIED", object("a", 6)),
                       event("DELETED", object("a", 7))},
                      kStay);
  Watcher<json::Value> watcher(Client(server).of(kWidgets));
  std::vector<StoreEventType> types;
  for (int i = 0; i < 5; ++i) types.push_back(loop.run(watcher.next()).type);
  EXPECT_THAT(types, ElementsAre(StoreEventType::Init, StoreEventType::InitApply, StoreEventType::InitDone,
                                 StoreEventType::Apply, StoreEventType::Delete));
}

}  // namespace
}  // namespace kopper::client
