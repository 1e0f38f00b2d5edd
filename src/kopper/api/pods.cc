#include "kopper/api/pods.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <string_view>
#include <tuple>

#include "kopper/api/time.h"

namespace kopper::api {

namespace {

constexpr std::string_view kDeletionCost = "controller.kubernetes.io/pod-deletion-cost";

const corev1::PodCondition* ready_condition(const corev1::Pod& pod) {
  const auto found = std::ranges::find(pod.status.conditions, "Ready", &corev1::PodCondition::type);
  return found == pod.status.conditions.end() ? nullptr : &*found;
}

int phase_rank(const corev1::Pod& pod) {
  if (pod.status.phase == "Running") return 2;
  return pod.status.phase == "Unknown" ? 1 : 0;
}

std::int32_t deletion_cost(const corev1::Pod& pod) {
  const auto found = pod.metadata.annotations.find(std::string(kDeletionCost));
  if (found == pod.metadata.annotations.end()) return 0;
  std::int32_t cost = 0;
  const auto* end = found->second.data() + found->second.size();
  const auto [stop, error] = std::from_chars(found->second.data(), end, cost);
  return error == std::errc() && stop == end ? cost : 0;
}

std::int32_t restarts(const corev1::Pod& pod) {
  std::int32_t most = 0;
  for (const auto& container : pod.status.containerStatuses) most = std::max(most, container.restartCount);
  return most;
}

Time ready_since(const corev1::Pod& pod) {
  const auto* ready = ready_condition(pod);
  return ready != nullptr && ready->status == "True" ? ready->lastTransitionTime : Time();
}

// What speaks for keeping a pod comes from the one, what speaks against it from the other.
auto worth(const corev1::Pod& pod, const corev1::Pod& other) {
  return std::tuple(!pod.spec.nodeName.empty(), phase_rank(pod), is_ready(pod), deletion_cost(pod), ready_since(other),
                    restarts(other), other.metadata.creationTimestamp, std::string_view(pod.metadata.name));
}

}  // namespace

bool is_active(const corev1::Pod& pod) {
  return !pod.metadata.deletionTimestamp.is_set() && pod.status.phase != "Succeeded" && pod.status.phase != "Failed";
}

bool is_ready(const corev1::Pod& pod) {
  const auto* ready = ready_condition(pod);
  return ready != nullptr && ready->status == "True";
}

bool is_available(const corev1::Pod& pod, std::int32_t min_ready_seconds, Time now) {
  if (!is_ready(pod)) return false;
  const auto since = ready_since(pod);
  return min_ready_seconds <= 0 ||
         (since.is_set() && since.point() + std::chrono::seconds(min_ready_seconds) <= now.point());
}

void cheapest_first(std::vector<PodRef>& pods) {
  std::ranges::sort(pods, [](const PodRef& a, const PodRef& b) { return worth(*a, *b) < worth(*b, *a); });
}

}  // namespace kopper::api
