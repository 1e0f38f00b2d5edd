#include "kopper/workloads/rollout.h"

#include <gtest/gtest.h>

namespace kopper::workloads {
namespace {

using api::appsv1::Deployment;
using api::appsv1::ReplicaSet;

api::Time at(int seconds) {
  return api::Time(std::chrono::sys_seconds(std::chrono::sys_days(std::chrono::January / 1 / 2026)) +
                   std::chrono::seconds(seconds));
}

Deployment demo(std::int32_t replicas, std::string image = "v2", api::IntOrString surge = "25%",
                api::IntOrString unavailable = "25%") {
  Deployment it;
  it.metadata.name = "demo";
  it.metadata.generation = 1;
  it.spec.replicas = replicas;
  it.spec.template_.metadata.labels = {{"app", "demo"}};
  it.spec.template_.spec.containers.push_back({.name = "main", .image = std::move(image)});
  it.spec.strategy.type = "RollingUpdate";
  auto& rolling = it.spec.strategy.rollingUpdate.emplace();
  rolling.maxSurge = std::move(surge);
  rolling.maxUnavailable = std::move(unavailable);
  it.spec.progressDeadlineSeconds = 600;
  return it;
}

ReplicaSetRef set(std::string image, std::int32_t replicas, std::int32_t available, int created = 0) {
  auto it = std::make_shared<ReplicaSet>(new_set(demo(replicas, std::move(image)), {}));
  it->metadata.creationTimestamp = at(created);
  it->spec.replicas = replicas;
  it->status.replicas = replicas;
  it->status.readyReplicas = it->status.availableReplicas = available;
  return it;
}

Sets sets_of(const Deployment& it, std::vector<ReplicaSetRef> all) { return sort_sets(it, std::move(all)); }

// "v1=3 v2=5", of the sets that change.
std::string text(const std::vector<Resize>& steps) {
  std::string out;
  for (const auto& step : steps) {
    out += (out.empty() ? "" : " ") + step.set->spec.template_.spec.containers[0].image + "=" +
           std::to_string(step.replicas);
  }
  return out;
}

TEST(Rollout, TheHashesLabelIsNoDifference) {
  const auto it = demo(1);
  EXPECT_TRUE(same_template(it.spec.template_, new_set(it, {}).spec.template_));
  EXPECT_FALSE(same_template(it.spec.template_, demo(1, "v1").spec.template_));
  EXPECT_NE(template_hash(it.spec.template_, 0), template_hash(it.spec.template_, 1));
}

TEST(Rollout, PercentagesRoundSurgeUpAndUnavailableDown) {
  EXPECT_EQ(limits_of(demo(10)).surge, 3);
  EXPECT_EQ(limits_of(demo(10)).unavailable, 2);
  EXPECT_EQ(limits_of(demo(1)).surge, 1);
  EXPECT_EQ(limits_of(demo(1)).unavailable, 0);
  EXPECT_EQ(limits_of(demo(3, "v2", 0, 0)).unavailable, 1) << "else nothing could ever move";
}

TEST(Rollout, TheFirstSetIsMadeWhole) {
  const auto it = demo(4);
  const auto made = new_set(it, {});
  EXPECT_EQ(made.spec.replicas, 4);
  EXPECT_TRUE(made.metadata.name.starts_with("demo-"));
  EXPECT_EQ(made.spec.selector.matchLabels.at(std::string(kTemplateHash)),
            made.spec.template_.metadata.labels.at(std::string(kTemplateHash)));
}

TEST(Rollout, TheSecondGetsWhatMayBeTooMany) {
  const auto it = demo(4);
  EXPECT_EQ(new_set(it, sets_of(it, {set("v1", 4, 4)})).spec.replicas, 1);
}

// 4 replicas, one more and one less allowed, from v1 to v2: never fewer than 3 serve, never more than 5 are there.
TEST(Rollout, GoesStepByStep) {
  const auto it = demo(4);
  const auto next = [&](ReplicaSetRef a, ReplicaSetRef b) {
    return text(rolling_steps(it, sets_of(it, {std::move(a), std::move(b)})));
  };
  EXPECT_EQ(next(set("v1", 4, 4), set("v2", 1, 0, 1)), "v1=3") << "one may be missed";
  EXPECT_EQ(next(set("v1", 3, 3), set("v2", 1, 0, 1)), "v2=2");
  EXPECT_EQ(next(set("v1", 3, 3), set("v2", 2, 0, 1)), "") << "waits for pods";
  EXPECT_EQ(next(set("v1", 3, 3), set("v2", 2, 1, 1)), "v1=2");
  EXPECT_EQ(next(set("v1", 2, 2), set("v2", 2, 2, 1)), "v2=3");
  EXPECT_EQ(next(set("v1", 0, 0), set("v2", 4, 4, 1)), "") << "done";
}

TEST(Rollout, WithoutUnavailableItWaitsForTheNewFirst) {
  const auto it = demo(3, "v2", 1, 0);
  EXPECT_EQ(text(rolling_steps(it, sets_of(it, {set("v1", 3, 3), set("v2", 1, 0, 1)}))), "");
  EXPECT_EQ(text(rolling_steps(it, sets_of(it, {set("v1", 3, 3), set("v2", 1, 1, 1)}))), "v1=2");
}

TEST(Rollout, OldPodsThatDoNotServeGoFirst) {
  const auto it = demo(4, "v3");
  EXPECT_EQ(text(rolling_steps(it, sets_of(it, {set("v1", 2, 2), set("v2", 2, 0, 1), set("v3", 1, 1, 2)}))), "v2=0");
}

TEST(Rollout, RecreateWaitsUntilTheOldAreGone) {
  auto it = demo(3);
  it.spec.strategy = {};
  it.spec.strategy.type = "Recreate";
  EXPECT_EQ(text(recreate_steps(it, sets_of(it, {set("v1", 3, 3), set("v2", 0, 0, 1)}))), "v1=0");
  auto going = std::make_shared<ReplicaSet>(*set("v1", 0, 0));
  going->status.terminatingReplicas = 1;
  EXPECT_EQ(text(recreate_steps(it, sets_of(it, {going, set("v2", 0, 0, 1)}))), "");
  EXPECT_EQ(text(recreate_steps(it, sets_of(it, {set("v1", 0, 0), set("v2", 0, 0, 1)}))), "v2=3");
}

TEST(Rollout, ScalingInTheMiddleIsShared) {
  auto it = demo(10, "v2", 0, 5);
  const auto sets = sets_of(it, {set("v1", 4, 4), set("v2", 4, 4, 1)});
  it.spec.replicas = 16;
  EXPECT_EQ(text(scale_steps(it, sets)), "v2=8 v1=8");
  it.spec.replicas = 0;
  EXPECT_EQ(text(scale_steps(it, sets)), "v2=0 v1=0");
}

TEST(Rollout, HistoryIsKeptUpToItsLimit) {
  auto it = demo(1, "v9");
  it.spec.revisionHistoryLimit = 1;
  auto first = std::make_shared<ReplicaSet>(*set("v1", 0, 0));
  first->metadata.annotations[std::string(kRevision)] = "1";
  auto second = std::make_shared<ReplicaSet>(*set("v2", 0, 0, 1));
  second->metadata.annotations[std::string(kRevision)] = "2";
  const auto surplus = surplus_history(it, sets_of(it, {second, first, set("v9", 1, 1, 2)}));
  ASSERT_EQ(surplus.size(), 1U);
  EXPECT_EQ(surplus[0]->metadata.annotations.at(std::string(kRevision)), "1");
}

const api::appsv1::DeploymentCondition& condition(const api::appsv1::DeploymentStatus& status, std::string_view type) {
  for (const auto& one : status.conditions) {
    if (one.type == type) return one;
  }
  static const api::appsv1::DeploymentCondition kNone;
  return kNone;
}

TEST(Rollout, ProgressTimesOutAndComesBack) {
  auto it = demo(2);
  const auto waiting = sets_of(it, {set("v2", 2, 0)});
  it.status = observed(it, waiting, at(0));
  EXPECT_EQ(condition(it.status, "Progressing").reason, "NewReplicaSetCreated");
  EXPECT_EQ(condition(it.status, "Available").status, "False");
  EXPECT_EQ(deadline_of(it, it.status), at(600));
  it.status = observed(it, waiting, at(599));
  EXPECT_EQ(condition(it.status, "Progressing").status, "True");
  it.status = observed(it, waiting, at(600));
  EXPECT_EQ(condition(it.status, "Progressing").reason, "ProgressDeadlineExceeded");
  EXPECT_EQ(deadline_of(it, it.status), std::nullopt);
  it.status = observed(it, sets_of(it, {set("v2", 2, 1)}), at(700));
  EXPECT_EQ(condition(it.status, "Progressing").reason, "ReplicaSetUpdated");
  it.status = observed(it, sets_of(it, {set("v2", 2, 2)}), at(701));
  EXPECT_EQ(condition(it.status, "Progressing").reason, "NewReplicaSetAvailable");
  EXPECT_EQ(condition(it.status, "Available").lastTransitionTime, at(701));
}

}  // namespace
}  // namespace kopper::workloads
