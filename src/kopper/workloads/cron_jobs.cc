#include "kopper/workloads/cron_jobs.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "kopper/workloads/jobs.h"

namespace kopper::workloads {

using api::batchv1::CronJob;
using api::batchv1::CronJobStatus;
using api::batchv1::Job;
using std::chrono::seconds;
using std::chrono::sys_seconds;

namespace {

constexpr int kTooMany = 100;

api::Time scheduled_at(const Job& job) {
  const auto found = job.metadata.annotations.find(std::string(kScheduledAt));
  if (found == job.metadata.annotations.end()) return {};
  return api::Time::parse(found->second).value_or(api::Time());
}

CronJobStatus observed(const CronJob& cron, const std::vector<JobRef>& jobs) {
  CronJobStatus status;
  status.lastScheduleTime = cron.status.lastScheduleTime;
  status.lastSuccessfulTime = cron.status.lastSuccessfulTime;
  for (const auto& job : jobs) {
    // Also of one whose making we do not remember.
    status.lastScheduleTime = std::max(status.lastScheduleTime, scheduled_at(*job));
    if (has_succeeded(*job))
      status.lastSuccessfulTime = std::max(status.lastSuccessfulTime, job->status.completionTime);
    if (is_finished(*job)) continue;
    api::corev1::ObjectReference active;
    active.apiVersion = Job::kind.api_version();
    active.kind = Job::kind.kind;
    active.namespace_ = job->metadata.namespace_;
    active.name = job->metadata.name;
    active.uid = job->metadata.uid;
    active.resourceVersion = job->metadata.resourceVersion;
    // A version that changes all the time is no change.
    const auto before = std::ranges::find(cron.status.active, active.uid, &api::corev1::ObjectReference::uid);
    if (before != cron.status.active.end()) active.resourceVersion = before->resourceVersion;
    status.active.push_back(std::move(active));
  }
  return status;
}

void tell_finished(const CronJob& cron, const std::vector<JobRef>& jobs, CronPlan& plan) {
  for (const auto& active : cron.status.active) {
    const auto job = std::ranges::find(jobs, active.uid, [](const JobRef& one) { return one->metadata.uid; });
    if (job == jobs.end() || !is_finished(**job)) continue;
    plan.notes.push_back({false, "SawCompletedJob",
                          fmt::format("Saw completed job: {}, condition: {}", active.name,
                                      has_succeeded(**job) ? "Complete" : "Failed")});
  }
}

// Finished ones of one sort, the oldest first, beyond those that are kept.
void forget(const std::vector<JobRef>& jobs, bool succeeded, std::int32_t keep, CronPlan& plan) {
  std::vector<JobRef> finished;
  for (const auto& job : jobs) {
    if (is_finished(*job) && has_succeeded(*job) == succeeded && !job->metadata.deletionTimestamp.is_set()) {
      finished.push_back(job);
    }
  }
  const auto kept = static_cast<std::size_t>(std::max(keep, 0));
  if (finished.size() <= kept) return;
  std::ranges::sort(finished, {}, [](const JobRef& job) {
    return std::pair(job->status.startTime, std::string_view(job->metadata.name));
  });
  finished.resize(finished.size() - kept);
  plan.forget.insert(plan.forget.end(), finished.begin(), finished.end());
}

void start(const CronJob& cron, const std::vector<JobRef>& jobs, const CronSchedule& schedule, const TimeZone& zone,
           api::Time now, CronPlan& plan) {
  const auto& deadline = cron.spec.startingDeadlineSeconds;
  auto from = plan.status.lastScheduleTime.is_set() ? plan.status.lastScheduleTime.point()
                                                    : cron.metadata.creationTimestamp.point();
  if (deadline) from = std::max(from, now.point() - seconds(*deadline));
  if (const auto next = schedule.next(now.point(), zone)) plan.again = *next - now.point();
  if (from > now.point()) return;
  const auto due = schedule.last(from, now.point(), zone);
  if (!due) return;
  int missed = 0;
  for (auto at = schedule.next(from, zone); at && *at <= *due && missed <= kTooMany; at = schedule.next(*at, zone)) {
    ++missed;
  }
  if (missed > kTooMany) {
    plan.notes.push_back(
        {true, "TooManyMissedTimes",
         "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"});
  }
  const bool runs = !plan.status.active.empty();
  if (runs && cron.spec.concurrencyPolicy == "Forbid") {
    plan.notes.push_back({false, "JobAlreadyActive",
                          "Not starting job because prior execution is running and concurrency policy is Forbid"});
    return;
  }
  if (cron.spec.concurrencyPolicy == "Replace") {
    for (const auto& job : jobs) {
      if (!is_finished(*job)) plan.replace.push_back(job);
    }
    plan.status.active.clear();
  }
  plan.start = api::Time(*due);
  plan.status.lastScheduleTime = *plan.start;
}

}  // namespace

CronPlan plan_cron(const CronJob& cron, const std::vector<JobRef>& jobs, const std::optional<CronSchedule>& schedule,
                   const TimeZone& zone, api::Time now) {
  CronPlan plan;
  plan.status = observed(cron, jobs);
  tell_finished(cron, jobs, plan);
  forget(jobs, true, cron.spec.successfulJobsHistoryLimit.value_or(3), plan);
  forget(jobs, false, cron.spec.failedJobsHistoryLimit.value_or(1), plan);
  if (schedule && !cron.spec.suspend.value_or(false)) start(cron, jobs, *schedule, zone, now, plan);
  return plan;
}

Job new_job(const CronJob& cron, api::Time scheduled) {
  Job job;
  const auto minutes = std::chrono::floor<std::chrono::minutes>(scheduled.point()).time_since_epoch().count();
  job.metadata.name = fmt::format("{}-{}", cron.metadata.name, minutes);
  job.metadata.namespace_ = cron.metadata.namespace_;
  job.metadata.labels = cron.spec.jobTemplate.metadata.labels;
  job.metadata.annotations = cron.spec.jobTemplate.metadata.annotations;
  job.metadata.annotations[std::string(kScheduledAt)] = scheduled.str();
  job.spec = cron.spec.jobTemplate.spec;
  return job;
}

}  // namespace kopper::workloads
