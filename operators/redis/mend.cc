#include "mend.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace redis {

namespace {

struct Mark {
  const Node* node;
  std::string peer;
};

// All that is out of order with one slot. Nodes are masters that answer: replicas have no marks of their own.
struct Findings {
  std::vector<Mark> importing;
  std::vector<Mark> migrating;
  std::vector<const Node*> holders;  // have keys, and do not own it; most keys first
};

enum class Kind : std::uint8_t { Resumed, SourceLost, TargetLost, TargetGone, Closed, Hidden, OldNews };

// Where an open slot goes.
struct Way {
  const Node* to = nullptr;  // null: nowhere
  Kind kind = Kind::Resumed;
  std::string unknown = {};  // it is too early to say, and why
};

std::int64_t keys_of(const Node& node, std::size_t slot) {
  const auto found = node.keys_in_slot.find(slot);
  return found == node.keys_in_slot.end() ? 0 : found->second;
}

const std::string* owner_as_seen_by(const Node& node, std::size_t slot) {
  const auto found =
      std::ranges::find_if(node.sees, [slot](const NodeLine& line) { return line.slots.contains(slot); });
  return found == node.sees.end() ? nullptr : &found->id;
}

const Mark* mark_of(const std::vector<Mark>& marks, const Node* node) {
  const auto found = std::ranges::find(marks, node, &Mark::node);
  return found == marks.end() ? nullptr : &*found;
}

class Mender {
 public:
  Mender(const Model& model, bool everybody) : model_(model), all_answer_(everybody && model.all_answer()) {}

  Mending run() {
    for (const auto& [slot, findings] : collect()) look_at(slot, findings);
    look_for_old_news();
    finish();
    return std::move(out_);
  }

 private:
  using Pair = std::pair<const Node*, const Node*>;
  struct ByOrdinal {
    static int of(const Node* node) { return node == nullptr ? -1 : node->pod.ordinal; }
    bool operator()(const Node* a, const Node* b) const { return of(a) < of(b); }
    bool operator()(const Pair& a, const Pair& b) const {
      return std::pair(of(a.first), of(a.second)) < std::pair(of(b.first), of(b.second));
    }
  };

  std::map<std::size_t, Findings> collect() const {
    std::map<std::size_t, Findings> out;
    for (const auto* node : model_.masters()) {
      for (const auto& open : node->self().open) {
        auto& findings = out[open.slot];
        (open.importing ? findings.importing : findings.migrating).push_back({node, open.peer});
      }
      for (const auto& [slot, count] : node->keys_in_slot) {
        if (count > 0 && model_.owner(slot) != node->id) out[slot].holders.push_back(node);
      }
    }
    for (const auto slot : model_.disputed.slots()) out.try_emplace(slot);
    for (auto& entry : out) {
      const auto slot = entry.first;
      std::ranges::sort(entry.second.holders, {},
                        [slot](const Node* node) { return std::pair(-keys_of(*node, slot), node->pod.ordinal); });
    }
    return out;
  }

  void look_at(std::size_t slot, const Findings& findings) {
    const auto& owner_id = model_.owner(slot);
    if (model_.disputed.contains(slot)) return wait(slot, fmt::format("claimed by {}", claimants(slot)));
    if (owner_id.empty()) return wait(slot, "no owner");
    const auto* owner = model_.find(owner_id);
    if (owner == nullptr) return wait(slot, fmt::format("the owner is silent: {}", silent(owner_id)));

    Way way;
    if (const auto* leaving = mark_of(findings.migrating, owner)) {
      way = way_of(*leaving, findings);
      if (!way.unknown.empty()) return wait(slot, way.unknown);
      const bool begun =
          way.to != nullptr && (mark_of(findings.importing, way.to) != nullptr || keys_of(*way.to, slot) > 0);
      if (!begun) {
        if (way.kind == Kind::TargetGone) note(way.kind, owner, nullptr, slot);
        close(slot, owner);
        way.to = nullptr;
      }
    } else {
      way = way_from_a_lost_source(*owner, findings);
    }
    if (way.to != nullptr) {
      move(slot, owner, way);
    } else if (mark_of(findings.importing, owner) != nullptr) {
      close(slot, owner);
    }

    // What else was opened. Keys that are there wait until the slot stays where it is: an owner that is to give it away
    // does not take them.
    for (const auto* marks : {&findings.importing, &findings.migrating}) {
      for (const auto& mark : *marks) {
        if (mark.node != owner && mark.node != way.to && keys_of(*mark.node, slot) == 0) close(slot, mark.node);
      }
    }
    if (way.to != nullptr) return;
    for (const auto* holder : findings.holders) {
      agree_on(slot, *holder, *owner);
      rescues_[{holder, owner}].insert(slot);
      note(Kind::Hidden, holder, owner, slot);
    }
  }

