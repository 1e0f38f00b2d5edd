// Deployments on a whole cluster in this process: the controllers of workloads, and a node that the test plays.
#include "kopper/workloads/deployment.h"

#include <algorithm>
#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/api/names.h"
#include "kopper/testing/cluster.h"
#include "kopper/workloads/replica_set.h"

#include "playing_node.h"

namespace kopper::testing {
namespace {

using namespace std::chrono_literals;
using api::appsv1::ReplicaSet;

struct Deployments : ::testing::Test {
  void apply(std::int32_t replicas, std::string_view image, std::string_view more = "") {
    cluster.apply(fmt::format(R"(
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web}}
spec:
  replicas: {}
  selector: {{matchLabels: {{app: web}}}}
  {}
  template:
    metadata: {{labels: {{app: web}}}}
    spec: {{containers: [{{name: main, image: {}}}]}}
)",
                              replicas, more, image));
  }
  void until_rolled_out(std::int32_t replicas) {
    cluster.until<Deployment>("web", [&](const Deployment& it) {
      const auto& s = it.status;
      return s.observedGeneration == it.metadata.generation && s.updatedReplicas == replicas &&
             s.replicas == replicas && s.availableReplicas == replicas;
    });
  }
  std::vector<std::string> images() {
    std::vector<std::string> all;
    for (const auto& pod : cluster.list<Pod>()) {
      if (api::is_active(pod)) all.push_back(pod.spec.containers[0].image);
    }
    std::ranges::sort(all);
    return all;
  }
  std::string revision() {
    return cluster.get<Deployment>("web").metadata.annotations["deployment.kubernetes.io/revision"];
  }

  Cluster cluster{workloads::deployment(), workloads::replica_set(), playing_node()};
};

TEST_F(Deployments, BecomePods) {
  apply(3, "v1");
  until_rolled_out(3);
  EXPECT_EQ(images(), (std::vector<std::string>{"v1", "v1", "v1"}));
  EXPECT_EQ(revision(), "1");
  cluster.settle();
  (void)cluster.writes();
  cluster.advance(11h);
  EXPECT_THAT(cluster.writes(), ::testing::IsEmpty());
}

TEST_F(Deployments, RollOutAndBack) {
  apply(4, "v1");
  until_rolled_out(4);
  apply(4, "v2");
  until_rolled_out(4);
  EXPECT_EQ(images(), (std::vector<std::string>{"v2", "v2", "v2", "v2"}));
  EXPECT_EQ(revision(), "2");
  EXPECT_EQ(cluster.list<ReplicaSet>().size(), 2U) << "the old one is kept to go back to";
  apply(4, "v1");
  until_rolled_out(4);
  EXPECT_EQ(images(), (std::vector<std::string>{"v1", "v1", "v1", "v1"}));
  EXPECT_EQ(revision(), "3");
  EXPECT_EQ(cluster.list<ReplicaSet>().size(), 2U) << "it was taken up again";
}

TEST_F(Deployments, StopAtATemplateThatDoesNotStart) {
  apply(4, "v1", "progressDeadlineSeconds: 60");
  until_rolled_out(4);
  apply(4, "broken", "progressDeadlineSeconds: 60");
  cluster.until<Deployment>("web", [](const Deployment& it) {
    return std::ranges::any_of(it.status.conditions, [](const auto& one) {
      return one.type == "Progressing" && one.status == "False" && one.reason == "ProgressDeadlineExceeded";
    });
  });
  EXPECT_EQ(std::ranges::count(images(), "v1"), 3) << "one of four may be missed, and no more";
  apply(4, "v2", "progressDeadlineSeconds: 60");
  until_rolled_out(4);
}

TEST_F(Deployments, ScaleWhileTheyRun) {
  apply(2, "v1");
  until_rolled_out(2);
  cluster.run(cluster.client().of<Deployment>().set_scale({"default", "web"}, 7));
  until_rolled_out(7);
  cluster.run(cluster.client().of<Deployment>().set_scale({"default", "web"}, 0));
  until_rolled_out(0);
}

TEST_F(Deployments, PausedOnesOnlyScale) {
  apply(2, "v1");
  until_rolled_out(2);
  apply(2, "v2", "paused: true");
  cluster.settle();
  EXPECT_EQ(images(), (std::vector<std::string>{"v1", "v1"}));
  apply(3, "v2", "paused: true");
  cluster.until("a third", [&] { return images().size() == 3; });
  EXPECT_EQ(images(), (std::vector<std::string>{"v1", "v1", "v1"}));
  apply(3, "v2", "paused: false");
  until_rolled_out(3);
  EXPECT_EQ(images(), (std::vector<std::string>{"v2", "v2", "v2"}));
}

TEST_F(Deployments, RecreateNeverHasBoth) {
  apply(3, "v1", "strategy: {type: Recreate}");
  until_rolled_out(3);
  apply(3, "v2", "strategy: {type: Recreate}");
  until_rolled_out(3);
  EXPECT_EQ(images(), (std::vector<std::string>{"v2", "v2", "v2"}));
}

TEST_F(Deployments, TheSameAfterARestartInTheMiddle) {
  apply(8, "v1");
  until_rolled_out(8);
  apply(8, "v2");
  for (int i = 0; i < 6; ++i) {
    cluster.restart();
    cluster.advance(1ms);
  }
  until_rolled_out(8);
  EXPECT_EQ(std::ranges::count(images(), "v2"), 8);
}

TEST_F(Deployments, GoWithAllTheyMade) {
  apply(3, "v1");
  until_rolled_out(3);
  cluster.remove<Deployment>("web");
  cluster.until("nothing is left", [&] { return cluster.list<ReplicaSet>().empty() && images().empty(); });
}

}  // namespace
}  // namespace kopper::testing
