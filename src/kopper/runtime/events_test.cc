#include "kopper/runtime/events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/api/names.h"
#include "kopper/client/fake_server.h"
#include "kopper/json/value.h"

namespace kopper::runtime {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

struct EventsTest : testing::Test {
  static EventOptions options(metrics::Registry* metrics) {
    EventOptions made;
    made.controller = "memcached-controller";
    made.instance = "operator-1";
    made.queue = 3;
    made.metrics = metrics;
    return made;
  }
  Pod pod(std::string name = "web") const {
    Pod made;
    made.metadata.name = std::move(name);
    made.metadata.namespace_ = "demo";
    made.metadata.uid = "u-1";
    return made;
  }
  json::Value body(std::size_t index) { return *json::parse(server->seen.at(index).body); }

  rt::Loop loop{rt::ClockMode::Manual};
  std::shared_ptr<client::FakeServer> server = std::make_shared<client::FakeServer>();
  metrics::Registry metrics;
  EventRecorder recorder{client::Client(server, client::ClientOptions{.max_retries = 0}), options(&metrics)};
};

TEST_F(EventsTest, IsWrittenInTheNewForm) {
  server->then(201, "{}");
  auto note = EventNote{.type = EventType::Warning, .reason = "Failed", .message = "no room", .action = "Schedule"};
  note.related = reference_to(pod("other"));
  recorder.record(pod(), note);
  EXPECT_TRUE(server->seen.empty()) << "not before the loop turns";
  loop.poll();
  EXPECT_EQ(server->seen.at(0).method, "POST");
  EXPECT_THAT(server->target(0), HasSubstr("/apis/events.k8s.io/v1/namespaces/demo/events"));
  const auto event = body(0);
  EXPECT_EQ(event.text("type"), "Warning");
  EXPECT_EQ(event.text("reason"), "Failed");
  EXPECT_EQ(event.text("note"), "no room");
  EXPECT_EQ(event.text("action"), "Schedule");
  EXPECT_EQ(event.text("reportingController"), "memcached-controller");
  EXPECT_EQ(event.text("reportingInstance"), "operator-1");
  EXPECT_EQ(event.text("eventTime"), "2026-01-01T00:00:00.000000Z");
  EXPECT_EQ(event["regarding"].text("uid"), "u-1");
  EXPECT_EQ(event["regarding"].text("apiVersion"), "v1");
  EXPECT_EQ(event["related"].text("name"), "other");
  EXPECT_THAT(metrics.text(), HasSubstr("kopper_events_total{result=\"written\"} 1\n"));
}

TEST_F(EventsTest, ASeriesIsPatched) {
  server->then(201, "{}").then(200, "{}");
  recorder.record(pod(), {.reason = "Scaled", .message = "to 3"});
  loop.poll();
  recorder.record(pod(), {.reason = "Scaled", .message = "to 3"});
  loop.poll();
  EXPECT_EQ(server->seen.at(1).method, "PATCH");
  EXPECT_EQ(server->seen.at(1).body, R"({"series":{"count":2,"lastObservedTime":"2026-01-01T00:00:00.000000Z"}})");
  EXPECT_THAT(server->target(1), HasSubstr("/" + std::string(body(0)["metadata"].text("name"))));
}

TEST_F(EventsTest, TheEndOfASeriesIsWritten) {
  server->then(201, "{}").then(200, "{}").then(200, "{}");
  for (int i = 0; i < 3; ++i) {
    recorder.record(pod(), {.reason = "Scaled"});
    loop.poll();
  }
  EXPECT_EQ(server->seen.size(), 2U);
  loop.advance(7min);
  ASSERT_EQ(server->seen.size(), 3U);
  EXPECT_EQ(body(2)["series"]["count"], json::Value(3));
}

TEST_F(EventsTest, AnExpiredEventIsMadeAgain) {
  server->then(201, "{}").then(404, client::status_json(404, "NotFound", "gone")).then(201, "{}");
  recorder.record(pod(), {.reason = "Scaled"});
  loop.poll();
  recorder.record(pod(), {.reason = "Scaled"});
  loop.poll();
  EXPECT_EQ(server->seen.at(2).method, "POST");
  EXPECT_EQ(body(2)["series"]["count"], json::Value(2));
}

TEST_F(EventsTest, AnOldServerGetsTheOldForm) {
  server->then(404, "404 page not found").then(201, "{}").then(200, "{}");
  recorder.record(pod(), {.reason = "Scaled", .message = "to 3"});
  loop.poll();
  EXPECT_THAT(server->target(1), HasSubstr("/api/v1/namespaces/demo/events"));
  const auto event = body(1);
  EXPECT_EQ(event["involvedObject"].text("name"), "web");
  EXPECT_EQ(event.text("message"), "to 3");
  EXPECT_EQ(event["count"], json::Value(1));
  EXPECT_EQ(event.text("firstTimestamp"), "2026-01-01T00:00:00Z");
  EXPECT_EQ(event["source"].text("component"), "memcached-controller");
  EXPECT_TRUE(event["eventTime"].is_null());
  loop.advance(5s);
  recorder.record(pod(), {.reason = "Scaled", .message = "to 3"});
  loop.poll();
  EXPECT_EQ(server->seen.at(2).body, R"({"count":2,"lastTimestamp":"2026-01-01T00:00:05Z"})");
}

TEST_F(EventsTest, ClusterScopedObjectsUseTheDefaultNamespace) {
  server->then(201, "{}");
  Namespace space;
  space.metadata.name = "demo";
  recorder.record(space, {.reason = "Seen"});
  loop.poll();
  EXPECT_THAT(server->target(0), HasSubstr("/namespaces/default/events"));
}

TEST_F(EventsTest, LengthsAreCut) {
  server->then(201, "{}");
  std::string message = "x";
  for (int i = 0; i < 600; ++i) message += "ä";  // two bytes each: the limit is inside one
  recorder.record(pod(), {.reason = std::string(500, 'R'), .message = message});
  loop.poll();
  EXPECT_EQ(body(0).text("note").size(), 1023U);
  EXPECT_EQ(body(0).text("reason").size(), 128U);
  EXPECT_EQ(body(0).text("action").size(), 128U);
}

TEST_F(EventsTest, IsRetriedInTheBackground) {
  server->then_unreachable().then_unreachable().then(201, "{}");
  recorder.record(pod(), {.reason = "Scaled"});
  loop.advance(5s);
  EXPECT_EQ(server->seen.size(), 3U);
  EXPECT_TRUE(server->done());
}

TEST_F(EventsTest, WhatIsRefusedIsDropped) {
  server->then(403, client::status_json(403, "Forbidden", "no")).then(201, "{}");
  recorder.record(pod("a"), {.reason = "Scaled"});
  recorder.record(pod("b"), {.reason = "Scaled"});
  loop.poll();
  EXPECT_TRUE(server->done());
  EXPECT_THAT(metrics.text(), HasSubstr("kopper_events_total{result=\"failed\"} 1\n"));
}

TEST_F(EventsTest, AFullQueueDrops) {
  server->then_unreachable();
  recorder.record(pod("first"), {.reason = "Scaled"});
  loop.poll();  // it is being retried
  for (int i = 0; i < 10; ++i) recorder.record(pod("pod" + std::to_string(i)), {.reason = "Scaled"});
  EXPECT_EQ(recorder.pending(), 3U);
  EXPECT_THAT(metrics.text(), HasSubstr("kopper_events_total{result=\"dropped\"} 7\n"));
}

TEST_F(EventsTest, StoppingWritesWhatIsLeft) {
  server->then(201, "{}").then(200, "{}").then(201, "{}").then(200, "{}");
  for (int i = 0; i < 3; ++i) {
    recorder.record(pod(), {.reason = "Scaled"});
    loop.poll();
  }
  recorder.record(pod("other"), {.reason = "Scaled"});
  loop.run(recorder.stop());
  EXPECT_TRUE(server->done());
  EXPECT_EQ(body(3)["series"]["count"], json::Value(3));
  recorder.record(pod("late"), {.reason = "Scaled"});
  loop.run(recorder.stop());
  EXPECT_EQ(server->seen.size(), 4U);
}

TEST_F(EventsTest, StoppingHasALimit) {
  server->then_unreachable().then_unreachable().then_unreachable().then_unreachable();
  recorder.record(pod(), {.reason = "Scaled"});
  rt::Scope scope;
  scope.spawn(recorder.stop(2s));
  loop.advance(2s);
  EXPECT_TRUE(scope.empty());
}

}  // namespace
}  // namespace kopper::runtime