  // Where a slot goes that its owner has opened.
  Way way_of(const Mark& leaving, const Findings& findings) const {
    const auto* owner = leaving.node;
    if (leaving.peer == owner->id) return {};
    if (const auto* peer = model_.find(leaving.peer)) {
      if (peer->is_master()) return {peer, Kind::Resumed};
      // It was replaced, and follows the one that has its keys.
      const auto* heir = model_.find(peer->master_id());
      if (heir == nullptr) return {.unknown = fmt::format("the receiver is silent: {}", silent(peer->master_id()))};
      return {heir == owner ? nullptr : heir, Kind::TargetLost};
    }
    // Its keys may be with the replica that was made a master in its place, or come back with it.
    const auto* line = owner->view_of(leaving.peer);
    const bool replaced = (line == nullptr || line->failed) && model_.slots_of(leaving.peer).empty();
    if (replaced && !findings.holders.empty()) return {findings.holders.front(), Kind::TargetLost};
    if (is_gone(leaving.peer)) return {nullptr, Kind::TargetGone};
    return {.unknown = fmt::format("the receiver is silent: {}", silent(leaving.peer))};
  }

  // The source of a move died, and the owner took its place: it knows nothing of the move.
  Way way_from_a_lost_source(const Node& owner, const Findings& findings) const {
    if (findings.holders.size() != 1) return {};
    const auto* mark = mark_of(findings.importing, findings.holders.front());
    if (mark == nullptr || mark->peer == owner.id) return {};
    const auto* source = model_.find(mark->peer);
    if (source != nullptr && source->is_master()) return {};
    return {mark->node, Kind::SourceLost};
  }

  // A node that was away while a slot moved may have learned first that the old owner has a higher epoch than the new
  // one: then it believes the new one no more, and if it were to replace the old owner, the slot's keys would be lost.
  // (7.0.15 gets over that by itself, when it hears the old owner claim the slot no more.)
  // A silent node could claim what a new epoch would decide.
  void look_for_old_news() {
    if (model_.disagreed.empty() || !all_answer_) return;
    for (const auto slot : (model_.disagreed - model_.disputed).slots()) {
      const auto* owner = model_.find(model_.owner(slot));
      if (owner == nullptr) continue;
      for (const auto& node : model_.nodes) {
        const auto* seen = owner_as_seen_by(node, slot);
        if (seen == nullptr || *seen == owner->id) continue;
        if (node.view_of(*seen)->config_epoch < owner->self().config_epoch) continue;  // it will learn of it
        note(Kind::OldNews, &node, owner, slot);
        bumped_.insert(owner);
      }
    }
  }

  void move(std::size_t slot, const Node* owner, const Way& way) {
    agree_on(slot, *way.to, *owner);
    moves_[{owner, way.to}].insert(slot);
    note(way.kind, owner, way.to, slot);
  }

  // A node that imports a slot is deaf to the news that it has another owner: with a dead one it takes the whole
  // cluster for down.
  void agree_on(std::size_t slot, const Node& node, const Node& owner) {
    const auto* seen = owner_as_seen_by(node, slot);
    if (seen != nullptr && *seen == owner.id) return;
    if (node.view_of(owner.id) == nullptr || node.view_of(owner.id)->handshake) return;
    agreed_[&node][slot] = owner.id;
  }

  void close(std::size_t slot, const Node* node) {
    if (closed_[node].contains(slot)) return;
    closed_[node].insert(slot);
    note(Kind::Closed, node, nullptr, slot);
  }

  void wait(std::size_t slot, std::string why) { waits_[std::move(why)].insert(slot); }

  void note(Kind kind, const Node* a, const Node* b, std::size_t slot) { notes_[kind][{a, b}].insert(slot); }

  void finish() {
    for (const auto& [node, slots] : agreed_) {
      for (const auto& [slot, owner] : slots) command(node, slot, {"NODE", owner});
    }
    for (const auto& [node, slots] : closed_) {
      for (const auto slot : slots.slots()) {
        command(node, slot, {"STABLE"});
        out_.commands.back().fine = {"ERR You can use SETSLOT only with masters"};  // it has no marks any more, then
      }
    }
    for (const auto* node : bumped_) out_.commands.push_back({.node = node->id, .words = {"CLUSTER", "BUMPEPOCH"}});
    for (const auto& [pair, slots] : moves_) {
      if (!would_lose_keys(*pair.first) && may_begin(pair, slots))
        out_.moves.push_back({pair.first->id, pair.second->id, slots});
    }
    for (const auto& [pair, slots] : rescues_) {
      if (may_begin(pair, slots)) out_.rescues.push_back({pair.first->id, pair.second->id, slots});
    }
    for (const auto& [why, slots] : waits_) {
      out_.waiting += fmt::format("{}{}: {}", out_.waiting.empty() ? "" : "; ", title(slots), why);
    }
    for (const auto& [kind, all] : notes_) {
      for (const auto& [pair, slots] : all) {
        if (!slots.empty()) out_.notes.push_back(text(kind, pair, slots));
      }
    }
  }

