// CronJobs on a whole cluster in this process, whose clock the test moves.
#include "kopper/workloads/cron_job.h"

#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/api/names.h"
#include "kopper/testing/cluster.h"
#include "kopper/workloads/job.h"

#include "playing_node.h"

namespace kopper::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::IsEmpty;

std::vector<runtime::ControllerSpec> all() {
  auto all = workloads::job();
  all.push_back(workloads::cron_job());
  all.push_back(playing_node());
  return all;
}

struct CronJobs : ::testing::Test {
  void apply(std::string_view image, std::string_view spec) {
    cluster.apply(fmt::format(
        "{{apiVersion: batch/v1, kind: CronJob, metadata: {{name: tidy}}, spec: {{{}, jobTemplate: {{metadata: "
        "{{labels: "
        "{{app: tidy}}}}, spec: {{template: {{spec: {{restartPolicy: Never, containers: [{{name: main, image: "
        "{}}}]}}}}}}}}}}}}",
        spec, image));
  }
  std::size_t started() {
    std::size_t count = 0;
    for (const auto& request : cluster.requests()) {
      count += request.method == "POST" && request.status == 201 && request.target.find("/jobs?") != std::string::npos;
    }
    return count;
  }

  Cluster cluster{all()};
};

TEST_F(CronJobs, StartJobsEveryTenMinutes) {
  apply("done", "schedule: '*/10 * * * *'");
  cluster.advance(1h);
  EXPECT_EQ(started(), 6U);
  EXPECT_EQ(cluster.list<Job>().size(), 3U) << "what is kept of them";
  const auto cron = cluster.get<CronJob>("tidy");
  EXPECT_TRUE(cron.status.lastScheduleTime.is_set());
  EXPECT_TRUE(cron.status.lastSuccessfulTime.is_set());
  EXPECT_THAT(cron.status.active, IsEmpty());
  EXPECT_EQ(cluster.list<Job>()[0].metadata.labels.at("app"), "tidy");
}

TEST_F(CronJobs, ForbidASecondOne) {
  apply("v1", "schedule: '* * * * *', concurrencyPolicy: Forbid");
  cluster.advance(10min);
  EXPECT_EQ(started(), 1U);
  EXPECT_EQ(cluster.get<CronJob>("tidy").status.active.size(), 1U);
  cluster.set_status<Pod>(cluster.list<Pod>()[0].metadata.name, [](Pod& it) { it.status.phase = "Succeeded"; });
  cluster.until("the next one runs", [&] { return started() == 1; });
}

TEST_F(CronJobs, ReplaceOneThatStillRuns) {
  apply("v1", "schedule: '* * * * *', concurrencyPolicy: Replace");
  cluster.advance(5min);
  EXPECT_GE(started(), 4U);
  cluster.until("one is left", [&] { return cluster.list<Job>().size() == 1 && cluster.list<Pod>().size() == 1; });
}

TEST_F(CronJobs, SuspendedOnesGoOnLater) {
  apply("done", "schedule: '* * * * *', suspend: true");
  cluster.advance(10min);
  EXPECT_EQ(started(), 0U);
  apply("done", "schedule: '* * * * *', suspend: false");
  cluster.until("one runs", [&] { return started() > 0; });
}

TEST_F(CronJobs, NeverStartTheSameTwice) {
  apply("done", "schedule: '*/10 * * * *', successfulJobsHistoryLimit: 100");
  for (int i = 0; i < 60; ++i) {
    cluster.advance(1min);
    cluster.restart();
    cluster.settle();
  }
  EXPECT_EQ(started(), 6U);
  cluster.until("all are done",
                [&] { return cluster.list<Job>().size() == 6 && cluster.get<CronJob>("tidy").status.active.empty(); });
}

TEST_F(CronJobs, GoWithTheirJobs) {
  apply("v1", "schedule: '* * * * *'");
  cluster.advance(2min);
  cluster.remove<CronJob>("tidy");
  cluster.until("all is gone", [&] { return cluster.list<Job>().empty() && cluster.list<Pod>().empty(); });
}

}  // namespace
}  // namespace kopper::testing
