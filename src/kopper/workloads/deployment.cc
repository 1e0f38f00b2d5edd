#include "kopper/workloads/deployment.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include <fmt/format.h>

#include "kopper/api/owner.h"
#include "kopper/api/selector.h"
#include "kopper/workloads/rollout.h"

namespace kopper::workloads {

using api::appsv1::Deployment;
using api::appsv1::DeploymentStatus;
using api::appsv1::ReplicaSet;
using runtime::Next;

namespace {

using Self = runtime::Context<Deployment>;

api::Selector selector_of(const Deployment& deployment) {
  auto selector = api::Selector::from(deployment.spec.selector);
  if (!selector) throw runtime::Terminal("spec.selector: " + selector.error().str());
  return std::move(*selector);
}

bool may_adopt(const Deployment& deployment, const ReplicaSet& set) {
  if (api::controller_of(set.metadata) != nullptr) return false;
  const auto selector = api::Selector::from(deployment.spec.selector);
  return selector && selector->matches(set.metadata.labels);
}

std::string text_of(const api::metav1::ObjectMeta& metadata, std::string_view annotation) {
  const auto found = metadata.annotations.find(std::string(annotation));
  return found == metadata.annotations.end() ? "" : found->second;
}

// What a set says of the Deployment's size, so that a change of it can be told from a rollout.
struct SizeMarks {
  std::string desired;
  std::string most;
};
SizeMarks marks_of(const Deployment& deployment) {
  const auto wanted = deployment.spec.replicas.value_or(1);
  return {fmt::format("{}", wanted), fmt::format("{}", wanted + limits_of(deployment).surge)};
}

Task<> resize(Self self, Resize step) {
  const auto marks = marks_of(*self);
  json::Value patch = json::Object{};
  patch["metadata"] = json::Object{};
  auto& annotations = patch["metadata"]["annotations"];
  annotations = json::Object{};
  annotations[kDesiredReplicas] = marks.desired;
  annotations[kMaxReplicas] = marks.most;
  patch["spec"] = json::Object{};
  patch["spec"]["replicas"] = std::int64_t{step.replicas};
  const auto before = step.set->spec.replicas.value_or(1);
  co_await self.patch(*step.set, std::move(patch));
  self.event("ScalingReplicaSet", "Scaled {} replica set {} from {} to {}", step.replicas > before ? "up" : "down",
             step.set->metadata.name, before, step.replicas);
}

Task<> resize_all(Self self, std::vector<Resize> steps) {
  for (auto& step : steps) co_await resize(self, std::move(step));
}

// The set of the template is there, and has the highest revision; the Deployment says which one that is.
Task<> ensure_current(Self self, Sets sets) {
  std::int64_t highest = 0;
  for (const auto& set : sets.old) highest = std::max(highest, revision_of(*set));
  auto revision = fmt::format("{}", highest + 1);
  const auto marks = marks_of(*self);
  if (!sets.current) {
    auto made = new_set(*self, sets);
    made.metadata.annotations[std::string(kRevision)] = revision;
    made.metadata.annotations[std::string(kDesiredReplicas)] = marks.desired;
    made.metadata.annotations[std::string(kMaxReplicas)] = marks.most;
    const auto replicas = made.spec.replicas.value_or(0);
    const auto live = co_await self.create(std::move(made));
    if (!same_template(live.spec.template_, self->spec.template_)) {
      // Another template of the same hash: the next pass tries another one.
      auto status = self->status;
      status.collisionCount = status.collisionCount.value_or(0) + 1;
      co_await self.set_status(std::move(status));
      throw Error(Code::Conflict, fmt::format("ReplicaSet {} is of another template", live.metadata.name));
    }
    self.event("ScalingReplicaSet", "Scaled up replica set {} from 0 to {}", live.metadata.name, replicas);
  } else {
    // An older one that is wanted again: kubectl rollout undo.
    if (revision_of(*sets.current) > highest) revision = text_of(sets.current->metadata, kRevision);
    const bool same = text_of(sets.current->metadata, kRevision) == revision &&
                      text_of(sets.current->metadata, kDesiredReplicas) == marks.desired &&
                      text_of(sets.current->metadata, kMaxReplicas) == marks.most &&
                      sets.current->spec.minReadySeconds.value_or(0) == self->spec.minReadySeconds.value_or(0);
    if (!same) {
      json::Value patch = json::Object{};
      patch["metadata"] = json::Object{};
      auto& annotations = patch["metadata"]["annotations"];
      annotations = json::Object{};
      annotations[kRevision] = revision;
      annotations[kDesiredReplicas] = marks.desired;
      annotations[kMaxReplicas] = marks.most;
      patch["spec"] = json::Object{};
      patch["spec"]["minReadySeconds"] = std::int64_t{self->spec.minReadySeconds.value_or(0)};
      co_await self.patch(*sets.current, std::move(patch));
    }
  }
  if (text_of(self->metadata, kRevision) != revision) {
    json::Value patch = json::Object{};
    patch["metadata"] = json::Object{};
    patch["metadata"]["annotations"] = json::Object{};
    patch["metadata"]["annotations"][kRevision] = revision;
    co_await self.patch(*self, std::move(patch));
  }
}

Task<> roll_out(Self self, api::Selector selector) {
  const auto claimed = co_await self.claim<ReplicaSet>(selector);
  auto sets = sort_sets(*self, claimed);
  const bool paused = self->spec.paused.value_or(false);
  if (paused || was_scaled(*self, sets)) {
    const auto steps = scale_steps(*self, sets);
    co_await resize_all(self, steps);
    if (paused) co_return;
    if (!steps.empty()) sets = sort_sets(*self, self.children<ReplicaSet>());
  }
  co_await ensure_current(self, sets);
  sets = sort_sets(*self, self.children<ReplicaSet>());
  if (!sets.current) co_return;
  const bool recreate = self->spec.strategy.type == "Recreate";
  const auto steps = recreate ? recreate_steps(*self, sets) : rolling_steps(*self, sets);
  co_await resize_all(self, steps);
}

Task<> forget_history(Self self, Sets sets) {
  for (const auto& set : surplus_history(*self, sets)) co_await self.remove(*set);
}

Task<Next> reconcile(Self self) {
  co_await roll_out(self, selector_of(*self));
  const auto sets = sort_sets(*self, self.children<ReplicaSet>());
  const auto now = self.run().now();
  const auto status = observed(*self, sets, now);
  co_await self.set_status(status);
  if (is_complete(*self, status)) co_await forget_history(self, sets);
  const auto deadline = deadline_of(*self, status);
  if (!deadline) co_return Next::wait();
  co_return Next::in(std::max(deadline->point() - now.point(), std::chrono::seconds(0)) + std::chrono::seconds(1));
}

}  // namespace

runtime::ControllerSpec deployment() {
  return runtime::controller<Deployment>()
      .owns<ReplicaSet>()
      .watches<ReplicaSet>(may_adopt)
      .may<Deployment>({"patch"})
      .reconcile(reconcile);
}

}  // namespace kopper::workloads
