#include "kopper/workloads/pod_status.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace kopper::workloads {

using api::corev1::Container;
using api::corev1::ContainerStatus;
using api::corev1::Pod;
using api::corev1::PodCondition;
using api::corev1::PodStatus;

namespace {

const ContainerStatus* find(const std::vector<ContainerStatus>& all, std::string_view name) {
  const auto found = std::ranges::find(all, name, &ContainerStatus::name);
  return found == all.end() ? nullptr : &*found;
}

// Init containers are done when they ended well, or, as sidecars, have started.
bool is_done(const Container& container, const ContainerStatus* status) {
  if (status == nullptr) return false;
  if (is_sidecar(container)) return status->started.value_or(false);
  return status->state.terminated && status->state.terminated->exitCode == 0;
}

// Has ended, and stays so.
bool is_over(const Pod& pod, const ContainerStatus* status) {
  return status != nullptr && status->state.terminated && !is_restarted(pod, status->state.terminated->exitCode);
}

std::string phase_of(const Pod& pod, const PodRecord& record, bool initialised) {
  if (!initialised) {
    const bool failed = std::ranges::any_of(pod.spec.initContainers, [&](const Container& container) {
      const auto* status = find(record.init, container.name);
      return !is_sidecar(container) && is_over(pod, status) && status->state.terminated->exitCode != 0;
    });
    return failed ? "Failed" : "Pending";
  }
  bool all_over = true;
  bool any_failed = false;
  bool any_began = false;
  for (const auto& container : pod.spec.containers) {
    const auto* status = find(record.containers, container.name);
    const bool over = is_over(pod, status);
    all_over = all_over && over;
    any_failed = any_failed || (over && status->state.terminated->exitCode != 0);
    any_began = any_began || (status != nullptr &&
                              (status->state.running || status->state.terminated || status->lastState.terminated));
  }
  if (all_over) return any_failed ? "Failed" : "Succeeded";
  return any_began ? "Running" : "Pending";
}

void put(PodStatus& status, const Pod& pod, std::string type, bool is, std::string reason, std::string message,
         api::Time now) {
  PodCondition condition;
  condition.type = std::move(type);
  condition.status = is ? "True" : "False";
  condition.reason = std::move(reason);
  condition.message = std::move(message);
  condition.observedGeneration = pod.metadata.generation;
  condition.lastTransitionTime = now;
  const auto before = std::ranges::find(status.conditions, condition.type, &PodCondition::type);
  if (before == status.conditions.end()) {
    status.conditions.push_back(std::move(condition));
    return;
  }
  if (before->status == condition.status) condition.lastTransitionTime = before->lastTransitionTime;
  *before = std::move(condition);
}

std::string names(const std::vector<std::string>& all) { return fmt::format("[{}]", fmt::join(all, " ")); }

bool has_condition(const PodStatus& status, std::string_view type) {
  return std::ranges::any_of(status.conditions,
                             [type](const PodCondition& one) { return one.type == type && one.status == "True"; });
}

}  // namespace

bool is_sidecar(const Container& container) { return container.restartPolicy == "Always"; }

bool is_restarted(const Pod& pod, std::int32_t exit_code) {
  if (pod.metadata.deletionTimestamp.is_set() || pod.spec.restartPolicy == "Never") return false;
  return pod.spec.restartPolicy != "OnFailure" || exit_code != 0;
}

std::chrono::seconds restart_delay(std::int32_t restarts) {
  constexpr std::chrono::seconds kFirst(10);
  constexpr std::chrono::seconds kLongest(300);
  if (restarts <= 0) return std::chrono::seconds(0);
  if (restarts > 6) return kLongest;
  return std::min(kFirst * (1 << (restarts - 1)), kLongest);
}

PodStatus pod_status(const Pod& pod, const PodRecord& record, api::Time now) {
  auto status = pod.status;
  status.hostIP = record.host_ip;
  status.podIP = record.ip;
  status.podIPs.clear();
  if (!record.ip.empty()) status.podIPs.push_back({record.ip});
  status.startTime = record.started;
  status.initContainerStatuses = record.init;
  status.containerStatuses = record.containers;
  status.ephemeralContainerStatuses = record.ephemeral;

  std::vector<std::string> waiting;
  for (const auto& container : pod.spec.initContainers) {
    if (!is_done(container, find(record.init, container.name))) waiting.push_back(container.name);
  }
  const bool initialised = waiting.empty();
  std::vector<std::string> unready;
  for (const auto& container : pod.spec.containers) {
    const auto* one = find(record.containers, container.name);
    if (one == nullptr || !one->ready) unready.push_back(container.name);
  }
  status.phase = phase_of(pod, record, initialised);
  const bool completed = status.phase == "Succeeded";
  const bool ready = initialised && unready.empty() && !completed && status.phase != "Failed";
  const auto why_not = completed ? "PodCompleted" : "ContainersNotReady";
  const auto which = completed || unready.empty() ? "" : "containers with unready status: " + names(unready);

  put(status, pod, "Initialized", initialised, initialised ? "" : "ContainersNotInitialized",
      initialised ? "" : "containers with incomplete status: " + names(waiting), now);
  put(status, pod, "ContainersReady", ready, ready ? "" : why_not, ready ? "" : which, now);
  const auto gate = std::ranges::find_if(pod.spec.readinessGates,
                                         [&](const auto& one) { return !has_condition(status, one.conditionType); });
  const bool gated = ready && gate != pod.spec.readinessGates.end();
  put(status, pod, "Ready", ready && !gated,
      gated   ? "ReadinessGatesNotReady"
      : ready ? ""
              : why_not,
      gated   ? fmt::format("the status of pod readiness gate \"{}\" is not \"True\", but False", gate->conditionType)
      : ready ? ""
              : which,
      now);
  return status;
}

}  // namespace kopper::workloads
