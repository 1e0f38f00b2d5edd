#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "model.h"

namespace redis {

// A cluster as it should be, for tests that then spoil it: nodes "m0", "m1", … own even parts, "r0" follows "m0" and so
// on; pod i of the first half is m<i>, of the second r<i - masters>. Everybody knows everybody.
inline std::vector<Node> a_cluster(int masters = 3, int replicas_each = 1) {
  std::vector<NodeLine> lines;
  for (int i = 0; i < masters * (1 + replicas_each); ++i) {
    NodeLine line;
    const int shard = i % masters;
    line.master = i < masters;
    line.replica = !line.master;
    line.id = (line.master ? "m" : i < 2 * masters ? "r" : "s") + std::to_string(shard);
    line.address = "10.0.0." + std::to_string(i + 1);
    line.port = 6379;
    line.bus_port = 16379;
    line.linked = true;
    line.config_epoch = static_cast<std::uint64_t>(shard) + 1;
    if (line.replica) line.master_id = "m" + std::to_string(shard);
    const auto cut = [masters](int at) { return static_cast<std::size_t>((at * 16384 + masters / 2) / masters); };
    if (line.master) line.slots = SlotSet::range(cut(shard), cut(shard + 1) - 1);
    lines.push_back(std::move(line));
  }
  std::vector<Node> nodes;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    Node node;
    node.pod.ordinal = static_cast<int>(i);
    node.pod.name = "demo-" + std::to_string(i);
    node.pod.address = lines[i].address;
    node.pod.host = "host-" + std::to_string(i);
    node.pod.ready = true;
    node.id = lines[i].id;
    node.sees = lines;
    node.sees[i].myself = true;
    node.state_ok = true;
    node.link_up = lines[i].replica;
    nodes.push_back(std::move(node));
  }
  return nodes;
}

inline Node& by_id(std::vector<Node>& nodes, const std::string& id) { return *std::ranges::find(nodes, id, &Node::id); }

// What a node says of another, or of itself.
inline NodeLine& line_of(Node& node, const std::string& id) { return *std::ranges::find(node.sees, id, &NodeLine::id); }

// All say so.
template <class Change>
void tell_all(std::vector<Node>& nodes, const std::string& id, Change change) {
  for (auto& node : nodes) {
    for (auto& line : node.sees) {
      if (line.id == id) change(line);
    }
  }
}

// The node's pod answers no more.
inline void silence(std::vector<Node>& nodes, const std::string& id) {
  auto& node = by_id(nodes, id);
  auto pod = node.pod;
  node = Node();
  node.pod = std::move(pod);
  node.trouble = "connection refused";
}

}  // namespace redis
