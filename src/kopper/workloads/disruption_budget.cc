#include "kopper/workloads/disruption_budget.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "kopper/api/gen/apps_v1.h"
#include "kopper/api/owner.h"
#include "kopper/api/selector.h"
#include "kopper/client/discovery.h"
#include "kopper/client/raw_api.h"
#include "kopper/workloads/disruption.h"

namespace kopper::workloads {

using api::PodRef;
using api::appsv1::Deployment;
using api::appsv1::ReplicaSet;
using api::appsv1::StatefulSet;
using api::corev1::Pod;
using api::metav1::OwnerReference;
using api::policyv1::PodDisruptionBudget;
using api::policyv1::PodDisruptionBudgetStatus;
using runtime::Next;

namespace {

using Self = runtime::Context<PodDisruptionBudget>;

// Resources by "group/version kind", of owners that are not built in.
using Known = std::map<std::string, client::Resource>;

bool selects(const PodDisruptionBudget& budget, const Pod& pod) {
  if (!budget.spec.selector) return false;
  const auto selector = api::Selector::from(*budget.spec.selector);
  return selector && selector->matches(pod.metadata.labels);
}

bool is_a(const OwnerReference& owner, const Kind& kind) {
  return owner.kind == kind.kind && owner.apiVersion == kind.api_version();
}

// Of a kind that only the server knows.
Task<std::int32_t> asked_scale(Self budget, OwnerReference owner, std::shared_ptr<Known> known) {
  const auto name = owner.apiVersion + " " + owner.kind;
  auto at = known->find(name);
  if (at == known->end()) {
    const auto slash = owner.apiVersion.find('/');
    const auto group = slash == std::string::npos ? "" : owner.apiVersion.substr(0, slash);
    const auto version = slash == std::string::npos ? owner.apiVersion : owner.apiVersion.substr(slash + 1);
    client::RestMapper mapper(budget.client());
    const auto found = co_await mapper.find(group, version, owner.kind);
    at = known->insert_or_assign(name, found.resource).first;
  }
  const client::RawApi api(budget.client(), at->second);
  const Key whose(budget.key().namespace_, owner.name);
  const auto scale = co_await api.scale(whose);
  co_return static_cast<std::int32_t>(scale.replicas);
}

// How many pods the owners of these want. A pod that nobody controls is not counted.
Task<std::int32_t> expected_of(Self budget, std::vector<PodRef> pods, std::shared_ptr<Known> known) {
  std::map<std::string, std::int32_t> wanted;  // by the uid of who was asked
  std::map<std::string, OwnerReference> others;
  for (const auto& pod : pods) {
    const auto* owner = api::controller_of(pod->metadata);
    if (owner == nullptr) continue;
    if (is_a(*owner, ReplicaSet::kind)) {
      const auto set = budget.find<ReplicaSet>(owner->name);
      if (!set || set->metadata.uid != owner->uid) continue;
      const auto* above = api::controller_of(set->metadata);
      const auto deployment =
          above != nullptr && is_a(*above, Deployment::kind) ? budget.find<Deployment>(above->name) : nullptr;
      if (deployment && deployment->metadata.uid == above->uid) {
        wanted[above->uid] = deployment->spec.replicas.value_or(1);
      } else {
        wanted[owner->uid] = set->spec.replicas.value_or(1);
      }
    } else if (is_a(*owner, StatefulSet::kind)) {
      const auto set = budget.find<StatefulSet>(owner->name);
      if (set && set->metadata.uid == owner->uid) wanted[owner->uid] = set->spec.replicas.value_or(1);
    } else {
      others.emplace(owner->uid, *owner);
    }
  }
  std::int32_t sum = 0;
  for (const auto& [uid, owner] : others) {
    try {
      const auto scale = co_await asked_scale(budget, owner, known);
      sum += scale;
    } catch (Error& error) {
      error.with(fmt::format("the scale of {} {}", owner.kind, owner.name));
      throw;
    }
  }
  for (const auto& [uid, replicas] : wanted) sum += replicas;
  co_return sum;
}

// Not by server-side apply: an eviction that was granted meanwhile must not be forgotten, so that the version counts.
Task<> write_status(Self budget, PodDisruptionBudgetStatus status) {
  if (status == budget->status) co_return;
  auto next = *budget;
  next.status = std::move(status);
  const auto resource = client::resource_of<PodDisruptionBudget>();
  const client::RawApi api(budget.client(), resource);
  client::WriteOptions options;
  options.subresource = "status";
  const auto written = co_await api.replace(budget.key(), client::to_json(next), options);
  if (!written) throw Error(written.error().error);
  budget.run().cluster().cache.note_write(resource, *written);
}

std::vector<PodRef> pods_of(const Self& budget) {
  if (!budget->spec.selector) return {};
  auto selector = api::Selector::from(*budget->spec.selector);
  if (!selector) return {};
  cache::Filter filter;
  filter.namespace_ = budget.key().namespace_;
  filter.labels = std::move(*selector);
  return budget.list<Pod>(std::move(filter));
}

Task<Next> reconcile(Self budget, std::shared_ptr<Known> known) {
  const auto pods = pods_of(budget);
  if (pods.empty()) budget.event("NoPods", "No matching pods found");
  const auto now = budget.run().now();
  PodDisruptionBudgetStatus status;
  std::optional<Error> failed;
  try {
    auto expected = static_cast<std::int32_t>(pods.size());
    if (counts_owners(*budget)) expected = co_await expected_of(budget, pods, known);
    status = observed(*budget, pods, expected, now);
  } catch (const Error& error) {
    status = undecided(*budget, error.what(), now);
    budget.warning("CalculateExpectedPodCountFailed", "Failed to calculate the number of expected pods: {}",
                   error.what());
    failed = error;
  }
  co_await write_status(budget, status);
  if (failed) throw *failed;
  const auto expiry = next_expiry(status);
  if (!expiry) co_return Next::wait();
  co_return Next::in(std::max(expiry->point() - now.point(), std::chrono::seconds(1)));
}

template <class Owner>
bool is_near(const PodDisruptionBudget&, const Owner&) {
  return true;
}

}  // namespace

runtime::ControllerSpec disruption_budget() {
  const auto known = std::make_shared<Known>();
  return runtime::controller<PodDisruptionBudget>()
      .when(runtime::Predicate())
      .watches<Pod>(selects)
      .watches<Deployment>(is_near<Deployment>, runtime::generation_changed())
      .watches<ReplicaSet>(is_near<ReplicaSet>, runtime::generation_changed())
      .watches<StatefulSet>(is_near<StatefulSet>, runtime::generation_changed())
      .may<PodDisruptionBudget>({"update"}, "status")
      .reconcile([known](Self budget) { return reconcile(std::move(budget), known); });
}

}  // namespace kopper::workloads
