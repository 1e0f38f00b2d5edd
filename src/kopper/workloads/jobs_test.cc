#include "kopper/workloads/jobs.h"

#include <chrono>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kopper/api/object.h"
#include "kopper/workloads/completion_indexes.h"

namespace kopper::workloads {
namespace {

using namespace std::chrono_literals;
using api::PodRef;
using api::batchv1::Job;
using api::batchv1::JobStatus;
using api::corev1::Pod;

api::Time at(int seconds) {
  return api::Time(std::chrono::sys_seconds(std::chrono::sys_days(std::chrono::January / 1 / 2026)) +
                   std::chrono::seconds(seconds));
}

Job work(std::int32_t completions, std::int32_t parallelism, std::string mode = "NonIndexed") {
  Job it;
  it.metadata.name = "work";
  it.metadata.uid = "u1";
  it.spec.completions = completions;
  it.spec.parallelism = parallelism;
  it.spec.completionMode = std::move(mode);
  it.spec.backoffLimit = 6;
  it.spec.podReplacementPolicy = "TerminatingOrFailed";
  it.spec.template_.spec.restartPolicy = "Never";
  it.spec.template_.spec.containers.push_back({.name = "main", .image = "x"});
  return it;
}

std::shared_ptr<Pod> pod(const Job& job, std::string name, std::string phase, int end = 0,
                         std::optional<std::int32_t> index = std::nullopt) {
  auto it = std::make_shared<Pod>(new_pod(job, {index, 0}, name));
  it->metadata.uid = std::move(name);
  it->status.phase = std::move(phase);
  it->status.conditions.push_back({.type = "Ready", .status = "False", .lastTransitionTime = at(end)});
  return it;
}

std::shared_ptr<Pod> exited(const Job& job, std::string name, std::int32_t code) {
  auto it = pod(job, std::move(name), code == 0 ? "Succeeded" : "Failed");
  api::corev1::ContainerStatus container;
  container.name = "main";
  container.state.terminated.emplace().exitCode = code;
  it->status.containerStatuses.push_back(container);
  return it;
}

std::string conditions(const JobStatus& status) {
  std::string out;
  for (const auto& one : status.conditions) out += fmt::format("{}={}:{} ", one.type, one.status, one.reason);
  return out;
}

TEST(CompletionIndexes, ReadWhatTheyPrint) {
  EXPECT_EQ(print_indexes({0, 2, 3, 5, 6, 7}), "0,2,3,5-7");
  EXPECT_EQ(print_indexes({}), "");
  EXPECT_EQ(parse_indexes("0,2,3,5-7", 100), (std::set<std::int32_t>{0, 2, 3, 5, 6, 7}));
  EXPECT_EQ(parse_indexes("1-2147483647", 3), (std::set<std::int32_t>{1, 2}));
  EXPECT_EQ(parse_indexes("x,-1,3-1,,1-,9999999999999,2", 100), (std::set<std::int32_t>{2}));
}

TEST(Jobs, StartAsManyAsAreLeft) {
  const auto job = work(5, 3);
  const auto first = plan_job(job, {}, at(0));
  EXPECT_EQ(first.create.size(), 3U);
  EXPECT_EQ(first.status.startTime, at(0));
  auto later = job;
  later.status.succeeded = 4;
  EXPECT_EQ(plan_job(later, {}, at(0)).create.size(), 1U);
  EXPECT_EQ(plan_job(later, {pod(job, "a", "Running")}, at(0)).create.size(), 0U);
  auto smaller = job;
  smaller.spec.parallelism = 1;
  EXPECT_EQ(plan_job(smaller, {pod(job, "a", "Running"), pod(job, "b", "Pending")}, at(0)).drop[0]->metadata.name, "b");
}

TEST(Jobs, WithoutCompletionsTheFirstSuccessEndsTheWork) {
  auto job = work(0, 2);
  job.spec.completions.reset();
  EXPECT_EQ(plan_job(job, {}, at(0)).create.size(), 2U);
  auto plan = plan_job(job, {pod(job, "a", "Succeeded"), pod(job, "b", "Running")}, at(0));
  EXPECT_TRUE(plan.create.empty());
  EXPECT_EQ(conditions(plan.status), "") << "the other may go on";
  plan = plan_job(job, {pod(job, "a", "Succeeded"), pod(job, "b", "Failed")}, at(0));
  EXPECT_EQ(conditions(plan.status), "SuccessCriteriaMet=True:CompletionsReached ");
}

// An end is written down, then its pod let go, then it counts: in whatever step the process ends, it counts once.
TEST(Jobs, CountEveryEndOnce) {
  auto job = work(3, 3);
  const auto done = pod(job, "a", "Succeeded");
  auto plan = plan_job(job, {done}, at(0));
  EXPECT_EQ(plan.status.succeeded, 0);
  EXPECT_EQ(plan.status.uncountedTerminatedPods->succeeded, std::vector<std::string>{"a"});
  ASSERT_EQ(plan.counted.size(), 1U);

  job.status = plan.status;
  plan = plan_job(job, {done}, at(1));
  EXPECT_EQ(plan.status.uncountedTerminatedPods->succeeded, std::vector<std::string>{"a"}) << "still held";
  EXPECT_EQ(plan.counted.size(), 1U) << "again";

  const auto free = std::make_shared<Pod>(*done);
  free->metadata.finalizers.clear();
  plan = plan_job(job, {free}, at(2));
  EXPECT_EQ(plan.status.succeeded, 1);
  EXPECT_TRUE(plan.status.uncountedTerminatedPods->succeeded.empty());
  EXPECT_EQ(plan_job(job, {}, at(2)).status.succeeded, 1) << "or gone";
  job.status = plan.status;
  EXPECT_EQ(plan_job(job, {free}, at(3)).status.succeeded, 1);
}

TEST(Jobs, TryAgainLaterAndLater) {
  const auto job = work(1, 1);
  auto plan = plan_job(job, {pod(job, "a", "Failed", 0)}, at(4));
  EXPECT_TRUE(plan.create.empty());
  EXPECT_EQ(plan.again, 6s);
  EXPECT_EQ(plan_job(job, {pod(job, "a", "Failed", 0)}, at(10)).create.size(), 1U);
  plan = plan_job(job, {pod(job, "a", "Failed", 0), pod(job, "b", "Failed", 20)}, at(21));
  EXPECT_EQ(plan.again, 19s);
  plan = plan_job(work(2, 1), {pod(job, "a", "Failed", 0), pod(job, "b", "Succeeded", 20)}, at(21));
  EXPECT_EQ(plan.create.size(), 1U) << "a success forgives";
}

TEST(Jobs, FailBeyondTheirLimit) {
  auto job = work(1, 2);
  job.spec.backoffLimit = 1;
  job.status.failed = 1;
  const auto running = pod(job, "b", "Running");
  auto plan = plan_job(job, {pod(job, "a", "Failed"), running}, at(0));
  EXPECT_EQ(conditions(plan.status), "FailureTarget=True:BackoffLimitExceeded ");
  EXPECT_EQ(plan.stop, std::vector<PodRef>{running});
  job.status = plan.status;
  plan = plan_job(job, {}, at(1));
  EXPECT_EQ(plan.status.failed, 2);
  EXPECT_EQ(conditions(plan.status), "FailureTarget=True:BackoffLimitExceeded Failed=True:BackoffLimitExceeded ");
}

TEST(Jobs, RestartsCountWhereContainersAreRestarted) {
  auto job = work(1, 1);
  job.spec.template_.spec.restartPolicy = "OnFailure";
  job.spec.backoffLimit = 2;
  auto running = pod(job, "a", "Running");
  api::corev1::ContainerStatus container;
  container.restartCount = 1;
  running->status.containerStatuses.push_back(container);
  EXPECT_EQ(conditions(plan_job(job, {running}, at(0)).status), "");
  running->status.containerStatuses[0].restartCount = 2;
  EXPECT_EQ(conditions(plan_job(job, {running}, at(0)).status), "FailureTarget=True:BackoffLimitExceeded ");
}

TEST(Jobs, AreDoneWhenNothingRunsAnyMore) {
  auto job = work(1, 1);
  job.status.succeeded = 1;
  auto going = pod(job, "b", "Running");
  going->metadata.deletionTimestamp = at(0);
  going->metadata.finalizers.clear();
  auto plan = plan_job(job, {going}, at(0));
  EXPECT_EQ(conditions(plan.status), "SuccessCriteriaMet=True:CompletionsReached ");
  job.status = plan.status;
  plan = plan_job(job, {}, at(9));
  EXPECT_EQ(conditions(plan.status), "SuccessCriteriaMet=True:CompletionsReached Complete=True:CompletionsReached ");
  EXPECT_EQ(plan.status.completionTime, at(9));
  job.status = plan.status;
  EXPECT_TRUE(has_succeeded(job));
  job.spec.ttlSecondsAfterFinished = 5;
  EXPECT_EQ(plan_job(job, {}, at(10)).again, 4s);
  EXPECT_TRUE(plan_job(job, {}, at(14)).expired);
}

TEST(Jobs, HaveADeadline) {
  auto job = work(1, 1);
  job.spec.activeDeadlineSeconds = 30;
  auto plan = plan_job(job, {}, at(0));
  EXPECT_EQ(plan.again, 30s);
  job.status = plan.status;
  const auto running = pod(job, "a", "Running");
  EXPECT_EQ(plan_job(job, {running}, at(10)).again, 20s);
  plan = plan_job(job, {running}, at(30));
  EXPECT_EQ(conditions(plan.status), "FailureTarget=True:DeadlineExceeded ");
  EXPECT_EQ(plan.stop.size(), 1U);
}

TEST(Jobs, AreSuspendedAndResumed) {
  auto job = work(2, 2);
  job.spec.suspend = true;
  job.status.startTime = at(0);
  auto plan = plan_job(job, {pod(job, "a", "Running")}, at(5));
  EXPECT_EQ(plan.drop.size(), 1U) << "not counted";
  EXPECT_TRUE(plan.create.empty());
  EXPECT_FALSE(plan.status.startTime.is_set());
  EXPECT_EQ(conditions(plan.status), "Suspended=True:JobSuspended ");
  job.status = plan.status;
  job.spec.suspend = false;
  plan = plan_job(job, {}, at(7));
  EXPECT_EQ(plan.status.startTime, at(7));
  EXPECT_EQ(conditions(plan.status), "Suspended=False:JobResumed ");
  EXPECT_EQ(plan.create.size(), 2U);
}

TEST(Jobs, PodsThatGoAreLostUnlessTheirEndIsWaitedFor) {
  auto job = work(1, 1);
  auto going = pod(job, "a", "Running", 0);
  going->metadata.deletionTimestamp = at(0);
  EXPECT_EQ(plan_job(job, {going}, at(60)).create.size(), 1U);
  job.spec.podReplacementPolicy = "Failed";
  const auto plan = plan_job(job, {going}, at(60));
  EXPECT_TRUE(plan.create.empty());
  EXPECT_EQ(plan.status.terminating, 1);
}

TEST(Jobs, IndexesAreDoneEachOnce) {
  auto job = work(5, 3, "Indexed");
  job.status.completedIndexes = "1";
  auto plan = plan_job(job,
                       {pod(job, "a", "Running", 0, 0), pod(job, "b", "Succeeded", 0, 2),
                        pod(job, "c", "Running", 0, 1), pod(job, "d", "Running", 0, 0)},
                       at(60));
  EXPECT_EQ(plan.status.completedIndexes, "1,2");
  EXPECT_EQ(plan.status.succeeded, 2);
  EXPECT_EQ(plan.drop.size(), 2U) << "one that is done, and one twice";
  ASSERT_EQ(plan.create.size(), 2U);
  EXPECT_EQ(plan.create[0].index, 3);
  EXPECT_EQ(plan.create[1].index, 4);
}

TEST(Jobs, AnIndexMayFailAlone) {
  auto job = work(2, 2, "Indexed");
  job.spec.backoffLimitPerIndex = 1;
  const auto once = pod(job, "a", "Failed", 0, 0);
  auto plan = plan_job(job, {once}, at(20));
  ASSERT_EQ(plan.create.size(), 2U);
  EXPECT_EQ(plan.create[0].failures, 1);
  const auto twice = std::make_shared<Pod>(new_pod(job, plan.create[0], "b"));
  twice->metadata.uid = "b";
  twice->status.phase = "Failed";
  plan = plan_job(job, {once, twice, pod(job, "c", "Running", 0, 1)}, at(60));
  EXPECT_EQ(plan.status.failedIndexes, "0");
  EXPECT_TRUE(plan.create.empty());
  EXPECT_EQ(conditions(plan.status), "") << "the other goes on";
  plan = plan_job(job, {once, twice, pod(job, "c", "Succeeded", 0, 1)}, at(60));
  EXPECT_EQ(conditions(plan.status), "FailureTarget=True:FailedIndexes ");
}

TEST(Jobs, SuccessMayNeedOnlySome) {
  auto job = work(5, 5, "Indexed");
  job.spec.successPolicy.emplace().rules.push_back({.succeededIndexes = "0-2", .succeededCount = 2});
  job.status.completedIndexes = "0,3,4";
  EXPECT_EQ(conditions(plan_job(job, {}, at(0)).status), "");
  job.status.completedIndexes = "0,2";
  EXPECT_EQ(conditions(plan_job(job, {}, at(0)).status),
            "SuccessCriteriaMet=True:SuccessPolicy Complete=True:SuccessPolicy ");
}

TEST(Jobs, AFailurePolicyDecidesByExitCode) {
  auto job = work(1, 1);
  auto& rules = job.spec.podFailurePolicy.emplace().rules;
  rules.push_back({.action = "Ignore"});
  rules.back().onExitCodes.emplace() = {.operator_ = "In", .values = {3}};
  rules.push_back({.action = "FailJob"});
  rules.back().onExitCodes.emplace() = {.containerName = "main", .operator_ = "NotIn", .values = {1, 3}};
  auto plan = plan_job(job, {exited(job, "a", 3)}, at(60));
  EXPECT_FALSE(plan.status.uncountedTerminatedPods);
  EXPECT_EQ(plan.counted.size(), 1U);
  EXPECT_EQ(conditions(plan.status), "");
  EXPECT_EQ(conditions(plan_job(job, {exited(job, "a", 1)}, at(60)).status), "");
  plan = plan_job(job, {exited(job, "a", 42)}, at(60));
  EXPECT_EQ(conditions(plan.status), "FailureTarget=True:PodFailurePolicy ");
  EXPECT_EQ(plan.status.conditions[0].message,
            "Container main for pod a failed with exit code 42 matching FailJob rule at index 1");
}

TEST(Jobs, APodKnowsItsIndex) {
  const auto it = new_pod(work(2, 2, "Indexed"), {1, 0}, "work-1-x");
  EXPECT_EQ(it.spec.hostname, "work-1");
  EXPECT_EQ(it.metadata.labels.at("batch.kubernetes.io/job-completion-index"), "1");
  EXPECT_EQ(it.spec.containers[0].env[0].name, "JOB_COMPLETION_INDEX");
  EXPECT_EQ(it.spec.containers[0].env[0].valueFrom->fieldRef->fieldPath,
            "metadata.labels['batch.kubernetes.io/job-completion-index']");
  EXPECT_TRUE(api::has_finalizer(it.metadata, "batch.kubernetes.io/job-tracking"));
}

}  // namespace
}  // namespace kopper::workloads
