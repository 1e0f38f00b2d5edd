// DaemonSets on a whole cluster in this process: with the scheduler, and a node agent that the test plays.
#include "kopper/workloads/daemon_set.h"

#include <algorithm>
#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/api/names.h"
#include "kopper/testing/cluster.h"
#include "kopper/workloads/scheduler.h"

#include "playing_node.h"

namespace kopper::testing {
namespace {

using namespace std::chrono_literals;
using api::appsv1::ControllerRevision;
using api::corev1::Node;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct DaemonSets : ::testing::Test {
  void add_node(const std::string& name) {
    cluster.apply(fmt::format(
        "{{apiVersion: v1, kind: Node, metadata: {{name: {0}, labels: {{kubernetes.io/hostname: {0}}}}}}}", name));
    cluster.modify<Node>(name, [](Node& it) { it.spec.taints.clear(); });
    cluster.set_status<Node>(name, [](Node& it) {
      it.status.capacity = it.status.allocatable = {{"cpu", 4}, {"memory", "8Gi"}, {"pods", 110}};
    });
  }
  void apply(std::string_view image, std::string_view more = "") {
    cluster.apply(fmt::format(R"(
apiVersion: apps/v1
kind: DaemonSet
metadata: {{name: agent}}
spec:
  selector: {{matchLabels: {{app: agent}}}}
  {}
  template:
    metadata: {{labels: {{app: agent}}}}
    spec: {{terminationGracePeriodSeconds: 0, containers: [{{name: main, image: {}}}]}}
)",
                              more, image));
  }
  DaemonSet until_rolled_out(std::int32_t nodes) {
    return cluster.until<DaemonSet>("agent", [&](const DaemonSet& it) {
      const auto& s = it.status;
      return s.observedGeneration == it.metadata.generation && s.desiredNumberScheduled == nodes &&
             s.updatedNumberScheduled == nodes && s.numberAvailable == nodes && s.currentNumberScheduled == nodes;
    });
  }
  // node=image
  std::vector<std::string> pods() {
    std::vector<std::string> all;
    for (const auto& pod : cluster.list<Pod>()) {
      if (!api::is_deleting(pod)) all.push_back(pod.spec.nodeName + "=" + pod.spec.containers[0].image);
    }
    std::ranges::sort(all);
    return all;
  }

  Cluster cluster{workloads::daemon_set(), workloads::scheduler(), playing_node()};
};

TEST_F(DaemonSets, RunOnEachNode) {
  add_node("a");
  add_node("b");
  apply("v1");
  until_rolled_out(2);
  EXPECT_THAT(pods(), ElementsAre("a=v1", "b=v1"));
  add_node("c");
  until_rolled_out(3);
  EXPECT_THAT(pods(), ElementsAre("a=v1", "b=v1", "c=v1"));
  cluster.settle();
  (void)cluster.writes();
  cluster.advance(11h);
  EXPECT_THAT(cluster.writes(), IsEmpty());
}

TEST_F(DaemonSets, FollowLabelsAndTaints) {
  add_node("a");
  add_node("b");
  apply("v1");
  until_rolled_out(2);
  cluster.modify<Node>("b", [](Node& it) { it.spec.taints.push_back({.key = "mine", .effect = "NoExecute"}); });
  until_rolled_out(1);
  EXPECT_THAT(pods(), ElementsAre("a=v1"));
  cluster.modify<Node>("a", [](Node& it) { it.spec.unschedulable = true; });
  cluster.advance(1min);
  EXPECT_THAT(pods(), ElementsAre("a=v1")) << "a cordon does not concern daemons";
}

TEST_F(DaemonSets, RollOutAndBack) {
  for (const auto* name : {"a", "b", "c"}) add_node(name);
  apply("v1");
  until_rolled_out(3);
  apply("v2");
  until_rolled_out(3);
  EXPECT_THAT(pods(), ElementsAre("a=v2", "b=v2", "c=v2"));
  apply("v1");
  until_rolled_out(3);
  EXPECT_THAT(pods(), ElementsAre("a=v1", "b=v1", "c=v1"));
  EXPECT_EQ(cluster.list<ControllerRevision>().size(), 2U);
}

TEST_F(DaemonSets, StopAtATemplateThatDoesNotStartAndGoOnWithOneThatDoes) {
  for (const auto* name : {"a", "b", "c"}) add_node(name);
  apply("v1");
  until_rolled_out(3);
  apply("broken");
  cluster.advance(10min);
  EXPECT_EQ(std::ranges::count_if(pods(), [](const auto& it) { return it.ends_with("=v1"); }), 2);
  apply("v2");
  until_rolled_out(3);
}

TEST_F(DaemonSets, OnDeleteUpdatesNothingByItself) {
  add_node("a");
  add_node("b");
  apply("v1", "updateStrategy: {type: OnDelete}");
  until_rolled_out(2);
  apply("v2", "updateStrategy: {type: OnDelete}");
  cluster.advance(1min);
  EXPECT_THAT(pods(), ElementsAre("a=v1", "b=v1"));
  for (const auto& pod : cluster.list<Pod>()) {
    if (pod.spec.nodeName == "b") cluster.remove<Pod>(pod.metadata.name);
  }
  cluster.until("it is there again", [&] { return pods() == std::vector<std::string>{"a=v1", "b=v2"}; });
}

TEST_F(DaemonSets, TryAgainLaterAndLater) {
  add_node("a");
  apply("fails");
  cluster.advance(2min);
  std::size_t made = 0;
  for (const auto& request : cluster.requests()) {
    if (request.method == "POST" && request.target.find("/pods?") != std::string::npos) ++made;
  }
  EXPECT_GE(made, 5U);
  EXPECT_LE(made, 9U);
}

TEST_F(DaemonSets, TheSameAfterARestartInTheMiddle) {
  for (const auto* name : {"a", "b", "c", "d"}) add_node(name);
  apply("v1");
  for (int i = 0; i < 5; ++i) {
    cluster.restart();
    cluster.advance(1ms);
  }
  until_rolled_out(4);
  EXPECT_EQ(cluster.list<Pod>().size(), 4U);
}

}  // namespace
}  // namespace kopper::testing
