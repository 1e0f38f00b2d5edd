#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kopper/api/gen/batch_v1.h"
#include "kopper/api/time.h"
#include "kopper/workloads/cron_schedule.h"

// When a CronJob starts Jobs, and which ones it keeps. Pure.
namespace kopper::workloads {

using JobRef = std::shared_ptr<const api::batchv1::Job>;

inline constexpr std::string_view kScheduledAt = "batch.kubernetes.io/cronjob-scheduled-timestamp";

// What people are told.
struct CronNote {
  bool warning = false;
  std::string reason;
  std::string message;
};

struct CronPlan {
  std::vector<JobRef> replace;                // deleted before
  std::optional<api::Time> start;             // a Job for this time is to be made
  api::batchv1::CronJobStatus status;         // but for the Job that is made
  std::vector<JobRef> forget;                 // beyond the history, once the status is written
  std::optional<std::chrono::seconds> again;  // when the next one is due
  std::vector<CronNote> notes;
};
// `jobs`: all that it controls. Without a schedule (it cannot be read) nothing is started.
CronPlan plan_cron(const api::batchv1::CronJob& cron, const std::vector<JobRef>& jobs,
                   const std::optional<CronSchedule>& schedule, const TimeZone& zone, api::Time now);

// The Job of this time. Its name follows from the time, so that there is never a second one.
api::batchv1::Job new_job(const api::batchv1::CronJob& cron, api::Time scheduled);

}  // namespace kopper::workloads