  void command(const Node* node, std::size_t slot, std::vector<std::string> what) {
    std::vector<std::string> words = {"CLUSTER", "SETSLOT", std::to_string(slot)};
    words.insert(words.end(), what.begin(), what.end());
    out_.commands.push_back({.node = node->id, .words = std::move(words)});
  }

  // Keys go only between two that are well and know each other.
  bool may_begin(const Pair& pair, const SlotSet& slots) {
    std::string why;
    for (const auto& [node, other] : {pair, Pair(pair.second, pair.first)}) {
      const auto* line = node->view_of(other->id);
      if (node->loading) {
        why = fmt::format("{} is reading its data", name(node));
      } else if (line == nullptr || line->handshake) {
        why = fmt::format("{} does not know {} yet", name(node), name(other));
      } else if (!line->healthy()) {
        why = fmt::format("{} does not reach {}", name(node), name(other));
      } else if (!node->state_ok && !agreed_.contains(node)) {
        why = fmt::format("{} takes the cluster for down", name(node));
      }
      if (why.empty()) continue;
      for (const auto slot : slots.slots()) wait(slot, why);
      return false;
    }
    return true;
  }

  // A master that gives its last slot away becomes a replica and drops all that it has. What others should have of that
  // is brought to them first.
  bool would_lose_keys(const Node& node) const {
    auto left = model_.slots_of(node.id);
    for (const auto& [pair, slots] : moves_) {
      if (pair.first == &node) left -= slots;
    }
    return left.empty() && std::ranges::any_of(node.keys_in_slot, [&](const auto& entry) {
             return entry.second > 0 && model_.owner(entry.first) != node.id;
           });
  }

  // Nobody has this id, nobody is silent who could have it, and nobody has a copy of its keys.
  bool is_gone(const std::string& id) const { return all_answer_ && model_.replicas_of(id).empty(); }

  static std::string name(const Node* node) { return node->pod.name; }

  // Of a node that does not answer. Whose pod it is, it alone could tell: those that do not answer are named.
  std::string silent(const std::string& id) const {
    std::string out = id.substr(0, 8);
    for (const auto& node : model_.nodes) {
      if (!node.answers())
        out += fmt::format("{}{}", out.size() == id.substr(0, 8).size() ? ", " : " or ", node.pod.name);
    }
    return out;
  }

  std::string claimants(std::size_t slot) const {
    std::string out;
    for (const auto* node : model_.masters()) {
      if (node->self().slots.contains(slot)) out += fmt::format("{}{}", out.empty() ? "" : " and ", name(node));
    }
    return out;
  }

  static std::string title(const SlotSet& slots) {
    return fmt::format("slot{} {}", slots.size() == 1 ? "" : "s", slots.str());
  }

  static std::string text(Kind kind, const Pair& pair, const SlotSet& slots) {
    const auto about = title(slots);
    const auto a = name(pair.first);
    const auto b = pair.second == nullptr ? std::string() : name(pair.second);
    switch (kind) {
      case Kind::Resumed: return fmt::format("{}: the move from {} to {} was cut short and goes on", about, a, b);
      case Kind::SourceLost:
        return fmt::format(
            "{}: the owner was lost on the way to {}; the move goes on from {}, where keys may come back that were "
            "deleted since",
            about, b, a);
      case Kind::TargetLost:
        return fmt::format("{}: the receiver was lost; the move from {} goes on to {}", about, a, b);
      case Kind::Closed: return fmt::format("{}: open on {} for nothing; closed", about, a);
      case Kind::Hidden: return fmt::format("{}: {} has keys that clients can not find; they go to {}", about, a, b);
      case Kind::OldNews: return fmt::format("{}: {} does not take {} for the owner; it gets a new epoch", about, a, b);
      case Kind::TargetGone:
        return fmt::format("{}: the receiver of a move from {} is gone for good, with the keys it had got", about, a);
    }
    return about;
  }

  const Model& model_;
  const bool all_answer_;
  Mending out_;
  std::map<const Node*, std::map<std::size_t, std::string>, ByOrdinal> agreed_;
  std::map<const Node*, SlotSet, ByOrdinal> closed_;
  std::set<const Node*, ByOrdinal> bumped_;
  std::map<Pair, SlotSet, ByOrdinal> moves_;
  std::map<Pair, SlotSet, ByOrdinal> rescues_;
  std::map<std::string, SlotSet> waits_;
  std::map<Kind, std::map<Pair, SlotSet, ByOrdinal>> notes_;
};

}  // namespace

Mending mend(const Model& model, bool everybody) { return Mender(model, everybody).run(); }

}  // namespace redis
