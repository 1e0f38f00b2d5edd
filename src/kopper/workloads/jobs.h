#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kopper/api/gen/batch_v1.h"
#include "kopper/api/pods.h"
#include "kopper/api/time.h"

// How a Job gets its work done and counts it. Pure.
namespace kopper::workloads {

// On a pod whose end is not counted yet. It is taken off only when the status that counts it has been written, so that
// every end counts once, whenever anybody crashes.
inline constexpr std::string_view kJobTracking = "batch.kubernetes.io/job-tracking";
inline constexpr std::string_view kCompletionIndex = "batch.kubernetes.io/job-completion-index";

// A pod that is to be made.
struct JobPod {
  std::optional<std::int32_t> index;
  std::int32_t failures = 0;  // of the index, so far
};

// What is to be done, in this order.
struct JobPlan {
  api::batchv1::JobStatus status;
  std::vector<api::PodRef> counted;  // the finalizer may go, once the status is written
  std::vector<api::PodRef> stop;     // the Job ends: they are deleted, and count as failed
  std::vector<api::PodRef> drop;     // too many, or the Job is suspended: deleted, and not counted
  std::vector<JobPod> create;
  bool expired = false;                       // the Job itself may go: its time to live is over
  std::optional<std::chrono::seconds> again;  // when to look again, if nothing happens before
};
// `pods`: all that the Job controls.
JobPlan plan_job(const api::batchv1::Job& job, const std::vector<api::PodRef>& pods, api::Time now);

bool is_finished(const api::batchv1::Job& job);
// Complete, and not failed.
bool has_succeeded(const api::batchv1::Job& job);
// The condition of this type when it is true, or null.
const api::batchv1::JobCondition* find_true(const api::batchv1::JobStatus& status, std::string_view type);

api::corev1::Pod new_pod(const api::batchv1::Job& job, const JobPod& pod, std::string name);

}  // namespace kopper::workloads
