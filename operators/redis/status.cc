#include "status.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "desired.h"

namespace redis {

namespace {

using kopper::api::Time;

// The same thing said before: a node by its pod and id, a condition by its type.
const NodeCondition* before(const RedisClusterStatus& status, const NodeCondition& entry) {
  const auto found = std::ranges::find_if(status.conditions, [&entry](const NodeCondition& other) {
    return entry.is_node() ? other.name == entry.name && other.nodeId == entry.nodeId
                           : !other.is_node() && other.type == entry.type;
  });
  return found == status.conditions.end() ? nullptr : &*found;
}

void set_time(NodeCondition& entry, const RedisClusterStatus& earlier, Time now) {
  const auto* same = before(earlier, entry);
  const bool unchanged = same != nullptr && same->status == entry.status && same->type == entry.type;
  entry.lastTransitionTime = unchanged ? same->lastTransitionTime : now;
}

NodeCondition condition(std::string type, bool status, std::string reason, std::string message) {
  NodeCondition out;
  out.type = std::move(type);
  out.status = status ? "True" : "False";
  out.reason = std::move(reason);
  out.message = std::move(message);
  return out;
}

// As CLUSTER NODES ends: ranges, then marks of open slots.
std::string slots_text(const NodeLine& line) {
  auto out = line.slots.str();
  for (const auto& open : line.open) {
    out += fmt::format("{}[{}-{}-{}]", out.empty() ? "" : " ", open.slot, open.importing ? '<' : '>', open.peer);
  }
  return out;
}

// Why a node that answers is not as it should be; "" when it is.
std::pair<std::string, std::string> trouble_of(const Node& node, const Model& model) {
  if (node.loading) return {"Loading", "it loads its data"};
  if (!node.state_ok) return {"StateFail", "it does not see the whole cluster"};
  if (!node.is_master() && !node.link_up) return {"LinkDown", "it has no connection to its master"};
  for (const auto& other : model.nodes) {
    const auto* line = other.view_of(node.id);
    if (line == nullptr || line->healthy()) continue;
    return {"Suspected", fmt::format("{} has no contact with it", other.pod.name)};
  }
  return {};
}

NodeCondition entry_of(const RedisCluster& cluster, const Node& node, const Model& model) {
  NodeCondition out;
  out.name = node.pod.name;
  out.instance = node.pod.address.empty() ? "" : node.pod.address + ":6379";
  out.domainName = domain_name(cluster, out.name);
  out.hostname = node.pod.host;
  out.hostIP = node.pod.host_address;
  out.status = "True";
  if (!node.answers()) {
    // Who it was, for the people who look for it.
    const auto& earlier = cluster.status.conditions;
    const auto was = std::ranges::find_if(earlier, [&](const auto& c) { return c.is_node() && c.name == out.name; });
    if (was != earlier.end()) {
      out.nodeId = was->nodeId;
      out.type = was->type;
      out.masterNodeId = was->masterNodeId;
    }
    out.status = "False";
    out.reason = node.loading ? "Loading" : "NotAnswering";
    out.message = node.trouble;
    return out;
  }
  out.nodeId = node.id;
  out.type = node.is_master() ? "master" : "slave";
  out.masterNodeId = node.is_master() ? "-" : node.master_id();
  out.slots = slots_text(node.self());
  std::tie(out.reason, out.message) = trouble_of(node, model);
  if (!out.reason.empty()) out.status = "False";
  return out;
}

void finish(RedisClusterStatus& status, const RedisCluster& cluster, Time now) {
  for (auto& entry : status.conditions) {
    if (!entry.is_node()) {
      entry.observedGeneration = cluster.metadata.generation;
      // Kubernetes 1.20 takes a text that is applied empty for null.
      if (entry.message.empty()) entry.message = entry.reason;
    }
    set_time(entry, cluster.status, now);
  }
}

// Of all slots that are to move, from when the first one did.
std::optional<Migration> progress(const RedisCluster& cluster, const Decision& decision) {
  if (decision.to_move == 0) return std::nullopt;
  const auto left = static_cast<std::int32_t>(decision.to_move);
  Migration out;
  out.total = std::max(left, cluster.status.migration ? cluster.status.migration->total : 0);
  out.moved = out.total - left;
  return out;
}

}  // namespace

RedisClusterStatus status_of(const RedisCluster& cluster, const Model& model, const Decision& decision, Time now) {
  RedisClusterStatus out;
  out.replicas = decision.pods;
  out.phase = to_string(decision.phase);
  out.reason = decision.message;
  out.selector = "app=" + cluster.metadata.name;
  out.masters = static_cast<std::int32_t>(model.held.size());
  out.migration = progress(cluster, decision);
  for (const auto& node : model.nodes) {
    auto entry = entry_of(cluster, node, model);
    if (entry.is_node()) out.conditions.push_back(std::move(entry));
  }
  const bool ready = decision.serves && decision.phase != Phase::Creating && decision.phase != Phase::Failed;
  const auto phase = out.phase;
  const bool paused = cluster.spec.pause;
  out.conditions.push_back(condition("Ready", ready,
                                     ready ? "Serving" : (decision.degraded.empty() ? phase : decision.degraded),
                                     ready ? "every slot is served" : decision.message));
  out.conditions.push_back(
      condition("Progressing", !decision.calm && !paused, decision.calm ? "AsWanted" : phase, decision.message));
  out.conditions.push_back(condition("Degraded", !decision.degraded.empty(),
                                     decision.degraded.empty() ? "AsExpected" : decision.degraded,
                                     decision.degraded.empty() ? "" : decision.message));
  out.conditions.push_back(
      condition("Paused", paused, paused ? "SpecPause" : "NotPaused", paused ? "spec.pause: nothing is changed" : ""));
  finish(out, cluster, now);
  return out;
}

RedisClusterStatus refused(const RedisCluster& cluster, std::string reason, std::string message, Time now) {
  auto out = cluster.status;
  out.reason = message;
  std::erase_if(out.conditions,
                [](const NodeCondition& entry) { return !entry.is_node() && entry.type == "Degraded"; });
  out.conditions.push_back(condition("Degraded", true, std::move(reason), std::move(message)));
  finish(out, cluster, now);
  return out;
}

const NodeCondition* find_condition(const RedisClusterStatus& status, std::string_view type) {
  const auto found = std::ranges::find_if(
      status.conditions, [type](const NodeCondition& entry) { return !entry.is_node() && entry.type == type; });
  return found == status.conditions.end() ? nullptr : &*found;
}

}  // namespace redis
