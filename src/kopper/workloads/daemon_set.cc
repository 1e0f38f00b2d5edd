#include "kopper/workloads/daemon_set.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kopper/runtime/replicas.h"
#include "kopper/workloads/daemons.h"
#include "kopper/workloads/ownership.h"
#include "kopper/workloads/pod_template.h"
#include "kopper/workloads/revisions.h"

namespace kopper::workloads {

using api::PodRef;
using api::appsv1::ControllerRevision;
using api::appsv1::DaemonSet;
using api::corev1::Node;
using api::corev1::Pod;
using runtime::Next;

namespace {

using Self = runtime::Context<DaemonSet>;
using Seconds = std::chrono::seconds;

// How long the pod that failed on a node stays before another one is tried there: longer each time.
struct Patience {
  api::Time last;
  Seconds delay{0};
};
using Patiences = std::map<std::string, Patience>;  // by set's uid and node

constexpr Seconds kMost{900};

// When the pod may be replaced; nothing: now.
std::optional<Seconds> hold(Patiences& all, const std::string& key, api::Time now) {
  auto& one = all[key];
  if (one.last.is_set() && one.last.point() + one.delay > now.point()) {
    return one.last.point() + one.delay - now.point();
  }
  const bool calm = !one.last.is_set() || one.last.point() + 2 * kMost < now.point();
  one = {now, calm ? Seconds(1) : std::min(kMost, one.delay * 2)};
  return std::nullopt;
}

std::string hash_of(const ControllerRevision& revision) {
  const auto found = revision.metadata.labels.find(std::string(kRevisionLabel));
  return found == revision.metadata.labels.end() ? revision.metadata.name : found->second;
}

Task<> create(Self set, std::string node, std::string hash) {
  const auto made = co_await set.create(new_pod(*set, node, hash));
  set.event("SuccessfulCreate", "Created pod: {}", made.metadata.name);
}

Task<> remove(Self set, PodRef pod) {
  const bool gone = co_await set.remove(*pod);
  if (gone) set.event("SuccessfulDelete", "Deleted pod: {}", pod->metadata.name);
}

// How long until the next pod that ended may go, if any waits.
Task<std::optional<Seconds>> remove_ended(Self set, std::vector<PodRef> ended, std::shared_ptr<Patiences> patiences) {
  std::optional<Seconds> next;
  for (const auto& pod : ended) {
    const auto node = target_node(*pod);
    const auto wait = hold(*patiences, set->metadata.uid + "/" + node, set.run().now());
    if (wait) {
      next = std::min(next.value_or(*wait), *wait);
      continue;
    }
    const bool failed = pod->status.phase == "Failed";
    set.warning(failed ? "FailedDaemonPod" : "SucceededDaemonPod",
                "Found {} daemon pod {} on node {}, will try to kill it", failed ? "failed" : "succeeded",
                pod->metadata.name, node);
    co_await remove(set, pod);
  }
  co_return next;
}

Task<std::optional<Seconds>> bring_about(Self set, std::vector<PodRef> pods, std::string hash,
                                         std::shared_ptr<Patiences> patiences) {
  const auto nodes = set.list<Node>(cache::Filter());
  const auto plan = plan_daemons(*set, nodes, pods);
  const auto create_one = [&](std::size_t i) { return create(set, plan.create[i], hash); };
  co_await runtime::slow_start(plan.create.size(), create_one);
  for (const auto& pod : plan.remove) co_await remove(set, pod);
  const auto wait = co_await remove_ended(set, plan.ended, patiences);
  if (set->spec.updateStrategy.type != "OnDelete") {
    for (const auto& pod : outdated(*set, nodes, pods, hash, set.run().now())) co_await remove(set, pod);
  }
  co_return wait;
}

std::set<std::string> live_revisions(const Self& set, const ControllerRevision& current,
                                     const std::vector<PodRef>& pods) {
  std::set<std::string> live{current.metadata.name};
  for (const auto& one : set.children<ControllerRevision>()) {
    const auto hash = hash_of(*one);
    const bool used = std::ranges::any_of(pods, [&](const PodRef& pod) {
      const auto found = pod->metadata.labels.find(std::string(kRevisionLabel));
      return found != pod->metadata.labels.end() && found->second == hash;
    });
    if (used) live.insert(one->metadata.name);
  }
  return live;
}

Task<Next> reconcile(Self set, std::shared_ptr<Patiences> patiences) {
  const auto selector = selector_of(*set);
  const auto pods = co_await set.claim<Pod>(selector);
  const auto history = co_await set.claim<ControllerRevision>(selector);
  const auto revision = co_await ensure_revision(set, history, kRevisionLabel);
  const auto hash = hash_of(*revision);
  std::optional<Error> failed;
  std::optional<Seconds> wait;
  try {
    wait = co_await bring_about(set, pods, hash, patiences);
  } catch (const Error& error) {
    failed = error;
  }
  const auto now = set.run().now();
  const auto there = set.children<Pod>();
  co_await set.set_status(observed(*set, set.list<Node>(cache::Filter()), there, hash, now));
  if (failed) throw *failed;
  co_await forget_revisions(set, live_revisions(set, *revision, there));
  const auto ready = when_available(there, set->spec.minReadySeconds.value_or(0), now);
  if (ready.delay() || !wait) co_return ready;
  co_return Next::in(*wait);
}

// What decides whether a pod goes there.
bool changed_for_pods(const Node& before, const Node& after) {
  return before.metadata.labels != after.metadata.labels || before.spec.taints != after.spec.taints ||
         before.spec.unschedulable != after.spec.unschedulable;
}

bool may_run_there(const DaemonSet&, const Node&) { return true; }

}  // namespace

runtime::ControllerSpec daemon_set() {
  const auto patiences = std::make_shared<Patiences>();
  return runtime::controller<DaemonSet>()
      .owns<Pod>()
      .owns<ControllerRevision>()
      .watches<Pod>(may_adopt<DaemonSet, Pod>, uncontrolled())
      .watches<Node>(may_run_there, runtime::changed<Node>(changed_for_pods))
      .reconcile([patiences](Self set) { return reconcile(std::move(set), patiences); });
}

}  // namespace kopper::workloads
