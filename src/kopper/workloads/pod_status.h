#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "kopper/api/gen/core_v1.h"
#include "kopper/api/time.h"

// What a node says of a pod. Pure.
namespace kopper::workloads {

// What became of a pod's containers, in the order of its spec.
struct PodRecord {
  std::string host_ip;
  std::string ip;
  api::Time started;
  std::vector<api::corev1::ContainerStatus> init;
  std::vector<api::corev1::ContainerStatus> containers;
  std::vector<api::corev1::ContainerStatus> ephemeral;
};

// An init container that goes on beside the others.
bool is_sidecar(const api::corev1::Container& container);
// Whether a container that ended with this code is to run again, by the pod's policy.
bool is_restarted(const api::corev1::Pod& pod, std::int32_t exit_code);
// How long to wait before the next start: nothing, then 10 s, doubled each time up to 5 minutes.
std::chrono::seconds restart_delay(std::int32_t restarts);

// Phase, conditions and containers. What others wrote (PodScheduled, the reason of an eviction, readiness gates) is
// kept, and a condition that stays as it is keeps its time.
api::corev1::PodStatus pod_status(const api::corev1::Pod& pod, const PodRecord& record, api::Time now);

}  // namespace kopper::workloads
