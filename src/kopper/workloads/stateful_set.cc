#include "kopper/workloads/stateful_set.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kopper/runtime/replicas.h"
#include "kopper/workloads/ordinals.h"
#include "kopper/workloads/ownership.h"
#include "kopper/workloads/pod_template.h"
#include "kopper/workloads/revisions.h"

namespace kopper::workloads {

using api::PodRef;
using api::appsv1::ControllerRevision;
using api::appsv1::StatefulSet;
using api::corev1::PersistentVolumeClaim;
using api::corev1::Pod;
using runtime::Next;

namespace {

using Self = runtime::Context<StatefulSet>;
using ClaimRef = std::shared_ptr<const PersistentVolumeClaim>;

struct Revisions {
  RevisionRef current;
  RevisionRef update;

  RevisionNames names() const { return {current->metadata.name, update->metadata.name}; }
};

Task<Revisions> revisions_of(Self set, api::Selector selector) {
  const auto history = co_await set.claim<ControllerRevision>(selector);
  Revisions out;
  out.update = co_await ensure_revision(set, history, "controller.kubernetes.io/hash");
  out.current = out.update;
  for (const auto& one : history) {
    if (one->metadata.name == set->status.currentRevision) out.current = one;
  }
  co_return out;
}

// The claims of a pod are there and owned as they should be; false when the pod must wait for one that goes.
Task<bool> ensure_claims(Self set, std::int32_t ordinal, PodRef pod) {
  const auto name = fmt::format("{}-{}", set->metadata.name, ordinal);
  bool ready = true;
  for (auto& wanted : new_claims(*set, ordinal)) {
    auto claim = set.find<PersistentVolumeClaim>(wanted.metadata.name);
    if (claim && is_stale(*claim, name, pod.get())) {
      ready = false;
      continue;
    }
    if (!claim) {
      runtime::ChildOptions options;
      options.owned = false;
      wanted.metadata.ownerReferences = claim_owners(*set, wanted, ordinal, pod.get());
      const auto made = co_await set.create(std::move(wanted), options);
      set.event("SuccessfulCreate", "create Claim {} Pod {} in StatefulSet {} success", made.metadata.name, name,
                set->metadata.name);
      continue;
    }
    auto owners = claim_owners(*set, *claim, ordinal, pod.get());
    if (owners == claim->metadata.ownerReferences) continue;
    co_await set.run().set_owners(client::resource_of<PersistentVolumeClaim>(), claim->metadata, std::move(owners));
  }
  co_return ready;
}

Task<> create(Self set, Revisions revisions, std::int32_t ordinal) {
  const bool ready = co_await ensure_claims(set, ordinal, nullptr);
  if (!ready) co_return;
  const auto revision = is_updated(*set, ordinal) ? revisions.update : revisions.current;
  const auto made = co_await set.create(new_pod(*set, template_of(*revision), ordinal, revision->metadata.name));
  set.event("SuccessfulCreate", "create Pod {} in StatefulSet {} successful", made.metadata.name, set->metadata.name);
}

Task<> remove(Self set, PodRef pod) {
  if (pod->status.phase == "Failed") {
    set.warning("RecreatingFailedPod", "StatefulSet {} is recreating failed Pod {}", set.key().str(),
                pod->metadata.name);
  }
  const bool gone = co_await set.remove(*pod);
  if (gone)
    set.event("SuccessfulDelete", "delete Pod {} in StatefulSet {} successful", pod->metadata.name, set->metadata.name);
}

Task<> identify(Self set, PodRef pod, std::int32_t ordinal) {
  json::Value patch = json::Object{};
  patch["metadata"]["labels"][kPodName] = pod->metadata.name;
  patch["metadata"]["labels"][kPodIndex] = fmt::format("{}", ordinal);
  co_await set.patch(*pod, std::move(patch));
}

Task<> keep_claims(Self set, std::vector<PodRef> pods) {
  if (set->spec.volumeClaimTemplates.empty()) co_return;
  for (const auto& pod : pods) {
    const auto ordinal = ordinal_of(set->metadata.name, pod->metadata.name);
    if (ordinal && !pod->metadata.deletionTimestamp.is_set()) co_await ensure_claims(set, *ordinal, pod);
  }
}

Task<> bring_about(Self set, Revisions revisions, std::vector<PodRef> pods) {
  co_await keep_claims(set, pods);
  std::vector<std::int32_t> created;
  for (const auto& step : next_steps(*set, revisions.names(), pods, set.run().now())) {
    if (step.what == OrdinalStep::What::Create) created.push_back(step.ordinal);
    if (step.what == OrdinalStep::What::Remove) co_await remove(set, step.pod);
    if (step.what == OrdinalStep::What::Identify) co_await identify(set, step.pod, step.ordinal);
  }
  const auto create_one = [&](std::size_t i) { return create(set, revisions, created[i]); };
  co_await runtime::slow_start(created.size(), create_one);
}

std::set<std::string> live_revisions(const Revisions& revisions, const std::vector<PodRef>& pods) {
  std::set<std::string> live{revisions.current->metadata.name, revisions.update->metadata.name};
  for (const auto& pod : pods) {
    const auto found = pod->metadata.labels.find(std::string(kRevisionLabel));
    if (found != pod->metadata.labels.end()) live.insert(found->second);
  }
  return live;
}

Task<Next> reconcile(Self set) {
  const auto selector = selector_of(*set);
  const std::function<bool(const Pod&)> ours = [&](const Pod& pod) {
    return ordinal_of(set->metadata.name, pod.metadata.name).has_value();
  };
  const auto pods = co_await claim_where<Pod>(set, selector, ours);
  const auto revisions = co_await revisions_of(set, selector);
  std::optional<Error> failed;
  try {
    co_await bring_about(set, revisions, pods);
  } catch (const Error& error) {
    failed = error;
  }
  const auto now = set.run().now();
  const auto there = set.children<Pod>();
  co_await set.set_status(observed(*set, revisions.names(), there, now));
  if (failed) throw *failed;
  co_await forget_revisions(set, live_revisions(revisions, there));
  co_return when_available(there, set->spec.minReadySeconds.value_or(0), now);
}

bool is_its_claim(const StatefulSet& set, const PersistentVolumeClaim& claim) {
  if (set.spec.volumeClaimTemplates.empty()) return false;
  const auto selector = api::Selector::from(set.spec.selector);
  return selector && selector->matches(claim.metadata.labels);
}

}  // namespace

runtime::ControllerSpec stateful_set() {
  return runtime::controller<StatefulSet>()
      .owns<Pod>()
      .owns<ControllerRevision>()
      .watches<Pod>(may_adopt<StatefulSet, Pod>, uncontrolled())
      .watches<PersistentVolumeClaim>(is_its_claim)
      .may<PersistentVolumeClaim>({"create", "get", "patch"})
      .reconcile(reconcile);
}

}  // namespace kopper::workloads
