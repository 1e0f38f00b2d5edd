#include "kopper/workloads/placement.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kopper/api/selector.h"

namespace kopper::workloads {

using api::PodRef;
using api::Quantity;
using api::corev1::Node;
using api::corev1::NodeSelectorRequirement;
using api::corev1::NodeSelectorTerm;
using api::corev1::Pod;
using api::corev1::PodAffinityTerm;
using api::corev1::Taint;
using api::corev1::Toleration;

namespace {

void add(Resources& to, const Resources& more) {
  for (const auto& [name, amount] : more) to[name] += amount;
}

std::optional<std::string> label(const Node& node, const std::string& key) {
  const auto found = node.metadata.labels.find(key);
  if (found == node.metadata.labels.end()) return std::nullopt;
  return found->second;
}

std::optional<std::int64_t> integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool matches(const NodeSelectorRequirement& rule, const std::optional<std::string>& value) {
  const auto& op = rule.operator_;
  if (op == "Exists") return value.has_value();
  if (op == "DoesNotExist") return !value.has_value();
  const bool listed = value && std::ranges::find(rule.values, *value) != rule.values.end();
  if (op == "In") return listed;
  if (op == "NotIn") return !listed;
  const auto left = value ? integer(*value) : std::nullopt;
  const auto right = rule.values.size() == 1 ? integer(rule.values[0]) : std::nullopt;
  if (!left || !right) return false;
  return op == "Gt" ? *left > *right : *left < *right;
}

bool matches(const NodeSelectorTerm& term, const Node& node) {
  // A term that says nothing selects nothing.
  if (term.matchExpressions.empty() && term.matchFields.empty()) return false;
  const bool by_label = std::ranges::all_of(term.matchExpressions,
                                            [&](const auto& rule) { return matches(rule, label(node, rule.key)); });
  return by_label && std::ranges::all_of(term.matchFields, [&](const auto& rule) {
           return rule.key == "metadata.name" && matches(rule, node.metadata.name);
         });
}

}  // namespace

bool node_selected(const Pod& pod, const Node& node) {
  for (const auto& [key, value] : pod.spec.nodeSelector) {
    if (label(node, key) != value) return false;
  }
  if (!pod.spec.affinity || !pod.spec.affinity->nodeAffinity) return true;
  const auto& required = pod.spec.affinity->nodeAffinity->requiredDuringSchedulingIgnoredDuringExecution;
  return !required ||
         std::ranges::any_of(required->nodeSelectorTerms, [&](const auto& term) { return matches(term, node); });
}

bool tolerates(const Toleration& toleration, const Taint& taint) {
  if (!toleration.effect.empty() && toleration.effect != taint.effect) return false;
  if (toleration.key.empty()) return toleration.operator_ == "Exists";
  if (toleration.key != taint.key) return false;
  return toleration.operator_ == "Exists" || toleration.value == taint.value;
}

namespace {

bool taints_tolerated(const Pod& pod, const Node& node) {
  return std::ranges::all_of(node.spec.taints, [&](const Taint& taint) {
    if (taint.effect != "NoSchedule" && taint.effect != "NoExecute") return true;
    return std::ranges::any_of(pod.spec.tolerations, [&](const auto& one) { return tolerates(one, taint); });
  });
}

// Whether the term of `owner` means `other`.
bool means(const PodAffinityTerm& term, const Pod& owner, const Pod& other) {
  const bool everywhere = term.namespaceSelector.has_value();  // which namespaces have which labels is not known here
  const bool here = term.namespaces.empty()
                        ? other.metadata.namespace_ == owner.metadata.namespace_
                        : std::ranges::find(term.namespaces, other.metadata.namespace_) != term.namespaces.end();
  if (!here && !everywhere) return false;
  if (!term.labelSelector) return false;
  const auto selector = api::Selector::from(*term.labelSelector);
  return selector && selector->matches(other.metadata.labels);
}

struct World {
  const std::vector<NodeRef>& nodes;
  const std::vector<PodRef>& pods;

