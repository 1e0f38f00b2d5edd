#include "kopper/workloads/daemons.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "kopper/api/int_or_string.h"
#include "kopper/runtime/replicas.h"
#include "kopper/workloads/pod_template.h"
#include "kopper/workloads/revisions.h"

namespace kopper::workloads {

using api::PodRef;
using api::appsv1::DaemonSet;
using api::appsv1::DaemonSetStatus;
using api::corev1::Node;
using api::corev1::NodeSelectorTerm;
using api::corev1::Pod;
using api::corev1::Taint;
using api::corev1::Toleration;

namespace {

void tolerate(Pod& pod, std::string key, std::string effect) {
  Toleration toleration;
  toleration.key = std::move(key);
  toleration.operator_ = "Exists";
  toleration.effect = std::move(effect);
  auto& all = pod.spec.tolerations;
  if (std::ranges::find(all, toleration) == all.end()) all.push_back(std::move(toleration));
}

// What comes and goes with a node's state does not keep a daemon away.
void tolerate_states(Pod& pod) {
  tolerate(pod, "node.kubernetes.io/not-ready", "NoExecute");
  tolerate(pod, "node.kubernetes.io/unreachable", "NoExecute");
  for (const auto* state : {"disk-pressure", "memory-pressure", "pid-pressure", "unschedulable"}) {
    tolerate(pod, std::string("node.kubernetes.io/") + state, "NoSchedule");
  }
  if (pod.spec.hostNetwork.value_or(false)) tolerate(pod, "node.kubernetes.io/network-unavailable", "NoSchedule");
}

bool tolerates_all(const Pod& pod, const Node& node, std::string_view effect) {
  return std::ranges::all_of(node.spec.taints, [&](const Taint& taint) {
    return taint.effect != effect ||
           std::ranges::any_of(pod.spec.tolerations, [&](const auto& one) { return tolerates(one, taint); });
  });
}

// By node, the one that counts first: that which is not about to go, then the oldest.
using ByNode = std::map<std::string, std::vector<PodRef>>;

ByNode by_node(const std::vector<PodRef>& pods) {
  ByNode out;
  for (const auto& pod : pods) out[target_node(*pod)].push_back(pod);
  for (auto& [node, there] : out) {
    std::ranges::sort(there, {}, [](const PodRef& pod) {
      return std::tuple(!api::is_active(*pod), pod->spec.nodeName.empty(), pod->metadata.creationTimestamp,
                        std::string_view(pod->metadata.name));
    });
  }
  return out;
}

bool is_of(const Pod& pod, std::string_view hash) {
  const auto found = pod.metadata.labels.find(std::string(kRevisionLabel));
  return found != pod.metadata.labels.end() && found->second == hash;
}

std::int32_t may_be_missed(const DaemonSet& set, std::int32_t wanted) {
  const auto& rolling = set.spec.updateStrategy.rollingUpdate;
  if (!rolling) return 1;
  const auto part = [&](const std::optional<api::IntOrString>& limit) {
    return limit ? api::scaled(*limit, wanted, api::Rounding::Up).value_or(0) : 0;
  };
  return std::max(1, part(rolling->maxUnavailable) + part(rolling->maxSurge));
}

}  // namespace

NodeFit fit(const DaemonSet& set, const Node& node) {
  auto pod = pod_of(set.spec.template_);
  tolerate_states(pod);
  const bool meant = pod.spec.nodeName.empty() || pod.spec.nodeName == node.metadata.name;
  if (!meant || !node_selected(pod, node)) return {};
  const bool stays = tolerates_all(pod, node, "NoExecute");
  return {.runs = stays && tolerates_all(pod, node, "NoSchedule"), .stays = stays};
}

Pod new_pod(const DaemonSet& set, const std::string& node, const std::string& hash) {
  auto pod = pod_of(set.spec.template_);
  pod.metadata.name = runtime::replica_names(set.metadata.name, set.metadata.uid + "/" + node, 1, {}).front();
  pod.metadata.generateName = set.metadata.name + "-";
  pod.metadata.labels[std::string(kRevisionLabel)] = hash;
  const auto generation = set.metadata.annotations.find("deprecated.daemonset.template.generation");
  if (generation != set.metadata.annotations.end()) {
    pod.metadata.labels["pod-template-generation"] = generation->second;
  }
  if (!pod.spec.affinity) pod.spec.affinity.emplace();
  if (!pod.spec.affinity->nodeAffinity) pod.spec.affinity->nodeAffinity.emplace();
  NodeSelectorTerm term;
  term.matchFields.push_back({.key = "metadata.name", .operator_ = "In", .values = {node}});
  auto& required = pod.spec.affinity->nodeAffinity->requiredDuringSchedulingIgnoredDuringExecution;
  required.emplace().nodeSelectorTerms = {std::move(term)};
  tolerate_states(pod);
  return pod;
}

std::string target_node(const Pod& pod) {
  if (!pod.spec.nodeName.empty() || !pod.spec.affinity || !pod.spec.affinity->nodeAffinity) return pod.spec.nodeName;
  const auto& required = pod.spec.affinity->nodeAffinity->requiredDuringSchedulingIgnoredDuringExecution;
  if (!required) return "";
  for (const auto& term : required->nodeSelectorTerms) {
    for (const auto& rule : term.matchFields) {
      if (rule.key == "metadata.name" && rule.operator_ == "In" && rule.values.size() == 1) return rule.values[0];
    }
  }
  return "";
}

DaemonPlan plan_daemons(const DaemonSet& set, const std::vector<NodeRef>& nodes, const std::vector<PodRef>& pods) {
  DaemonPlan plan;
  auto there = by_node(pods);
  for (const auto& node : nodes) {
    const auto fits = fit(set, *node);
    const auto on_node = std::move(there[node->metadata.name]);
    there.erase(node->metadata.name);
    if (fits.runs && on_node.empty()) plan.create.push_back(node->metadata.name);
    bool first = true;
    for (const auto& pod : on_node) {
      if (pod->metadata.deletionTimestamp.is_set()) continue;
      if (!fits.stays) {
        plan.remove.push_back(pod);
      } else if (!api::is_active(*pod)) {
        plan.ended.push_back(pod);
      } else if (!std::exchange(first, false)) {
        plan.remove.push_back(pod);
      }
    }
  }
  // For nodes that are gone, before they were on them.
  for (const auto& [node, left] : there) {
    for (const auto& pod : left) {
      if (pod->spec.nodeName.empty() && !pod->metadata.deletionTimestamp.is_set()) plan.remove.push_back(pod);
    }
  }
  return plan;
}

std::vector<PodRef> outdated(const DaemonSet& set, const std::vector<NodeRef>& nodes, const std::vector<PodRef>& pods,
                             std::string_view hash, api::Time now) {
  const auto min_ready = set.spec.minReadySeconds.value_or(0);
  auto there = by_node(pods);
  std::vector<PodRef> broken;
  std::vector<PodRef> candidates;
  std::int32_t wanted = 0;
  std::int32_t missed = 0;
  for (const auto& node : nodes) {
    if (!fit(set, *node).runs) continue;
    ++wanted;
    const auto& on_node = there[node->metadata.name];
    const bool active = !on_node.empty() && api::is_active(*on_node.front());
    const bool serves = active && api::is_available(*on_node.front(), min_ready, now);
    if (!serves) ++missed;
    if (!active || is_of(*on_node.front(), hash)) continue;
    (serves ? candidates : broken).push_back(on_node.front());
  }
  const auto left = static_cast<std::size_t>(std::max(0, may_be_missed(set, wanted) - missed));
  if (candidates.size() > left) candidates.resize(left);
  broken.insert(broken.end(), candidates.begin(), candidates.end());
  return broken;
}

DaemonSetStatus observed(const DaemonSet& set, const std::vector<NodeRef>& nodes, const std::vector<PodRef>& pods,
                         std::string_view hash, api::Time now) {
  DaemonSetStatus status;
  status.observedGeneration = set.metadata.generation;
  status.collisionCount = set.status.collisionCount;
  auto there = by_node(pods);
  for (const auto& node : nodes) {
    const auto& on_node = there[node->metadata.name];
    if (!fit(set, *node).runs) {
      if (!on_node.empty()) ++status.numberMisscheduled;
      continue;
    }
    ++status.desiredNumberScheduled;
    if (on_node.empty()) continue;
    ++status.currentNumberScheduled;
    const auto& pod = *on_node.front();
    if (api::is_ready(pod)) ++status.numberReady;
    if (api::is_available(pod, set.spec.minReadySeconds.value_or(0), now)) ++status.numberAvailable;
    if (is_of(pod, hash)) ++status.updatedNumberScheduled;
  }
  status.numberUnavailable = status.desiredNumberScheduled - status.numberAvailable;
  return status;
}

}  // namespace kopper::workloads
