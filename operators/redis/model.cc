#include "model.h"

#include <algorithm>
#include <set>
#include <utility>

namespace redis {

const NodeLine& Node::self() const {
  static const NodeLine kNone;
  const auto found = std::ranges::find_if(sees, &NodeLine::myself);
  return found == sees.end() ? kNone : *found;
}

const NodeLine* Node::view_of(std::string_view other) const {
  const auto found = std::ranges::find(sees, other, &NodeLine::id);
  return found == sees.end() ? nullptr : &*found;
}

bool Node::is_blank() const {
  return answers() && sees.size() == 1 && is_master() && self().slots.empty() && keys == 0;
}

Model::Model(std::vector<Node> all) : nodes(std::move(all)), owners(kSlots) {
  std::ranges::sort(nodes, {}, [](const Node& node) { return node.pod.ordinal; });

  std::map<std::string, std::uint64_t> epochs;
  for (const auto& node : nodes) {
    if (!node.answers() || !node.is_master()) continue;
    const auto& self = node.self();
    epochs[node.id] = self.config_epoch;
    for (const auto slot : self.slots.slots()) {
      auto& owner = owners[slot];
      if (!owner.empty()) disputed.insert(slot);
      if (owner.empty() || epochs[owner] < self.config_epoch) owner = node.id;
    }
  }
  // Silent ones: what most see. Who answers and does not claim a slot does not own it, whatever others remember.
  std::map<std::size_t, std::map<std::string, int>> votes;
  std::set<std::string> unknown;
  for (const auto& node : nodes) {
    for (const auto& line : node.sees) {
      if (line.handshake || find(line.id) != nullptr) continue;
      unknown.insert(line.id);
      for (const auto slot : line.slots.slots()) {
        if (owners[slot].empty()) ++votes[slot][line.id];
      }
    }
  }
  for (const auto& [slot, candidates] : votes) {
    const auto most = std::ranges::max_element(candidates, {}, [](const auto& entry) { return entry.second; });
    owners[slot] = most->first;
  }
  ghosts.assign(unknown.begin(), unknown.end());

  for (std::size_t slot = 0; slot < kSlots; ++slot) {
    if (owners[slot].empty()) {
      unowned.insert(slot);
    } else {
      held[owners[slot]].insert(slot);
    }
  }
  for (const auto& node : nodes) {
    if (!node.answers() || node.is_blank()) continue;
    SlotSet right = unowned;
    for (const auto& line : node.sees) {
      right |= line.slots & slots_of(line.id);
      right -= line.slots & unowned;
    }
    disagreed |= SlotSet::all() - right;
  }
}

const Node* Model::find(std::string_view id) const {
  const auto found = std::ranges::find_if(nodes, [id](const Node& node) { return node.answers() && node.id == id; });
  return found == nodes.end() ? nullptr : &*found;
}

const Node* Model::pod(std::string_view name) const {
  const auto found = std::ranges::find_if(nodes, [name](const Node& node) { return node.pod.name == name; });
  return found == nodes.end() ? nullptr : &*found;
}

const SlotSet& Model::slots_of(std::string_view id) const {
  static const SlotSet kNone;
  const auto found = held.find(id);
  return found == held.end() ? kNone : found->second;
}

std::vector<const Node*> Model::masters() const {
  std::vector<const Node*> out;
  for (const auto& node : nodes) {
    if (node.answers() && node.is_master()) out.push_back(&node);
  }
  return out;
}

std::vector<const Node*> Model::replicas_of(std::string_view master_id) const {
  std::vector<const Node*> out;
  for (const auto& node : nodes) {
    if (node.answers() && !node.is_master() && node.master_id() == master_id) out.push_back(&node);
  }
  return out;
}

bool Model::all_answer() const { return std::ranges::all_of(nodes, &Node::answers); }

}  // namespace redis
