#pragma once

#include <cstdint>
#include <vector>

#include "kopper/api/gen/core_v1.h"
#include "kopper/api/pods.h"
#include "kopper/runtime/next.h"

// What all who make pods of a template need. Pure.
namespace kopper::workloads {

// A pod as the template says; without a name.
api::corev1::Pod pod_of(const api::corev1::PodTemplateSpec& template_);

// When the next of the pods that are ready becomes available, if any is to.
runtime::Next when_available(const std::vector<api::PodRef>& pods, std::int32_t min_ready_seconds, api::Time now);

}  // namespace kopper::workloads
