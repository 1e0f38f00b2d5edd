// Events as people see them: kubectl get and describe.
#include "kopper/runtime/events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/api/gen/events_v1.h"

#include "real/connect.h"

namespace kopper::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

struct Events : Real {
  Output kubectl(std::vector<std::string> args) {
    args.insert(args.end(), {"-n", ns});
    return cluster().kubectl(std::move(args));
  }
  client::List<api::eventsv1::Event> events() {
    return run(client.of<api::eventsv1::Event>().list({.namespace_ = ns}));
  }
  std::unique_ptr<runtime::EventRecorder> recorder(client::Client with) {
    runtime::EventOptions options;
    options.controller = "suite.example.com/events";
    options.instance = "suite-1";
    return std::make_unique<runtime::EventRecorder>(std::move(with), std::move(options));
  }
};

TEST_F(Events, AreSeenAndCountUp) {
  const auto about = run(client.of<ConfigMap>().create(config_map("settings")));
  const auto other = run(client.of<ConfigMap>().create(config_map("other")));
  const auto events_recorder = recorder(client);
  runtime::EventNote note{.type = runtime::EventType::Warning, .reason = "Refused", .message = "no such colour"};
  note.related = runtime::reference_to(other);
  for (int i = 0; i < 5; ++i) events_recorder->record(about, note);
  events_recorder->record(about, {.reason = "Painted", .message = "blue", .action = "Paint"});
  run(events_recorder->stop());

  const auto seen = events();
  ASSERT_EQ(seen.items.size(), 2U);
  for (const auto& event : seen.items) {
    EXPECT_EQ(event.reportingController, "suite.example.com/events");
    EXPECT_EQ(event.regarding.uid, about.metadata.uid);
    if (event.reason != "Refused") continue;
    ASSERT_TRUE(event.series);
    EXPECT_EQ(event.series->count, 5);
    EXPECT_EQ(event.related->name, "other");
  }
  EXPECT_THAT(kubectl({"get", "events"}).out, ContainsRegex("Warning +Refused +configmap/settings +no such colour"));
  const auto described = kubectl({"describe", "configmap", "settings"}).out;
  EXPECT_THAT(described, ContainsRegex("Normal +Painted .*suite.example.com/events.* blue"));
  // The kubectl of Debian 12 does not know of series, and shows no count.
  const bool counts = !kubectl({"version", "--client", "-o", "json"}).out.contains("\"v1.20.");
  EXPECT_THAT(described,
              ContainsRegex(counts ? "Warning +Refused .*x5.*no such colour" : "Warning +Refused .*no such colour"));
}

TEST_F(Events, ASeriesGoesOnFromWriteToWrite) {
  const auto about = run(client.of<ConfigMap>().create(config_map("settings")));
  const auto events_recorder = recorder(client);
  for (int i = 1; i <= 4; ++i) {
    events_recorder->record(about, {.reason = "Again", .message = "and again"});
    while (events_recorder->pending() > 0) run(rt::sleep(10ms));
  }
  run(events_recorder->stop());
  ASSERT_EQ(events().items.size(), 1U);
  EXPECT_EQ(events().items[0].series->count, 4);
}

TEST_F(Events, OfClusterScopedAndOddlyNamedObjects) {
  const auto events_recorder = recorder(client);
  Namespace about = run(client.of<Namespace>().get(Key("", ns)));
  events_recorder->record(about, {.reason = "Seen", .message = ns});
  api::corev1::ObjectReference role;
  role.apiVersion = "rbac.authorization.k8s.io/v1";
  role.kind = "ClusterRole";
  role.name = "system:node";
  events_recorder->record(role, {.reason = "Seen", .message = ns});
  run(events_recorder->stop());
  const auto listed = cluster().kubectl({"get", "events", "-n", "default"}).out;
  EXPECT_THAT(listed, HasSubstr("namespace/" + ns));
  EXPECT_THAT(listed, HasSubstr("clusterrole/system:node"));
}

// A server of 1.18 and before has no events.k8s.io/v1.
class OldServer final : public http::Handler {
 public:
  explicit OldServer(std::shared_ptr<http::Handler> inner) : inner_(std::move(inner)) {}
  Task<http::Response> handle(http::Request request) override {
    if (request.target.starts_with("/apis/events.k8s.io/")) co_return http::text_response(404, "404 page not found\n");
    co_return co_await inner_->handle(std::move(request));
  }

 private:
  std::shared_ptr<http::Handler> inner_;
};

TEST_F(Events, OfOldServersAreCoreV1) {
  const auto about = run(client.of<ConfigMap>().create(config_map("settings")));
  const auto events_recorder = recorder(client::Client(std::make_shared<OldServer>(wire)));
  for (int i = 0; i < 3; ++i) events_recorder->record(about, {.reason = "Old", .message = "but good"});
  run(events_recorder->stop());
  const auto described = kubectl({"describe", "configmap", "settings"}).out;
  EXPECT_THAT(described, ContainsRegex("Normal +Old .*x3.*suite.example.com/events.* but good"));
}

}  // namespace
}  // namespace kopper::testing
