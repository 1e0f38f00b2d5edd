// The scheduler on a whole cluster in this process.
#include "kopper/workloads/scheduler.h"

#include <chrono>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/api/names.h"
#include "kopper/testing/cluster.h"

namespace kopper::testing {
namespace {

using namespace std::chrono_literals;
using api::corev1::Node;

struct Scheduling : ::testing::Test {
  void add_node(const std::string& name, std::string_view cpu = "4") {
    cluster.apply(fmt::format(
        "{{apiVersion: v1, kind: Node, metadata: {{name: {0}, labels: {{kubernetes.io/hostname: {0}}}}}}}", name));
    // A new node is not ready; nobody says here that it is.
    cluster.modify<Node>(name, [](Node& it) { it.spec.taints.clear(); });
    cluster.set_status<Node>(name, [&](Node& it) {
      it.status.capacity = it.status.allocatable = {{"cpu", std::string(cpu)}, {"memory", "8Gi"}, {"pods", 110}};
    });
  }
  void add_pod(const std::string& name, std::string_view spec = "") {
    cluster.apply(
        fmt::format("{{apiVersion: v1, kind: Pod, metadata: {{name: {}, labels: {{app: web}}}}, spec: {{{} "
                    "containers: [{{name: main, image: x, resources: {{requests: {{cpu: 1}}}}}}]}}}}",
                    name, spec));
  }
  std::map<std::string, int> pods_on_nodes() {
    std::map<std::string, int> counts;
    for (const auto& pod : cluster.list<Pod>()) ++counts[pod.spec.nodeName];
    return counts;
  }

  Cluster cluster{workloads::scheduler()};
};

TEST_F(Scheduling, SpreadsManyAtOnceAndNeverTooMany) {
  for (const auto* name : {"a", "b", "c"}) add_node(name);
  for (int i = 0; i < 15; ++i) add_pod(fmt::format("pod-{}", i));
  cluster.until("12 are placed", [&] { return pods_on_nodes()[""] == 3; });
  cluster.advance(1min);
  EXPECT_EQ(pods_on_nodes(), (std::map<std::string, int>{{"", 3}, {"a", 4}, {"b", 4}, {"c", 4}}));
}

TEST_F(Scheduling, SaysWhyAndGoesOnWhenThereIsRoom) {
  add_pod("web");
  const auto waiting = cluster.until<Pod>("web", [](const Pod& it) { return !it.status.conditions.empty(); });
  EXPECT_EQ(waiting.status.conditions[0].reason, "Unschedulable");
  EXPECT_EQ(waiting.status.conditions[0].message, "0/0 nodes are available.");
  add_node("small", "500m");
  cluster.until<Pod>("web", [](const Pod& it) {
    return it.status.conditions[0].message == "0/1 nodes are available: 1 Insufficient cpu.";
  });
  add_node("large");
  cluster.until<Pod>("web", [](const Pod& it) { return it.spec.nodeName == "large"; });
}

TEST_F(Scheduling, TakesTheRoomOfAPodThatWent) {
  add_node("a", "1");
  add_pod("first");
  cluster.until<Pod>("first", [](const Pod& it) { return it.spec.nodeName == "a"; });
  add_pod("second");
  cluster.until<Pod>("second", [](const Pod& it) { return !it.status.conditions.empty(); });
  client::DeleteOptions now;
  now.grace_period_seconds = 0;
  cluster.remove<Pod>("first", now);
  cluster.until<Pod>("second", [](const Pod& it) { return it.spec.nodeName == "a"; });
}

TEST_F(Scheduling, LeavesPodsOfOthersAlone) {
  add_node("a");
  add_pod("theirs", "schedulerName: other,");
  add_pod("gated", "schedulingGates: [{name: example.com/wait}],");
  add_pod("ours");
  cluster.until<Pod>("ours", [](const Pod& it) { return it.spec.nodeName == "a"; });
  cluster.advance(1min);
  EXPECT_EQ(cluster.get<Pod>("theirs").spec.nodeName, "");
  EXPECT_EQ(cluster.get<Pod>("gated").spec.nodeName, "");
}

}  // namespace
}  // namespace kopper::testing
