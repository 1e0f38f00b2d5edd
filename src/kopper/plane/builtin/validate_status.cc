#include "kopper/plane/builtin/validate_status.h"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

namespace kopper::plane::builtin {
namespace {

// `part` is at most `whole`.
struct Bound {
  std::string_view part;
  std::string_view whole;
  std::string_view called;  // how the message names the whole
};

struct Counts {
  std::string_view group;
  std::string_view kind;
  std::vector<std::string_view> counts;  // in the order in which they are told
  std::vector<Bound> bounds;
};

const std::vector<Counts>& known() {
  static const std::vector<Counts> all = {
      {"apps",
       "Deployment",
       {"observedGeneration", "replicas", "updatedReplicas", "readyReplicas", "availableReplicas",
        "unavailableReplicas", "terminatingReplicas", "collisionCount"},
       {{"updatedReplicas", "replicas", "status.replicas"},
        {"readyReplicas", "replicas", "status.replicas"},
        {"availableReplicas", "replicas", "status.replicas"},
        {"availableReplicas", "readyReplicas", "readyReplicas"}}},
      {"apps",
       "ReplicaSet",
       {"replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration",
        "terminatingReplicas"},
       {{"fullyLabeledReplicas", "replicas", "status.replicas"},
        {"readyReplicas", "replicas", "status.replicas"},
        {"availableReplicas", "replicas", "status.replicas"},
        {"availableReplicas", "readyReplicas", "readyReplicas"}}},
      {"",
       "ReplicationController",
       {"replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration"},
       {{"fullyLabeledReplicas", "replicas", "status.replicas"},
        {"readyReplicas", "replicas", "status.replicas"},
        {"availableReplicas", "replicas", "status.replicas"},
        {"availableReplicas", "readyReplicas", "readyReplicas"}}},
      {"apps",
       "StatefulSet",
       {"replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas", "observedGeneration",
        "collisionCount"},
       {{"readyReplicas", "replicas", "status.replicas"},
        {"currentReplicas", "replicas", "status.replicas"},
        {"updatedReplicas", "replicas", "status.replicas"},
        {"availableReplicas", "replicas", "status.replicas"},
        {"availableReplicas", "readyReplicas", "status.readyReplicas"}}},
      {"apps",
       "DaemonSet",
       {"currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady", "observedGeneration",
        "updatedNumberScheduled", "numberAvailable", "numberUnavailable", "collisionCount"},
       {}},
      {"batch", "Job", {"active", "succeeded", "failed", "ready", "terminating"}, {}},
      {"policy", "PodDisruptionBudget", {"disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"}, {}},
      {"autoscaling", "HorizontalPodAutoscaler", {"currentReplicas", "desiredReplicas"}, {}},
  };
  return all;
}

}  // namespace

void check_status(Check& check, std::string_view group, std::string_view kind, const Value& status) {
  const auto at =
      std::ranges::find_if(known(), [&](const Counts& one) { return one.group == group && one.kind == kind; });
  if (at == known().end()) return;
  const Path path("status");
  for (const std::string_view member : at->counts) check.non_negative(path / member, status[member]);
  for (const auto& [part, whole, called] : at->bounds)
    if (number(status[part]) > number(status[whole]))
      check.invalid(path / part, number(status[part]), fmt::format("cannot be greater than {}", called));
}

}  // namespace kopper::plane::builtin
