#include "kopper/workloads/disruption.h"

#include <algorithm>
#include <utility>

#include "kopper/api/conditions.h"
#include "kopper/base/error.h"

namespace kopper::workloads {

using api::PodRef;
using api::policyv1::PodDisruptionBudget;
using api::policyv1::PodDisruptionBudgetStatus;

namespace {

std::int32_t part_of(const api::IntOrString& limit, std::int32_t expected) {
  const auto value = api::scaled(limit, expected, api::Rounding::Up);
  if (!value) throw_error(value.error(), "spec");
  return *value;
}

std::int32_t least(const PodDisruptionBudget& budget, std::int32_t expected) {
  if (budget.spec.maxUnavailable) return std::max(0, expected - part_of(*budget.spec.maxUnavailable, expected));
  return budget.spec.minAvailable ? part_of(*budget.spec.minAvailable, expected) : 1;
}

void allow(PodDisruptionBudgetStatus& status, std::string reason, std::string message, api::Time now) {
  api::metav1::Condition condition;
  condition.type = "DisruptionAllowed";
  condition.status = status.disruptionsAllowed > 0 ? "True" : "False";
  condition.reason = std::move(reason);
  condition.message = std::move(message);
  condition.observedGeneration = status.observedGeneration;
  api::set_condition(status.conditions, std::move(condition), now);
}

}  // namespace

bool counts_owners(const PodDisruptionBudget& budget) {
  return budget.spec.maxUnavailable || (budget.spec.minAvailable && budget.spec.minAvailable->is_string());
}

PodDisruptionBudgetStatus observed(const PodDisruptionBudget& budget, const std::vector<PodRef>& pods,
                                   std::int32_t expected, api::Time now) {
  PodDisruptionBudgetStatus status;
  status.observedGeneration = budget.metadata.generation;
  status.conditions = budget.status.conditions;
  status.expectedPods = expected;
  status.desiredHealthy = least(budget, expected);
  for (const auto& pod : pods) {
    if (pod->metadata.deletionTimestamp.is_set()) continue;
    const auto evicted = budget.status.disruptedPods.find(pod->metadata.name);
    if (evicted != budget.status.disruptedPods.end() && evicted->second.point() + kDisruptionTimeout > now.point()) {
      status.disruptedPods.insert(*evicted);
    } else if (api::is_ready(*pod)) {
      ++status.currentHealthy;
    }
  }
  const auto spare = status.currentHealthy - status.desiredHealthy;
  status.disruptionsAllowed = expected > 0 ? std::max(0, spare) : 0;
  allow(status, status.disruptionsAllowed > 0 ? "SufficientPods" : "InsufficientPods", "", now);
  return status;
}

PodDisruptionBudgetStatus undecided(const PodDisruptionBudget& budget, std::string why, api::Time now) {
  auto status = budget.status;
  status.observedGeneration = budget.metadata.generation;
  status.disruptionsAllowed = 0;
  allow(status, "SyncFailed", std::move(why), now);
  return status;
}

std::optional<api::Time> next_expiry(const PodDisruptionBudgetStatus& status) {
  std::optional<api::Time> first;
  for (const auto& [pod, evicted] : status.disruptedPods) {
    const api::Time expires(evicted.point() + kDisruptionTimeout);
    if (!first || expires < *first) first = expires;
  }
  return first;
}

}  // namespace kopper::workloads
