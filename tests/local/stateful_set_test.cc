// StatefulSets on a whole cluster in this process: the controllers of workloads, and a node that the test plays.
#include "kopper/workloads/stateful_set.h"

#include <algorithm>
#include <chrono>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/api/names.h"
#include "kopper/testing/cluster.h"

#include "playing_node.h"

namespace kopper::testing {
namespace {

using namespace std::chrono_literals;
using api::appsv1::ControllerRevision;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct StatefulSets : ::testing::Test {
  void apply(std::int32_t replicas, std::string_view image, std::string_view more = "") {
    cluster.apply(fmt::format(R"(
apiVersion: apps/v1
kind: StatefulSet
metadata: {{name: web}}
spec:
  replicas: {}
  serviceName: web
  selector: {{matchLabels: {{app: web}}}}
  {}
  template:
    metadata: {{labels: {{app: web}}}}
    spec: {{containers: [{{name: main, image: {}, volumeMounts: [{{name: data, mountPath: /data}}]}}]}}
  volumeClaimTemplates:
  - metadata: {{name: data}}
    spec: {{accessModes: [ReadWriteOnce], resources: {{requests: {{storage: 1Gi}}}}}}
)",
                              replicas, more, image));
  }
  StatefulSet until_rolled_out(std::int32_t replicas) {
    return cluster.until<StatefulSet>("web", [&](const StatefulSet& it) {
      const auto& s = it.status;
      return s.observedGeneration == it.metadata.generation && s.updatedReplicas == replicas &&
             s.replicas == replicas && s.availableReplicas == replicas && s.currentRevision == s.updateRevision;
    });
  }
  // name=image of pods that stay.
  std::vector<std::string> pods() {
    std::vector<std::string> all;
    for (const auto& pod : cluster.list<Pod>()) {
      if (!api::is_deleting(pod)) all.push_back(pod.metadata.name + "=" + pod.spec.containers[0].image);
    }
    return all;
  }
  std::vector<std::string> claims() {
    std::vector<std::string> all;
    for (const auto& claim : cluster.list<PersistentVolumeClaim>()) {
      // Nobody else plays the controller that lets claims go.
      if (api::is_deleting(claim)) {
        cluster.modify<PersistentVolumeClaim>(claim.metadata.name,
                                              [](PersistentVolumeClaim& it) { it.metadata.finalizers.clear(); });
      } else {
        all.push_back(claim.metadata.name);
      }
    }
    return all;
  }