  const Node* node_of(const Pod& pod) const {
    const auto found =
        std::ranges::find(nodes, pod.spec.nodeName, [](const NodeRef& node) { return node->metadata.name; });
    return found == nodes.end() ? nullptr : found->get();
  }
  // Of a topology: the same value of its label.
  bool together(const Pod& other, const Node& node, const std::string& topology) const {
    const auto* its = node_of(other);
    const auto here = label(node, topology);
    return its != nullptr && here && label(*its, topology) == here;
  }
};

bool affinity_holds(const Pod& pod, const Node& node, const World& world) {
  if (!pod.spec.affinity || !pod.spec.affinity->podAffinity) return true;
  const auto& terms = pod.spec.affinity->podAffinity->requiredDuringSchedulingIgnoredDuringExecution;
  return std::ranges::all_of(terms, [&](const PodAffinityTerm& term) {
    if (!label(node, term.topologyKey)) return false;
    bool any = false;
    for (const auto& other : world.pods) {
      if (!means(term, pod, *other)) continue;
      any = true;
      if (world.together(*other, node, term.topologyKey)) return true;
    }
    // The first of those that want to be together.
    return !any && means(term, pod, pod);
  });
}

bool anti_affinity_holds(const Pod& pod, const Node& node, const World& world) {
  const auto apart = [&](const Pod& owner, const Pod& other, const Pod& placed) {
    if (!owner.spec.affinity || !owner.spec.affinity->podAntiAffinity) return true;
    const auto& terms = owner.spec.affinity->podAntiAffinity->requiredDuringSchedulingIgnoredDuringExecution;
    return std::ranges::none_of(terms, [&](const PodAffinityTerm& term) {
      return means(term, owner, other) && world.together(placed, node, term.topologyKey);
    });
  };
  return std::ranges::all_of(
      world.pods, [&](const PodRef& other) { return apart(pod, *other, *other) && apart(*other, pod, *other); });
}

bool spread_holds(const Pod& pod, const Node& node, const World& world) {
  for (const auto& rule : pod.spec.topologySpreadConstraints) {
    if (rule.whenUnsatisfiable != "DoNotSchedule" || !rule.labelSelector) continue;
    const auto selector = api::Selector::from(*rule.labelSelector);
    const auto here = label(node, rule.topologyKey);
    if (!selector || !here) return false;
    std::map<std::string, std::int32_t> counts;
    for (const auto& one : world.nodes) {
      if (const auto value = label(*one, rule.topologyKey); value && node_selected(pod, *one)) counts[*value];
    }
    for (const auto& other : world.pods) {
      const auto* its = world.node_of(*other);
      const auto value = its == nullptr ? std::nullopt : label(*its, rule.topologyKey);
      if (value && counts.contains(*value) && other->metadata.namespace_ == pod.metadata.namespace_ &&
          selector->matches(other->metadata.labels)) {
        ++counts[*value];
      }
    }
    auto least = std::numeric_limits<std::int32_t>::max();
    for (const auto& [value, count] : counts) least = std::min(least, count);
    const auto self = selector->matches(pod.metadata.labels) ? 1 : 0;
    if (counts[*here] + self - least > rule.maxSkew) return false;
  }
  return true;
}

Resources used_on(const Node& node, const std::vector<PodRef>& pods) {
  Resources used;
  for (const auto& pod : pods) {
    if (pod->spec.nodeName != node.metadata.name) continue;
    add(used, requests_of(*pod));
    used["pods"] += Quantity(1);
  }
  return used;
}

// What of the node's resources is not enough.
std::vector<std::string> lacks(const Pod& pod, const Node& node, const std::vector<PodRef>& pods) {
  std::vector<std::string> out;
  auto wanted = requests_of(pod);
  wanted["pods"] += Quantity(1);
  const auto used = used_on(node, pods);
  for (const auto& [name, amount] : wanted) {
    if (amount.is_zero()) continue;
    const auto there = node.status.allocatable.find(name);
    if (there == node.status.allocatable.end() && name == "pods") continue;
    const auto in_use = used.find(name);
    const auto left = (there == node.status.allocatable.end() ? Quantity() : there->second) -
                      (in_use == used.end() ? Quantity() : in_use->second);
    if (left < amount) out.push_back(name == "pods" ? "Too many pods" : fmt::format("Insufficient {}", name));
  }
  return out;
}

std::vector<std::string> objections(const Pod& pod, const Node& node, const World& world) {
  if (node.spec.unschedulable.value_or(false)) {
    Taint cordoned;
    cordoned.key = "node.kubernetes.io/unschedulable";
    cordoned.effect = "NoSchedule";
    if (std::ranges::none_of(pod.spec.tolerations, [&](const auto& one) { return tolerates(one, cordoned); })) {
      return {"node(s) were unschedulable"};
    }
  }
  if (!node_selected(pod, node)) return {"node(s) didn't match Pod's node affinity/selector"};
  if (!taints_tolerated(pod, node)) return {"node(s) had untolerated taint(s)"};
  if (auto missing = lacks(pod, node, world.pods); !missing.empty()) return missing;
  if (!affinity_holds(pod, node, world)) return {"node(s) didn't match pod affinity rules"};
  if (!anti_affinity_holds(pod, node, world)) return {"node(s) didn't match pod anti-affinity rules"};
  if (!spread_holds(pod, node, world)) return {"node(s) didn't match pod topology spread constraints"};
  return {};
}

// Larger: preferred.
std::int64_t preference(const Pod& pod, const Node& node, const World& world) {
  std::int64_t sum = 0;
  for (const auto& taint : node.spec.taints) {
    if (taint.effect == "PreferNoSchedule" &&
        std::ranges::none_of(pod.spec.tolerations, [&](const auto& one) { return tolerates(one, taint); })) {
      sum -= 100;
    }
  }
  if (!pod.spec.affinity) return sum;
  const auto& affinity = *pod.spec.affinity;
  if (affinity.nodeAffinity) {
    for (const auto& one : affinity.nodeAffinity->preferredDuringSchedulingIgnoredDuringExecution) {
      if (matches(one.preference, node)) sum += one.weight;
    }
  }
  const auto pods = [&](const auto& terms, std::int64_t sign) {
    for (const auto& one : terms) {
      const auto count = std::ranges::count_if(world.pods, [&](const PodRef& other) {
        return means(one.podAffinityTerm, pod, *other) && world.together(*other, node, one.podAffinityTerm.topologyKey);
      });
      sum += sign * one.weight * count;
    }
  };
  if (affinity.podAffinity) pods(affinity.podAffinity->preferredDuringSchedulingIgnoredDuringExecution, 1);
  if (affinity.podAntiAffinity) pods(affinity.podAntiAffinity->preferredDuringSchedulingIgnoredDuringExecution, -1);
  return sum;
}

// How full it would be, by the fullest of its resources; pods that ask for nothing count as pods.
double fullness(const Pod& pod, const Node& node, const std::vector<PodRef>& pods) {
  auto used = used_on(node, pods);
  add(used, requests_of(pod));
  double most = 0;
  for (const auto& [name, amount] : used) {
    const auto there = node.status.allocatable.find(name);
    if (there != node.status.allocatable.end() && there->second.sign() > 0) {
      most = std::max(most, amount.as_double() / there->second.as_double());
    }
  }
  return most;
}

std::string tell(const std::map<std::string, int>& why, std::size_t nodes) {
  std::vector<std::string> parts;
  for (const auto& [reason, count] : why) parts.push_back(fmt::format("{} {}", count, reason));
  std::ranges::sort(parts);
  if (parts.empty()) return fmt::format("0/{} nodes are available.", nodes);
  return fmt::format("0/{} nodes are available: {}.", nodes, fmt::join(parts, ", "));
}

}  // namespace

Resources requests_of(const Pod& pod) {
  Resources sum;
  for (const auto& container : pod.spec.containers) add(sum, container.resources.requests);
  Resources sidecars;  // of the init containers so far
  Resources most;
  for (const auto& container : pod.spec.initContainers) {
    auto now = sidecars;
    add(now, container.resources.requests);
    if (container.restartPolicy == "Always") sidecars = now;
    for (const auto& [name, amount] : now) most[name] = std::max(most[name], amount);
  }
  add(sum, sidecars);
  for (const auto& [name, amount] : most) sum[name] = std::max(sum[name], amount);
  add(sum, pod.spec.overhead);
  return sum;
}

Placement place(const Pod& pod, const std::vector<NodeRef>& nodes, const std::vector<PodRef>& pods) {
  std::vector<PodRef> there;
  std::ranges::copy_if(pods, std::back_inserter(there), [](const PodRef& one) {
    return !one->spec.nodeName.empty() && one->status.phase != "Succeeded" && one->status.phase != "Failed";
  });
  const World world{nodes, there};
  std::map<std::string, int> why;
  const Node* best = nullptr;
  std::tuple<std::int64_t, double, std::string_view> best_rank;
  for (const auto& node : nodes) {
    const auto reasons = objections(pod, *node, world);
    for (const auto& reason : reasons) ++why[reason];
    if (!reasons.empty()) continue;
    const std::tuple rank(-preference(pod, *node, world), fullness(pod, *node, there),
                          std::string_view(node->metadata.name));
    if (best == nullptr || rank < best_rank) {
      best = node.get();
      best_rank = rank;
    }
  }
  if (best == nullptr) return {"", tell(why, nodes.size())};
  return {best->metadata.name, ""};
}

}  // namespace kopper::workloads
