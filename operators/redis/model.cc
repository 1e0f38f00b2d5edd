#include "model.h"

#include <algorithm>
#include <functional>
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
  // Somebody whom it is just being introduced to does not count.
  const auto known = std::ranges::count(sees, false, &NodeLine::handshake);
  return answers() && known == 1 && is_master() && self().slots.empty() && keys == 0;
}

Model::Model(std::vector<Node> all) : nodes(std::move(all)), owners_(kSlots) {
  std::ranges::sort(nodes, {}, [](const Node& node) { return node.pod.ordinal; });

  // Who speaks for itself, the highest epoch first.
  auto claimants = masters();
  std::ranges::stable_sort(claimants, std::greater(), [](const Node* node) { return node->self().config_epoch; });
  SlotSet taken;
  for (const auto* node : claimants) {
    const auto& slots = node->self().slots;
    disputed |= slots & taken;
    if (const auto mine = slots - taken; !mine.empty()) held[node->id] = mine;
    taken |= slots;
  }
  // Silent ones: what most see. Who answers and does not claim a slot does not own it, whatever others remember.
  std::map<std::string, std::map<std::size_t, int>> votes;
  std::map<std::string, SlotSet> seen;
  for (const auto& node : nodes) {
    for (const auto& line : node.sees) {
      if (line.handshake || find(line.id) != nullptr) continue;
      const auto left = line.slots - taken;
      seen[line.id] |= left;
      for (const auto slot : left.slots()) ++votes[line.id][slot];
    }
  }
  for (auto& [id, slots] : seen) {
    ghosts.push_back(id);
    for (const auto& [other, more] : votes) {
      for (const auto slot : other == id ? std::vector<std::size_t>() : slots.slots()) {
        const auto against = more.find(slot);
        if (against != more.end() && against->second > votes[id][slot]) slots.erase(slot);
      }
    }
    slots -= taken;
    taken |= slots;
    if (!slots.empty()) held[id] = slots;
  }
  unowned = SlotSet::all() - taken;
  for (const auto& [id, slots] : held) {
    for (const auto slot : slots.slots()) owners_[slot] = &id;
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

const std::string& Model::owner(std::size_t slot) const {
  static const std::string kNobody;
  const auto* id = owners_.at(slot);
  return id == nullptr ? kNobody : *id;
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
