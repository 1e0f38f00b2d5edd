#include "kopper/workloads/pod_template.h"

#include <algorithm>
#include <chrono>
#include <optional>

namespace kopper::workloads {

using api::corev1::Pod;
using runtime::Next;

Pod pod_of(const api::corev1::PodTemplateSpec& template_) {
  Pod pod;
  pod.metadata.labels = template_.metadata.labels;
  pod.metadata.annotations = template_.metadata.annotations;
  pod.metadata.finalizers = template_.metadata.finalizers;
  pod.spec = template_.spec;
  return pod;
}

Next when_available(const std::vector<api::PodRef>& pods, std::int32_t min_ready_seconds, api::Time now) {
  if (min_ready_seconds <= 0) return Next::wait();
  const bool waits = std::ranges::any_of(pods, [&](const api::PodRef& pod) {
    return api::is_active(*pod) && api::is_ready(*pod) && !api::is_available(*pod, min_ready_seconds, now);
  });
  return waits ? Next::in(std::chrono::seconds(1)) : Next::wait();
}

}  // namespace kopper::workloads
