#include "kopper/workloads/disruption.h"

#include <chrono>

#include <gtest/gtest.h>

#include "kopper/api/conditions.h"
#include "kopper/base/error.h"

namespace kopper::workloads {
namespace {

using api::PodRef;
using api::corev1::Pod;
using api::policyv1::PodDisruptionBudget;

api::Time at(int seconds) {
  return api::Time(std::chrono::sys_seconds(std::chrono::sys_days(std::chrono::January / 1 / 2026)) +
                   std::chrono::seconds(seconds));
}

PodRef pod(std::string name, bool ready = true) {
  auto it = std::make_shared<Pod>();
  it->metadata.name = std::move(name);
  it->status.conditions.push_back({.type = "Ready", .status = ready ? "True" : "False"});
  return it;
}

std::vector<PodRef> pods(int ready, int waiting = 0) {
  std::vector<PodRef> all;
  for (int i = 0; i < ready + waiting; ++i) all.push_back(pod("pod-" + std::to_string(i), i < ready));
  return all;
}

PodDisruptionBudget at_least(api::IntOrString least) {
  PodDisruptionBudget it;
  it.spec.minAvailable = std::move(least);
  return it;
}

PodDisruptionBudget at_most(api::IntOrString missing) {
  PodDisruptionBudget it;
  it.spec.maxUnavailable = std::move(missing);
  return it;
}

TEST(Disruption, WhatIsLeftOfABudget) {
  EXPECT_EQ(observed(at_least(2), pods(3), 3, at(0)).disruptionsAllowed, 1);
  EXPECT_EQ(observed(at_least(2), pods(2, 5), 7, at(0)).disruptionsAllowed, 0);
  EXPECT_EQ(observed(at_least("50%"), pods(5), 5, at(0)).desiredHealthy, 3) << "rounded up";
  EXPECT_EQ(observed(at_most(1), pods(5), 5, at(0)).disruptionsAllowed, 1);
  EXPECT_EQ(observed(at_most(1), pods(3), 5, at(0)).disruptionsAllowed, 0) << "two are missed already";
  EXPECT_EQ(observed(at_most("30%"), pods(5), 5, at(0)).desiredHealthy, 3) << "rounded up";
  EXPECT_EQ(observed(at_most(9), pods(5), 5, at(0)).desiredHealthy, 0);
  EXPECT_EQ(observed(at_most(9), {}, 0, at(0)).disruptionsAllowed, 0);
  EXPECT_THROW(observed(at_most("many"), pods(1), 1, at(0)), Error);
}

TEST(Disruption, WhatOwnersWantCountsOnlyWhereItMatters) {
  EXPECT_FALSE(counts_owners(at_least(2)));
  EXPECT_TRUE(counts_owners(at_least("50%")));
  EXPECT_TRUE(counts_owners(at_most(1)));
}

TEST(Disruption, EvictedPodsAreLostForAWhile) {
  auto budget = at_least(1);
  budget.status.disruptedPods = {{"pod-0", at(0)}, {"long-gone", at(0)}};
  const auto early = observed(budget, pods(3), 3, at(119));
  EXPECT_EQ(early.currentHealthy, 2);
  EXPECT_EQ(early.disruptedPods.size(), 1U);
  EXPECT_EQ(next_expiry(early), at(120));
  const auto late = observed(budget, pods(3), 3, at(120));
  EXPECT_EQ(late.currentHealthy, 3);
  EXPECT_TRUE(late.disruptedPods.empty());
  EXPECT_EQ(next_expiry(late), std::nullopt);
}

TEST(Disruption, SaysWhy) {
  auto budget = at_least(1);
  budget.status = observed(budget, pods(2), 2, at(0));
  EXPECT_TRUE(api::is_true(budget.status.conditions, "DisruptionAllowed"));
  budget.status = observed(budget, pods(1), 1, at(1));
  EXPECT_EQ(api::find_condition(budget.status.conditions, "DisruptionAllowed")->reason, "InsufficientPods");
  budget.status = undecided(budget, "who knows", at(2));
  const auto* condition = api::find_condition(budget.status.conditions, "DisruptionAllowed");
  EXPECT_EQ(condition->reason, "SyncFailed");
  EXPECT_EQ(condition->message, "who knows");
  EXPECT_EQ(condition->lastTransitionTime, at(1));
}

}  // namespace
}  // namespace kopper::workloads
