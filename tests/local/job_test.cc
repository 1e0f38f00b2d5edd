// Jobs on a whole cluster in this process, with a node that the test plays.
#include "kopper/workloads/job.h"

#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/api/names.h"
#include "kopper/testing/cluster.h"

#include "playing_node.h"

namespace kopper::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::IsEmpty;

std::vector<runtime::ControllerSpec> with_node(std::vector<runtime::ControllerSpec> all) {
  all.push_back(playing_node());
  return all;
}

struct Jobs : ::testing::Test {
  void apply(std::string_view image, std::string_view spec) {
    cluster.apply(
        fmt::format("{{apiVersion: batch/v1, kind: Job, metadata: {{name: work}}, spec: {{{}, template: {{spec: "
                    "{{restartPolicy: Never, containers: [{{name: main, image: {}}}]}}}}}}}}",
                    spec, image));
  }
  Job until(std::string_view condition) {
    return cluster.until<Job>("work", [&](const Job& it) {
      return std::ranges::any_of(it.status.conditions,
                                 [&](const auto& one) { return one.type == condition && one.status == "True"; });
    });
  }
  bool any_held() {
    return std::ranges::any_of(cluster.list<Pod>(), [](const Pod& it) { return !it.metadata.finalizers.empty(); });
  }

  Cluster cluster{with_node(workloads::job())};
};

TEST_F(Jobs, RunToTheirEnd) {
  apply("done", "completions: 5, parallelism: 2");
  const auto job = until("Complete");
  EXPECT_EQ(job.status.succeeded, 5);
  EXPECT_EQ(job.status.failed, 0);
  EXPECT_EQ(job.status.active, 0);
  EXPECT_TRUE(job.status.completionTime.is_set());
  EXPECT_EQ(cluster.list<Pod>().size(), 5U) << "for those who want to read what they wrote";
  EXPECT_FALSE(any_held());
  cluster.settle();
  (void)cluster.writes();
  cluster.advance(11h);
  EXPECT_THAT(cluster.writes(), IsEmpty());
}

TEST_F(Jobs, GiveUpAfterSomeTries) {
  apply("fails", "backoffLimit: 2");
  const auto job = until("Failed");
  EXPECT_EQ(job.status.failed, 3);
  EXPECT_EQ(job.status.conditions.back().reason, "BackoffLimitExceeded");
  EXPECT_EQ(cluster.list<Pod>().size(), 3U);
}

TEST_F(Jobs, DoEachIndexOnce) {
  apply("done", "completions: 4, parallelism: 4, completionMode: Indexed");
  const auto job = until("Complete");
  EXPECT_EQ(job.status.completedIndexes, "0-3");
  std::set<std::string> indexes;
  for (const auto& pod : cluster.list<Pod>()) {
    indexes.insert(pod.metadata.annotations.at("batch.kubernetes.io/job-completion-index"));
  }
  EXPECT_EQ(indexes, (std::set<std::string>{"0", "1", "2", "3"}));
}

TEST_F(Jobs, CountExactlyOverCrashes) {
  apply("done", "completions: 12, parallelism: 4");
  for (int i = 0; i < 12; ++i) {
    cluster.restart();
    cluster.advance(1ms);
  }
  EXPECT_EQ(until("Complete").status.succeeded, 12);
  EXPECT_EQ(cluster.list<Pod>().size(), 12U);
}

TEST_F(Jobs, StopWhenTimeIsUp) {
  apply("v1", "activeDeadlineSeconds: 60");
  cluster.until<Job>("work", [](const Job& it) { return it.status.ready == 1; });
  const auto job = until("Failed");
  EXPECT_EQ(job.status.conditions.back().reason, "DeadlineExceeded");
  EXPECT_EQ(job.status.failed, 1);
  EXPECT_THAT(cluster.list<Pod>(), IsEmpty());
}

TEST_F(Jobs, AreSuspendedAndResumed) {
  apply("v1", "parallelism: 2, completions: 2, suspend: true");
  until("Suspended");
  cluster.advance(1min);
  EXPECT_THAT(cluster.list<Pod>(), IsEmpty());
  cluster.modify<Job>("work", [](Job& it) { it.spec.suspend = false; });
  cluster.until<Job>("work", [](const Job& it) { return it.status.active == 2; });
  cluster.modify<Job>("work", [](Job& it) { it.spec.suspend = true; });
  cluster.until<Job>("work", [](const Job& it) { return it.status.active == 0; });
  EXPECT_EQ(cluster.get<Job>("work").status.failed, 0);
  EXPECT_THAT(cluster.list<Pod>(), IsEmpty());
}

TEST_F(Jobs, GoWhenTheirTimeToLiveIsOver) {
  apply("done", "ttlSecondsAfterFinished: 100");
  until("Complete");
  cluster.advance(90s);
  ASSERT_TRUE(cluster.find<Job>("work"));
  cluster.until("all is gone", [&] { return cluster.list<Job>().empty() && cluster.list<Pod>().empty(); });
}

TEST_F(Jobs, GoWithTheirPods) {
  apply("v1", "parallelism: 3, completions: 3");
  cluster.until<Job>("work", [](const Job& it) { return it.status.active == 3; });
  client::DeleteOptions all;
  all.propagation = client::Propagation::Background;  // without it pods stay, as on a real cluster
  cluster.remove<Job>("work", all);
  cluster.until("all is gone", [&] { return cluster.list<Job>().empty() && cluster.list<Pod>().empty(); });
}

TEST_F(Jobs, LetGoOfPodsThatOutliveThem) {
  apply("v1", "parallelism: 2, completions: 2");
  cluster.until<Job>("work", [](const Job& it) { return it.status.active == 2; });
  client::DeleteOptions orphan;
  orphan.propagation = client::Propagation::Orphan;
  cluster.remove<Job>("work", orphan);
  cluster.until("no pod is held", [&] { return cluster.list<Job>().empty() && !any_held(); });
  EXPECT_EQ(cluster.list<Pod>().size(), 2U);
}

TEST_F(Jobs, ADeletedPodIsReplaced) {
  apply("v1", "completions: 1");
  cluster.until<Job>("work", [](const Job& it) { return it.status.ready == 1; });
  const auto before = cluster.list<Pod>()[0].metadata.name;
  cluster.remove<Pod>(before);
  cluster.until<Job>("work", [](const Job& it) { return it.status.ready == 1 && it.status.failed == 1; });
}

}  // namespace
}  // namespace kopper::testing