  Cluster cluster{workloads::stateful_set(), playing_node()};
};

TEST_F(StatefulSets, BecomePodsWithClaims) {
  apply(3, "v1");
  const auto set = until_rolled_out(3);
  EXPECT_THAT(pods(), ElementsAre("web-0=v1", "web-1=v1", "web-2=v1"));
  EXPECT_THAT(claims(), ElementsAre("data-web-0", "data-web-1", "data-web-2"));
  const auto pod = cluster.get<Pod>("web-1");
  EXPECT_EQ(pod.metadata.labels.at("controller-revision-hash"), set.status.updateRevision);
  EXPECT_EQ(pod.spec.volumes[0].persistentVolumeClaim->claimName, "data-web-1");
  EXPECT_EQ(cluster.get<PersistentVolumeClaim>("data-web-1").metadata.labels.at("app"), "web");
  cluster.settle();
  (void)cluster.writes();
  cluster.advance(11h);
  EXPECT_THAT(cluster.writes(), IsEmpty());
}

TEST_F(StatefulSets, ADeletedPodComesBackOnItsClaim) {
  apply(2, "v1");
  until_rolled_out(2);
  const auto uid = cluster.get<PersistentVolumeClaim>("data-web-0").metadata.uid;
  const auto before = cluster.get<Pod>("web-0").metadata.uid;
  cluster.remove<Pod>("web-0");
  cluster.until<Pod>("web-0", [&](const Pod& it) { return it.metadata.uid != before && api::is_ready(it); });
  EXPECT_EQ(cluster.get<PersistentVolumeClaim>("data-web-0").metadata.uid, uid);
}

TEST_F(StatefulSets, RollOutAndBack) {
  apply(3, "v1");
  const auto first = until_rolled_out(3).status.updateRevision;
  apply(3, "v2");
  until_rolled_out(3);
  EXPECT_THAT(pods(), ElementsAre("web-0=v2", "web-1=v2", "web-2=v2"));
  EXPECT_EQ(cluster.list<ControllerRevision>().size(), 2U);
  apply(3, "v1");
  EXPECT_EQ(until_rolled_out(3).status.updateRevision, first);
  EXPECT_EQ(cluster.list<ControllerRevision>().size(), 2U) << "it was taken up again";
  EXPECT_EQ(cluster.get<ControllerRevision>(first).revision, 3);
}

TEST_F(StatefulSets, HistoryIsKeptUpToItsLimit) {
  for (const auto* image : {"v1", "v2", "v3", "v4"}) {
    apply(1, image, "revisionHistoryLimit: 1");
    until_rolled_out(1);
  }
  cluster.until("two are left", [&] { return cluster.list<ControllerRevision>().size() == 2; });
}

TEST_F(StatefulSets, OnlyAPartIsUpdated) {
  apply(3, "v1");
  const auto first = until_rolled_out(3).status.currentRevision;
  apply(3, "v2", "updateStrategy: {rollingUpdate: {partition: 2}}");
  const auto set = cluster.until<StatefulSet>(
      "web", [](const StatefulSet& it) { return it.status.updatedReplicas == 1 && it.status.readyReplicas == 3; });
  EXPECT_EQ(set.status.currentRevision, first);
  EXPECT_EQ(set.status.currentReplicas, 2);
  EXPECT_THAT(pods(), ElementsAre("web-0=v1", "web-1=v1", "web-2=v2"));
  cluster.remove<Pod>("web-0");
  cluster.until("it is there again", [&] { return pods().size() == 3; });
  EXPECT_THAT(pods(), ElementsAre("web-0=v1", "web-1=v1", "web-2=v2")) << "of the current revision";
}

TEST_F(StatefulSets, OnDeleteUpdatesNothingByItself) {
  apply(2, "v1", "updateStrategy: {type: OnDelete}");
  cluster.until("both are there", [&] { return pods().size() == 2; });
  apply(2, "v2", "updateStrategy: {type: OnDelete}");
  cluster.advance(1min);
  EXPECT_THAT(pods(), ElementsAre("web-0=v1", "web-1=v1"));
  cluster.remove<Pod>("web-1");
  cluster.until("it is there again", [&] { return pods().size() == 2; });
  EXPECT_THAT(pods(), ElementsAre("web-0=v1", "web-1=v2"));
}

TEST_F(StatefulSets, AnOrderedOneStopsAtWhatDoesNotStart) {
  apply(2, "v1");
  until_rolled_out(2);
  apply(2, "broken");
  cluster.until("the last is replaced", [&] { return pods() == std::vector<std::string>{"web-0=v1", "web-1=broken"}; });
  apply(2, "v2");
  cluster.advance(1min);
  EXPECT_THAT(pods(), ElementsAre("web-0=v1", "web-1=broken")) << "as on a real cluster";
  cluster.remove<Pod>("web-1");
  until_rolled_out(2);
}

TEST_F(StatefulSets, AParallelOneMendsItself) {
  apply(2, "v1", "podManagementPolicy: Parallel");
  until_rolled_out(2);
  apply(2, "broken", "podManagementPolicy: Parallel");
  cluster.until("the last is replaced", [&] { return pods() == std::vector<std::string>{"web-0=v1", "web-1=broken"}; });
  apply(2, "v2", "podManagementPolicy: Parallel");
  until_rolled_out(2);
}

TEST_F(StatefulSets, ReplaceFailedPods) {
  apply(1, "v1");
  until_rolled_out(1);
  const auto before = cluster.get<Pod>("web-0").metadata.uid;
  cluster.set_status<Pod>("web-0", [](Pod& it) { it.status.phase = "Failed"; });
  cluster.until<Pod>("web-0", [&](const Pod& it) { return it.metadata.uid != before && api::is_ready(it); });
}

TEST_F(StatefulSets, ClaimsAreKeptOrGoAsThePolicySays) {
  apply(3, "v1");
  until_rolled_out(3);
  apply(1, "v1");
  until_rolled_out(1);
  EXPECT_EQ(claims().size(), 3U) << "kept";
  apply(3, "v1", "persistentVolumeClaimRetentionPolicy: {whenScaled: Delete, whenDeleted: Delete}");
  until_rolled_out(3);
  const auto before = cluster.get<PersistentVolumeClaim>("data-web-2").metadata.uid;
  apply(2, "v1", "persistentVolumeClaimRetentionPolicy: {whenScaled: Delete, whenDeleted: Delete}");
  until_rolled_out(2);
  cluster.until("the claim is gone", [&] { return claims() == std::vector<std::string>{"data-web-0", "data-web-1"}; });
  apply(3, "v1", "persistentVolumeClaimRetentionPolicy: {whenScaled: Delete, whenDeleted: Delete}");
  until_rolled_out(3);
  EXPECT_NE(cluster.get<PersistentVolumeClaim>("data-web-2").metadata.uid, before) << "a new one";
  cluster.remove<StatefulSet>("web");
  cluster.until("all is gone", [&] { return claims().empty() && pods().empty(); });
}

TEST_F(StatefulSets, TakeOverOnlyWhatIsTheirs) {
  apply(2, "v1");
  until_rolled_out(2);
  const auto uid = cluster.get<Pod>("web-1").metadata.uid;
  client::DeleteOptions orphan;
  orphan.propagation = client::Propagation::Orphan;
  cluster.remove<StatefulSet>("web", orphan);
  cluster.until("it is gone", [&] { return cluster.list<StatefulSet>().empty(); });
  cluster.apply(
      "{apiVersion: v1, kind: Pod, metadata: {name: stray, labels: {app: web}}, spec: {containers: [{name: main, "
      "image: "
      "x}]}}");
  apply(2, "v1");
  until_rolled_out(2);
  EXPECT_EQ(cluster.get<Pod>("web-1").metadata.uid, uid);
  EXPECT_TRUE(cluster.get<Pod>("stray").metadata.ownerReferences.empty());
  cluster.modify<Pod>("web-1", [](Pod& it) { it.metadata.labels["app"] = "else"; });
  cluster.until<Pod>("web-1", [](const Pod& it) { return it.metadata.ownerReferences.empty(); });
}

TEST_F(StatefulSets, TheSameAfterARestartInTheMiddle) {
  apply(4, "v1", "podManagementPolicy: Parallel");
  for (int i = 0; i < 4; ++i) {
    cluster.restart();
    cluster.advance(1ms);
  }
  until_rolled_out(4);
  apply(4, "v2", "podManagementPolicy: Parallel");
  for (int i = 0; i < 6; ++i) {
    cluster.restart();
    cluster.advance(1ms);
  }
  until_rolled_out(4);
  EXPECT_EQ(claims().size(), 4U);
  EXPECT_EQ(cluster.list<ControllerRevision>().size(), 2U);
}

}  // namespace
}  // namespace kopper::testing
