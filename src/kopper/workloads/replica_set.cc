#include "kopper/workloads/replica_set.h"

#include <algorithm>
#include <optional>

#include "kopper/runtime/replicas.h"
#include "kopper/workloads/ownership.h"
#include "kopper/workloads/pod_template.h"

namespace kopper::workloads {

using api::PodRef;
using api::appsv1::ReplicaSet;
using api::appsv1::ReplicaSetStatus;
using api::corev1::Pod;
using runtime::Next;

namespace {

using Self = runtime::Context<ReplicaSet>;

Pod new_pod(const ReplicaSet& set, std::string name) {
  auto pod = pod_of(set.spec.template_);
  pod.metadata.name = std::move(name);
  pod.metadata.generateName = set.metadata.name + "-";
  return pod;
}

Task<> create(Self set, std::string name) {
  const auto made = co_await set.create(new_pod(*set, std::move(name)));
  set.event("SuccessfulCreate", "Created pod: {}", made.metadata.name);
}

Task<> remove(Self set, PodRef pod) {
  const bool gone = co_await set.remove(*pod);
  if (gone) set.event("SuccessfulDelete", "Deleted pod: {}", pod->metadata.name);
}

Task<> bring_about(Self set, runtime::ReplicaPlan plan) {
  const auto create_one = [&](std::size_t i) { return create(set, plan.create[i]); };
  const auto remove_one = [&](std::size_t i) { return remove(set, plan.remove[i]); };
  co_await runtime::slow_start(plan.create.size(), create_one);
  co_await runtime::slow_start(plan.remove.size(), remove_one);
}

Task<Next> reconcile(Self set) {
  const auto pods = co_await set.claim<Pod>(selector_of(*set));
  std::optional<Error> failed;
  try {
    const auto wanted = static_cast<std::size_t>(set->spec.replicas.value_or(1));
    co_await bring_about(set, runtime::plan_replicas(set->metadata, wanted, pods));
  } catch (const Error& error) {
    failed = error;
  }
  const auto now = set.run().now();
  const auto there = set.children<Pod>();
  co_await set.set_status(observed(*set, there, now, failed ? &*failed : nullptr));
  if (failed) throw *failed;
  co_return when_available(there, set->spec.minReadySeconds.value_or(0), now);
}

}  // namespace

ReplicaSetStatus observed(const ReplicaSet& set, const std::vector<PodRef>& pods, api::Time now, const Error* failed) {
  ReplicaSetStatus status;
  status.observedGeneration = set.metadata.generation;
  status.terminatingReplicas = 0;
  for (const auto& pod : pods) {
    if (pod->metadata.deletionTimestamp.is_set()) ++*status.terminatingReplicas;
    if (!api::is_active(*pod)) continue;
    ++status.replicas;
    const auto& wanted = set.spec.template_.metadata.labels;
    if (std::ranges::all_of(wanted, [&](const auto& label) {
          const auto found = pod->metadata.labels.find(label.first);
          return found != pod->metadata.labels.end() && found->second == label.second;
        })) {
      ++status.fullyLabeledReplicas;
    }
    if (api::is_ready(*pod)) ++status.readyReplicas;
    if (api::is_available(*pod, set.spec.minReadySeconds.value_or(0), now)) ++status.availableReplicas;
  }
  if (failed != nullptr) {
    const auto before =
        std::ranges::find(set.status.conditions, "ReplicaFailure", &api::appsv1::ReplicaSetCondition::type);
    status.conditions.push_back(
        {.type = "ReplicaFailure",
         .status = "True",
         .lastTransitionTime = before != set.status.conditions.end() ? before->lastTransitionTime : now,
         .reason = status.replicas < set.spec.replicas.value_or(1) ? "FailedCreate" : "FailedDelete",
         .message = failed->what()});
  }
  return status;
}

runtime::ControllerSpec replica_set() {
  return runtime::controller<ReplicaSet>()
      .owns<Pod>()
      .watches<Pod>(may_adopt<ReplicaSet, Pod>, uncontrolled())
      .reconcile(reconcile);
}

}  // namespace kopper::workloads
