#include "kopper/workloads/deployment.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "kopper/workloads/ownership.h"
#include "kopper/workloads/rollout.h"

namespace kopper::workloads {

using api::appsv1::Deployment;
using api::appsv1::DeploymentStatus;
using api::appsv1::ReplicaSet;
using runtime::Next;

namespace {

using Self = runtime::Context<Deployment>;

std::string text_of(const api::metav1::ObjectMeta& metadata, std::string_view annotation) {
  const auto found = metadata.annotations.find(std::string(annotation));
  return found == metadata.annotations.end() ? "" : found->second;
}

using Annotations = std::map<std::string, std::string>;

// What a set says of the Deployment's size, so that a change of it can be told from a rollout.
Annotations marks_of(const Deployment& deployment) {
  const auto wanted = deployment.spec.replicas.value_or(1);
  return {{std::string(kDesiredReplicas), fmt::format("{}", wanted)},
          {std::string(kMaxReplicas), fmt::format("{}", wanted + limits_of(deployment).surge)}};
}

json::Value annotate(const Annotations& annotations) {
  json::Object wanted;
  for (const auto& [key, value] : annotations) wanted[key] = value;
  json::Value patch = json::Object{};
  patch["metadata"] = json::Object{};
  patch["metadata"]["annotations"] = std::move(wanted);
  return patch;
}

Task<> resize(Self self, Resize step) {
  auto patch = annotate(marks_of(*self));
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
  auto marks = marks_of(*self);
  if (!sets.current) {
    auto made = new_set(*self, sets);
    made.metadata.annotations[std::string(kRevision)] = revision;
    for (const auto& [key, value] : marks) made.metadata.annotations[key] = value;
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
    marks[std::string(kRevision)] = revision;
    const bool marked = std::ranges::all_of(
        marks, [&](const auto& mark) { return text_of(sets.current->metadata, mark.first) == mark.second; });
    const auto min_ready = self->spec.minReadySeconds.value_or(0);
    if (!marked || sets.current->spec.minReadySeconds.value_or(0) != min_ready) {
      auto patch = annotate(marks);
      patch["spec"] = json::Object{};
      patch["spec"]["minReadySeconds"] = std::int64_t{min_ready};
      co_await self.patch(*sets.current, std::move(patch));
    }
  }
  if (text_of(self->metadata, kRevision) != revision) {
    const Annotations current{{std::string(kRevision), revision}};
    co_await self.patch(*self, annotate(current));
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
      .watches<ReplicaSet>(may_adopt<Deployment, ReplicaSet>, uncontrolled())
      .may<Deployment>({"patch"})
      .reconcile(reconcile);
}

}  // namespace kopper::workloads
