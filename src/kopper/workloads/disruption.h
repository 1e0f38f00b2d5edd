#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kopper/api/gen/policy_v1.h"
#include "kopper/api/pods.h"
#include "kopper/api/time.h"

// How many pods of a PodDisruptionBudget may be missed. Pure.
namespace kopper::workloads {

// A pod that was evicted counts as lost until it goes, or for this long.
inline constexpr auto kDisruptionTimeout = std::chrono::minutes(2);

// The budget is counted in pods that their owners want, not in pods that are there.
bool counts_owners(const api::policyv1::PodDisruptionBudget& budget);

// `pods`: those that it selects. `expected`: how many of them there should be. Throws Error{Invalid} when the budget's
// limit is neither a number nor a percentage.
api::policyv1::PodDisruptionBudgetStatus observed(const api::policyv1::PodDisruptionBudget& budget,
                                                  const std::vector<api::PodRef>& pods, std::int32_t expected,
                                                  api::Time now);
// What it says when nobody knows: nothing may go.
api::policyv1::PodDisruptionBudgetStatus undecided(const api::policyv1::PodDisruptionBudget& budget, std::string why,
                                                   api::Time now);
// When the first of the evicted pods is given up waiting for.
std::optional<api::Time> next_expiry(const api::policyv1::PodDisruptionBudgetStatus& status);

}  // namespace kopper::workloads
