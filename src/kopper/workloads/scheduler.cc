#include "kopper/workloads/scheduler.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <utility>

#include "kopper/api/gen/core_v1.h"
#include "kopper/client/raw_api.h"
#include "kopper/json/value.h"
#include "kopper/workloads/placement.h"

namespace kopper::workloads {

using api::PodRef;
using api::corev1::Node;
using api::corev1::Pod;
using api::corev1::PodCondition;
using runtime::Next;

namespace {

using Self = runtime::Context<Pod>;

// Pods that were bound, but which the cache does not show so yet: uid → node.
using Bound = std::map<std::string, std::string>;

bool is_ours(const Pod& pod) {
  const bool scheduler = pod.spec.schedulerName.empty() || pod.spec.schedulerName == "default-scheduler";
  return scheduler && pod.spec.nodeName.empty() && pod.spec.schedulingGates.empty() && api::is_active(pod);
}

bool may_go_there(const Pod& pod, const Node&) { return is_ours(pod); }

// All pods with the nodes that they are on, also those that only we know of.
std::vector<PodRef> placed(const Self& self, Bound& bound) {
  auto pods = self.list<Pod>(cache::Filter());
  Bound still;
  for (auto& pod : pods) {
    const auto known = bound.find(pod->metadata.uid);
    if (known == bound.end() || !pod->spec.nodeName.empty()) continue;
    auto there = std::make_shared<Pod>(*pod);
    there->spec.nodeName = known->second;
    still.insert(*known);
    pod = std::move(there);
  }
  bound = std::move(still);
  return pods;
}

Task<> bind(Self self, std::string node) {
  json::Value body = json::Object{};
  body["apiVersion"] = "v1";
  body["kind"] = "Binding";
  body["metadata"] = json::Object{};
  body["metadata"]["name"] = self->metadata.name;
  body["metadata"]["namespace"] = self->metadata.namespace_;
  body["metadata"]["uid"] = self->metadata.uid;
  body["target"] = json::Object{};
  body["target"]["kind"] = "Node";
  body["target"]["name"] = node;
  client::WriteOptions options;
  options.subresource = "binding";
  const client::RawApi api(self.client(), client::resource_of<Pod>());
  co_await api.create(self.key(), json::dump(body), options);
  self.event("Scheduled", "Successfully assigned {} to {}", self.key().str(), node);
}

Task<> tell(Self self, std::string reason) {
  const auto& conditions = self->status.conditions;
  const auto before = std::ranges::find(conditions, "PodScheduled", &PodCondition::type);
  if (before != conditions.end() && before->status == "False" && before->message == reason) co_return;
  json::Value condition = json::Object{};
  condition["type"] = "PodScheduled";
  condition["status"] = "False";
  condition["reason"] = "Unschedulable";
  condition["message"] = reason;
  condition["lastTransitionTime"] = before != conditions.end() && before->status == "False"
                                        ? before->lastTransitionTime.str()
                                        : self.run().now().str();
  json::Value patch = json::Object{};
  patch["metadata"] = json::Object{};
  patch["metadata"]["uid"] = self->metadata.uid;
  patch["status"] = json::Object{};
  patch["status"]["conditions"] = json::Array{condition};
  client::PatchOptions options;
  options.subresource = "status";
  const client::RawApi api(self.client(), client::resource_of<Pod>());
  co_await api.patch(self.key(), client::PatchType::Strategic, json::dump(patch), options);
  self.warning("FailedScheduling", "{}", reason);
}

Task<Next> schedule(Self self, std::shared_ptr<Bound> bound) {
  if (!is_ours(*self)) co_return Next::wait();
  const auto pods = placed(self, *bound);
  if (bound->contains(self->metadata.uid)) co_return Next::wait();
  const auto placement = place(*self, self.list<Node>(cache::Filter()), pods);
  if (placement.node.empty()) {
    co_await tell(self, placement.reason);
    co_return Next::in(std::chrono::seconds(5));  // a pod that goes makes room
  }
  bound->emplace(self->metadata.uid, placement.node);
  try {
    co_await bind(self, placement.node);
  } catch (const Error&) {
    bound->erase(self->metadata.uid);
    throw;
  }
  co_return Next::wait();
}

}  // namespace

runtime::ControllerSpec scheduler() {
  const auto bound = std::make_shared<Bound>();
  return runtime::controller<Pod>()
      .name("scheduler")
      .watches<Node>(may_go_there)
      .may<Pod>({"create"}, "binding")
      .may<Pod>({"patch"}, "status")
      .reconcile([bound](Self self) { return schedule(std::move(self), bound); });
}

}  // namespace kopper::workloads
