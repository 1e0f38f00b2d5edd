#include "types.h"

namespace podset {

namespace {

using Self = kopper::Context<PodSet>;

kopper::Task<> create(Self set, std::string name) { co_await set.create(desired(*set, std::move(name))); }
kopper::Task<> remove(Self set, std::shared_ptr<const kopper::Pod> pod) { co_await set.remove(*pod); }

// The whole difference at once. What each call did is in the cache when it returns.
kopper::Task<> bring_about(Self set, kopper::ReplicaPlan plan) {
  plan.remove.insert(plan.remove.end(), plan.ended.begin(), plan.ended.end());
  const auto create_one = [&](std::size_t i) { return create(set, plan.create[i]); };
  const auto remove_one = [&](std::size_t i) { return remove(set, plan.remove[i]); };
  co_await kopper::slow_start(plan.remove.size(), remove_one);
  co_await kopper::slow_start(plan.create.size(), create_one);
}

kopper::Task<kopper::Next> reconcile(Self set) {
  const auto pods = co_await set.claim<kopper::Pod>(kopper::Selector::of(labels_of(*set)));
  std::optional<kopper::Error> failed;
  try {
    const auto wanted = static_cast<std::size_t>(set->spec.size);
    co_await bring_about(set, kopper::plan_replicas(set->metadata, wanted, pods));
  } catch (const kopper::Error& error) {
    failed = error;
  }
  // Also when some pods could not be made: those that could count.
  co_await set.set_status(observed(*set, set.children<kopper::Pod>(), failed ? &*failed : nullptr));
  if (failed) throw *failed;
  co_return kopper::Next::wait();
}

// Pods that nobody controls are taken over when they carry the label.
std::vector<kopper::Key> wanted_by(const kopper::Pod& pod) {
  const auto owner = pod.metadata.labels.find("podset_cr");
  if (owner == pod.metadata.labels.end()) return {};
  return {kopper::Key(pod.metadata.namespace_, owner->second)};
}

}  // namespace

kopper::ControllerSpec podset() {
  return kopper::controller<PodSet>().owns<kopper::Pod>().watches<kopper::Pod>(wanted_by).reconcile(reconcile);
}

}  // namespace podset
