#include "decide.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "layout.h"
#include "mend.h"

namespace redis {

namespace {

// A replica that lost its master for so long is told again whom to follow.
constexpr std::int64_t kLinkPatienceSeconds = 10;

// More than what an append-only file without keys has, in bytes.
constexpr std::int64_t kEmptyLog = 4096;

constexpr const char* kPortText = "6379";

// "16384 slots: 0-5460 …", not longer than people read.
std::string list_of(const SlotSet& slots) {
  auto text = slots.str();
  constexpr std::size_t kLongest = 200;
  if (text.size() > kLongest) text = text.substr(0, text.rfind(' ', kLongest)) + " …";
  return text;
}

// Knows the other under the address that it has now.
bool knows(const Node& node, const Node& other) {
  const auto* line = node.view_of(other.id);
  return line != nullptr && !line->handshake && !line->noaddr && line->address == other.pod.address;
}

bool is_meeting(const Node& node, const Node& other) {
  return std::ranges::any_of(
      node.sees, [&other](const NodeLine& line) { return line.handshake && line.address == other.pod.address; });
}

class Decider {
 public:
  Decider(const Model& model, const Wanted& wanted) : model_(model), wanted_(wanted) {
    out_.pods = wanted.pods;
    for (const auto& node : model.nodes) {
      if (node.pod.ordinal >= std::max(wanted.pods, 0)) continue;
      if (node.answers()) here_.push_back(&node);
    }
    for (const auto* node : here_) {
      if (is_foreign(*node)) {
        foreign_.push_back(node);
      } else {
        ours_.push_back(node);
      }
    }
  }

  Decision run() {
    out_.serves = serves();
    constexpr std::array kSteps = {
        &Decider::make_pods, &Decider::hand_over, &Decider::form,   &Decider::introduce, &Decider::mend_slots,
        &Decider::remind,    &Decider::cover,     &Decider::attach, &Decider::forget,    &Decider::wait_for_calm,
        &Decider::grow,      &Decider::fill,      &Decider::shrink, &Decider::roll,      &Decider::even_out};
    for (const auto step : kSteps) {
      if ((this->*step)()) return std::move(out_);
    }
    out_.calm = true;
    out_.phase = Phase::Running;
    return std::move(out_);
  }

 private:
  // ---- what there is

  bool all_here() const { return static_cast<int>(here_.size()) >= wanted_.pods; }
  bool is_growing() const { return wanted_.pods < wanted_.replicas; }
  bool is_shrinking() const { return wanted_.pods > wanted_.replicas; }
  bool is_victim(const Node& node) const { return node.pod.ordinal >= wanted_.replicas; }
  bool owns(const Node& node) const { return !model_.slots_of(node.id).empty(); }
  const std::string& name(const Node& node) const { return node.pod.name; }

  // A node of another cluster: nobody of ours knows it, and it knows nobody of ours.
  bool is_foreign(const Node& node) const {
    if (node.is_blank() || here_.size() == 1) return false;
    // All are here, know nobody else and claim different slots: none can take anything from another.
    if (all_here() && model_.ghosts.empty() && model_.disputed.empty()) return false;
    return std::ranges::none_of(here_, [&](const Node* other) {
      return other != &node && (other->view_of(node.id) != nullptr || node.view_of(other->id) != nullptr);
    });
  }

  std::vector<const Node*> owners() const {
    std::vector<const Node*> out;
    for (const auto* node : ours_) {
      if (owns(*node)) out.push_back(node);
    }
    return out;
  }

  bool serves() const {
    if (!model_.unowned.empty() || model_.held.empty()) return false;
    return std::ranges::all_of(model_.held, [this](const auto& entry) { return model_.find(entry.first) != nullptr; });
  }

  // Slots that nobody serves, and that no replica can take over.
  SlotSet lost() const {
    SlotSet out = model_.unowned;
    for (const auto& [id, slots] : model_.held) {
      if (model_.find(id) == nullptr && model_.replicas_of(id).empty()) out |= slots;
    }
    return out;
  }

  bool has_quorum() const { return owners().size() * 2 > model_.held.size(); }

  // In sync and not about to go; of several, the one that has most. `current`: and made from the newest template.
  const Node* successor(const Node& master, bool current) const {
    const Node* best = nullptr;
    for (const auto* replica : model_.replicas_of(master.id)) {
      if (!replica->link_up || replica->loading || replica->pod.terminating) continue;
      if (current && replica->pod.outdated) continue;
      if (is_shrinking() && is_victim(*replica)) continue;
      if (best == nullptr || replica->offset > best->offset) best = replica;
    }
    return best;
  }

  // ---- ways to answer

  Phase busy_phase() const {
    if (!wanted_.was_running) return Phase::Creating;
    if (is_rolling()) return Phase::Upgrading;
    const bool scales =
        wanted_.pods != wanted_.replicas || moving_ || static_cast<int>(model_.held.size()) != wanted_.masters();
    return scales ? Phase::Scaling : Phase::Running;
  }

  bool is_rolling() const {
    if (!wanted_.rolls) return false;
    // A pod that is being made anew is of no template at the moment.
    return wanted_.was_upgrading || std::ranges::any_of(model_.nodes, [this](const Node& node) {
             return node.pod.outdated && node.pod.ordinal >= wanted_.partition;
           });
  }

  bool wait(std::string message) {
    out_.phase = busy_phase();
    out_.message = std::move(message);
    return true;
  }
  bool degraded(std::string reason, std::string message) {
    out_.degraded = std::move(reason);
    return wait(std::move(message));
  }
  bool failed(std::string reason, std::string message) {
    degraded(std::move(reason), std::move(message));
    out_.phase = Phase::Failed;
    return true;
  }

  void tell(const Node& node, std::vector<std::string> words, std::vector<std::string> fine = {}) {
    out_.commands.push_back({node.id, std::move(words), std::move(fine)});
  }

  void add_slots(const Node& node, const SlotSet& slots) {
    std::vector<std::string> words = {"CLUSTER", "ADDSLOTSRANGE"};
    for (const auto& [first, last] : slots.ranges()) {
      words.push_back(std::to_string(first));
      words.push_back(std::to_string(last));
    }
    // Busy: somebody has it; who, the next look tells.
    if (words.size() > 2) tell(node, std::move(words), {"ERR Slot"});
  }

  // Of a node that owns nothing, and whose data its master has. RESET empties the memory only: from a disk that is used
  // again later, old keys would come back, and claim slots.
  void clear(const Node& node) {
    tell(node, {"CLUSTER", "RESET", "HARD"});
    tell(node, {"SAVE"}, {"ERR"});
    tell(node, {"BGREWRITEAOF"}, {"ERR"});
  }

  void replicate(const Node& node, const Node& master) {
    // It may not have heard of its master yet.
    tell(node, {"CLUSTER", "REPLICATE", master.id}, {"ERR Unknown node"});
  }

  // ---- the steps; true: decided

  bool make_pods() {
    if (wanted_.pods != 0) return false;
    out_.pods = wanted_.replicas;
    out_.phase = Phase::Creating;
    out_.message = "the pods are made";
    return true;
  }

  // A master whose pod is about to go gives way to its replica, before its clients notice.
  bool hand_over() {
    for (const auto* node : ours_) {
      if (!node->pod.terminating || !owns(*node)) continue;
      const auto* next = successor(*node, false);
      if (next == nullptr) continue;
      out_.failovers.push_back(next->id);
      out_.notes.push_back(fmt::format("{} takes over from {}, which is being deleted", name(*next), name(*node)));
    }
    return !out_.failovers.empty() && wait("masters whose pods go are replaced");
  }

  // All who are here know each other, where they are now.
  bool introduce() {
    std::set<std::string> strangers;
    for (const auto* node : ours_) {
      for (const auto* other : ours_) {
        if (node->pod.ordinal >= other->pod.ordinal) continue;
        // Who is about to leave may be forgotten by some already.
        if (is_leaving(*node) || is_leaving(*other)) continue;
        if (knows(*node, *other) && knows(*other, *node)) continue;
        strangers.insert(name(*other));
        if (is_meeting(*node, *other)) continue;
        tell(*node, {"CLUSTER", "MEET", other->pod.address, kPortText});
      }
    }
    if (strangers.empty()) return false;
    return wait(fmt::format("nodes get to know each other: {}", fmt::join(strangers, ", ")));
  }

  // Is to be removed, and has nothing that anybody needs.
  bool is_leaving(const Node& node) const { return is_shrinking() && is_victim(node) && !owns(node); }

  // Nobody has a slot: a new cluster. Slots come before introductions, which then tell everybody about them.
  bool form() {
    if (!model_.held.empty()) return false;
    out_.phase = Phase::Creating;
    if (!foreign_.empty()) return false;
    if (!all_here()) {
      std::string silent;
      for (const auto& node : model_.nodes) {
        if (!node.answers() && silent.empty()) silent = fmt::format("; {}: {}", name(node), node.trouble);
      }
      out_.message = fmt::format("{} of {} nodes answer{}", here_.size(), wanted_.pods, silent);
      return true;
    }
    if (std::ranges::any_of(here_, [](const Node* node) { return node->keys > 0; })) {
      return failed("SlotsUncovered", "no slot has an owner, but there are keys: nothing is touched");
    }
    for (const auto* node : ours_) {
      // Epochs that differ from the start spare the nodes from settling it between them.
      if (node->is_blank() && node->self().config_epoch == 0) {
        tell(*node, {"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(node->pod.ordinal + 1)}, {"ERR"});
      }
    }
    add_even_slots(SlotSet::all());
    out_.message = "the slots are given to the masters";
    return true;
  }

  bool mend_slots() {
    auto mending = mend(model_, all_here());
    if (mending.empty()) return false;
    out_.commands = std::move(mending.commands);
    out_.moves = std::move(mending.moves);
    out_.rescues = std::move(mending.rescues);
    out_.notes = std::move(mending.notes);
    if (out_.commands.empty() && out_.moves.empty() && out_.rescues.empty()) {
      open_slots_wait_ = mending.waiting;
      return false;
    }
    for (const auto& one : out_.moves) out_.to_move += one.slots.size();
    return wait("open slots are brought to an end");
  }

  // Slots that a master does not claim, though all others take it for the owner: its claim was lost on the way between
  // nodes whose epochs changed at the same time.
  bool remind() {
    for (const auto* master : owners()) {
      SlotSet slots = model_.unowned;
      for (const auto* other : ours_) {
        if (slots.empty()) break;
        if (other == master || other->is_blank() || is_leaving(*other)) continue;
        const auto* line = other->view_of(master->id);
        slots &= line == nullptr ? SlotSet() : line->slots;
      }
      for (const auto slot : slots.slots()) {
        tell(*master, {"CLUSTER", "SETSLOT", std::to_string(slot), "NODE", master->id});
      }
      if (slots.empty()) continue;
      tell(*master, {"CLUSTER", "BUMPEPOCH"});
      out_.notes.push_back(fmt::format("{} did not know that it owns slots {}", name(*master), list_of(slots)));
    }
    return !out_.commands.empty() && wait("masters are told which slots they own");
  }

  // Slots without an owner, or whose owner is gone.
  bool cover() {
    const auto gone = lost();
    if (!gone.empty()) {
      const bool nothing_to_lose = all_here() && foreign_.empty() && model_.ghosts.empty() &&
                                   std::ranges::all_of(here_, [](const Node* n) { return n->keys == 0; });
      if (nothing_to_lose) return form_rest();
      if (wanted_.accept_loss && all_here() && foreign_.empty()) return accept_loss();
      return failed("SlotsUncovered", fmt::format("{} slots have no node that serves them: {}; {}", gone.size(),
                                                  list_of(gone), silent_pods()));
    }
    if (!has_quorum()) {
      return failed("QuorumLost",
                    fmt::format("{} of {} masters answer, which is no majority: no replica can take over; {}",
                                owners().size(), model_.held.size(), silent_pods()));
    }
    return false;
  }

  // The rest of the slots of a cluster that was just being made.
  bool form_rest() {
    add_even_slots(model_.unowned);
    return wait("the slots are given to the masters");
  }

  // Each master gets those of its even share that are free.
  void add_even_slots(const SlotSet& free) {
    const auto masters = planned_masters();
    for (std::size_t i = 0; i < masters.size(); ++i) {
      const auto cut = [&](std::size_t at) { return (at * kSlots + masters.size() / 2) / masters.size(); };
      add_slots(*masters[i], SlotSet::range(cut(i), cut(i + 1) - 1) & free);
    }
  }

  // The owner's data is gone for good, and the user said that this is all right.
  bool accept_loss() {
    std::vector<std::string> owners_gone;
    for (const auto& [id, slots] : model_.held) {
      if (model_.find(id) == nullptr) owners_gone.push_back(id);
    }
    for (const auto& id : owners_gone) {
      for (const auto* node : here_) {
        if (node->view_of(id) != nullptr && node->master_id() != id) {
          tell(*node, {"CLUSTER", "FORGET", id}, {"ERR Unknown node"});
        }
      }
    }
    out_.notes.push_back(fmt::format("slots {} are given up, as dataLossPolicy says", list_of(lost())));
    if (!owners_gone.empty()) return degraded("DataLost", "owners that are gone for good are forgotten");
    auto masters = owners();
    if (masters.empty()) masters = planned_masters();
    std::map<const Node*, SlotSet> shares;
    std::size_t next = 0;
    for (const auto slot : model_.unowned.slots()) {
      const Node* best = nullptr;
      for (const auto* master : masters) {
        const auto found = master->keys_in_slot.find(slot);
        if (found != master->keys_in_slot.end() && found->second > 0) best = master;
      }
      if (best == nullptr) best = masters[next++ % masters.size()];
      shares[best].insert(slot);
    }
    for (const auto& [node, slots] : shares) add_slots(*node, slots);
    return degraded("DataLost", "slots whose data is lost get new owners");
  }

  std::string silent_pods() const {
    std::vector<std::string> out;
    for (const auto& node : model_.nodes) {
      if (!node.answers()) out.push_back(fmt::format("{}: {}", name(node), node.trouble));
    }
    const auto missing = wanted_.pods - static_cast<int>(model_.nodes.size());
    if (missing > 0) out.push_back(fmt::format("{} pods are missing", missing));
    for (const auto* node : foreign_) out.push_back(fmt::format("{} belongs to another cluster", name(*node)));
    return out.empty() ? "all pods answer" : fmt::format("{}", fmt::join(out, "; "));
  }

  // Those who stay, as the layout sees them.
  std::map<int, int> layout() const {
    std::vector<Seat> seats;
    for (const auto* node : ours_) {
      if (is_shrinking() && is_victim(*node)) continue;
      Seat seat;
      seat.ordinal = node->pod.ordinal;
      seat.host = node->pod.host;
      seat.zone = node->pod.zone;
      seat.owns = (owns(*node) && !is_drained(*node)) || takes_over(*node);
      if (!node->is_master() && !is_spare(*node)) {
        const auto* master = final_master(*node);
        if (master != nullptr) seat.follows = master->pod.ordinal;
      }
      seats.push_back(std::move(seat));
    }
    return lay_out(seats, wanted_masters(), wanted_.replicas_each);
  }

  // A replica more than its master needs, while masters are wanted: what a drain leaves that was called off.
  bool is_spare(const Node& node) const {
    if (is_shrinking() || static_cast<int>(owners().size()) >= wanted_masters()) return false;
    int before = 0;
    for (const auto* replica : model_.replicas_of(node.master_id())) {
      if (replica->pod.ordinal < node.pod.ordinal) ++before;
    }
    return before >= wanted_.replicas_each;
  }

  // Will be a master, because its own goes and the shard stays.
  bool takes_over(const Node& node) const {
    const auto* master = node.is_master() || !is_shrinking() ? nullptr : model_.find(node.master_id());
    if (master == nullptr || !owns(*master) || !is_victim(*master) || is_drained(*master)) return false;
    return successor(*master, false) == &node;
  }

  // Of a replica of a replica, the master that both are to follow.
  const Node* final_master(const Node& replica) const {
    const auto* master = model_.find(replica.master_id());
    if (master != nullptr && !master->is_master()) master = model_.find(master->master_id());
    return master;
  }

  // For as many pods as there are: the rest comes when the pods do.
  int wanted_masters() const { return std::min(wanted_.pods, wanted_.replicas) / (wanted_.replicas_each + 1); }

  std::vector<const Node*> planned_masters() const {
    const auto plan = layout();
    std::vector<const Node*> out;
    for (const auto* node : ours_) {
      const auto found = plan.find(node->pod.ordinal);
      if (found != plan.end() && found->second == node->pod.ordinal) out.push_back(node);
    }
    return out;
  }

  const Node* with_ordinal(int ordinal) const {
    const auto found =
        std::ranges::find_if(ours_, [ordinal](const Node* node) { return node->pod.ordinal == ordinal; });
    return found == ours_.end() ? nullptr : *found;
  }

  // Replicas follow whom they should, and masters that need not be any become replicas.
  bool attach() {
    if (!out_.serves) return false;  // who is silent may be replaced by its replica yet
    for (const auto& [ordinal, of] : layout()) {
      if (ordinal == of) continue;
      const auto* node = with_ordinal(ordinal);
      const auto* master = with_ordinal(of);
      if (node == nullptr || master == nullptr || owns(*node) || node->loading || !master->is_master()) continue;
      if (node->pod.terminating || node->view_of(master->id) == nullptr) continue;
      if (node->is_master()) {
        replicate(*node, *master);
        continue;
      }
      // The copy of slots that are about to leave stays until they have.
      const auto* current = model_.find(node->master_id());
      if (current == nullptr && may_be_needed(node->master_id())) continue;
      if (current != nullptr && owns(*current) && is_shrinking() && (is_victim(*current) || is_drained(*current)))
        continue;
      const bool lost_link = !node->link_up && node->link_down_seconds > kLinkPatienceSeconds;
      if (node->master_id() != master->id || (lost_link && all_here())) replicate(*node, *master);
    }
    if (out_.commands.empty()) return false;
    return wait("replicas are attached to their masters");
  }

  // A receiver that has no slots yet is not replaced by its replica when it dies, though that has the keys that came.
  bool may_be_needed(const std::string& silent_master) const {
    if (!all_here()) return true;
    return std::ranges::any_of(model_.nodes, [&](const Node& node) {
      return std::ranges::any_of(node.self().open, [&](const auto& open) { return open.peer == silent_master; });
    });
  }

  // Nodes that are gone for good: every pod is here under another id.
  bool forget() {
    if (!all_here() || !foreign_.empty()) return false;
    for (const auto& ghost : model_.ghosts) {
      if (!model_.slots_of(ghost).empty()) continue;
      if (std::ranges::any_of(here_, [&](const Node* node) { return node->master_id() == ghost; })) continue;
      for (const auto* node : here_) {
        if (node->view_of(ghost) != nullptr) tell(*node, {"CLUSTER", "FORGET", ghost}, {"ERR Unknown node"});
      }
      out_.notes.push_back(fmt::format("node {} is gone for good and forgotten", ghost));
    }
    return !out_.commands.empty() && wait("nodes that are gone are forgotten");
  }

  // What is not as it should be, though nothing can be done but to wait.
  bool wait_for_calm() {
    if (!foreign_.empty()) {
      return degraded("ForeignNode",
                      fmt::format("{} belongs to another Redis cluster and is left alone", name(*foreign_[0])));
    }
    if (replaceable_pod()) return true;
    if (!all_here()) {
      // All whom the nodes know are here: those who are missing are new.
      if (model_.ghosts.empty()) return wait(fmt::format("new pods are awaited: {}", silent_pods()));
      if (is_rolling() && out_.serves) return wait(silent_pods());
      return degraded("NodesMissing", silent_pods());
    }
    if (!open_slots_wait_.empty()) return wait(open_slots_wait_);
    for (const auto* node : here_) {
      if (is_leaving(*node)) continue;
      if (node->pod.terminating) return wait(fmt::format("{} is being deleted", name(*node)));
      if (node->loading) return wait(fmt::format("{} loads its data", name(*node)));
      if (!node->state_ok) return wait(fmt::format("{} does not see the whole cluster yet", name(*node)));
      if (!node->is_master() && !node->link_up)
        return wait(fmt::format("{} gets its data from its master", name(*node)));
      for (const auto& line : node->sees) {
        const auto* other = model_.find(line.id);
        if (other != nullptr && is_leaving(*other)) continue;
        if (!line.healthy()) return wait(fmt::format("{} has no contact with node {}", name(*node), line.id));
      }
    }
    if (!model_.disagreed.empty()) {
      return wait(fmt::format("nodes do not agree yet whose these slots are: {}", list_of(model_.disagreed)));
    }
    return false;
  }

  // A pod of an older template that does not work is replaced even when not all is well: a bad template is taken back
  // so.
  bool replaceable_pod() {
    if (!wanted_.rolls) return false;
    const Node* broken = nullptr;
    for (const auto& node : model_.nodes) {
      if (node.answers() || node.loading) continue;
      if (broken != nullptr || !node.pod.outdated || node.pod.ready || node.pod.terminating) return false;
      if (node.pod.ordinal < wanted_.partition) return false;
      broken = &node;
    }
    if (broken == nullptr || broken->pod.address.empty()) return false;
    for (const auto* node : here_) {
      for (const auto& line : node->sees) {
        if (line.address == broken->pod.address && line.master && !line.slots.empty() && !line.failed) return false;
      }
    }
    out_.replace_pod = name(*broken);
    out_.notes.push_back(fmt::format("{} does not work and is made anew from the newer template", name(*broken)));
    return degraded("NodesMissing", fmt::format("{} is made anew", name(*broken)));
  }

  bool grow() {
    if (!is_growing()) return false;
    if (wanted_.assigns && !wanted_.assignments.empty()) {
      // Before anything is touched.
      std::vector<Holding> receivers;
      for (auto i = wanted_masters(); i < wanted_.masters(); ++i) {
        receivers.push_back({fmt::format("new master {}", i), wanted_.pods + i, SlotSet()});
      }
      const auto plan = assign(holdings(owners()), receivers, wanted_.assignments);
      if (!plan) {
        degraded("InvalidStrategy", plan.error().what());
        out_.phase = Phase::Running;
        return true;
      }
    }
    out_.pods = wanted_.replicas;
    out_.phase = Phase::Scaling;
    out_.message = fmt::format("{} pods are added", wanted_.replicas - wanted_.pods);
    return true;
  }

  std::vector<Holding> holdings(const std::vector<const Node*>& nodes) const {
    std::vector<Holding> out;
    for (const auto* node : nodes) out.push_back({node->id, node->pod.ordinal, model_.slots_of(node->id)});
    return out;
  }

  bool move(std::vector<Move> moves, const char* what) {
    out_.moves = std::move(moves);
    moving_ = true;
    for (const auto& one : out_.moves) out_.to_move += one.slots.size();
    return wait(fmt::format("{}: {} to go", what, out_.to_move));
  }

  // New masters get their slots.
  bool fill() {
    if (!wanted_.plan.empty()) return go_on_with_plan();
    if (is_shrinking()) return false;
    const auto masters = planned_masters();
    std::vector<const Node*> empty;
    for (const auto* node : masters) {
      if (!owns(*node)) empty.push_back(node);
    }
    if (empty.empty()) return false;
    for (const auto* node : empty) {
      if (!node->is_master()) clear(*node);
    }
    if (!out_.commands.empty()) return wait("a replica that is not needed becomes a master");
    if (!wanted_.assigns) return move(balance(holdings(masters)), "slots move to new masters");
    const auto plan = assign(holdings(owners()), holdings(empty), wanted_.assignments);
    if (!plan) {
      degraded("InvalidStrategy", plan.error().what());
      out_.phase = Phase::Running;
      return true;
    }
    std::map<std::string, SlotSet> by_receiver;
    for (const auto& one : *plan) by_receiver[one.to] |= one.slots;
    out_.plan.emplace();
    for (const auto& [to, slots] : by_receiver) out_.plan->push_back({to, slots});
    return move(*plan, "slots move to new masters");
  }

  bool go_on_with_plan() {
    std::map<std::pair<std::string, std::string>, SlotSet> left;
    for (const auto& part : wanted_.plan) {
      const auto* to = model_.find(part.to);
      if (to != nullptr && !to->is_master()) to = final_master(*to);
      if (to == nullptr) {
        // Its disk is gone, and who took over is not to be told from others.
        out_.plan.emplace();
        return degraded("InvalidStrategy", fmt::format("node {}, which was to get slots, is gone", part.to));
      }
      for (const auto slot : part.slots.slots()) {
        if (model_.owner(slot) != to->id) left[{model_.owner(slot), to->id}].insert(slot);
      }
    }
    if (left.empty()) {
      out_.plan.emplace();
      return wait("the new masters have their slots");
    }
    std::vector<Move> moves;
    for (const auto& [pair, slots] : left) moves.push_back({pair.first, pair.second, slots});
    return move(std::move(moves), "slots move to new masters");
  }

  // ---- fewer pods

  // The masters whose slots go to others: those of the shards that have most members among the pods that go.
  std::set<std::string> drained() const {
    struct Shard {
      bool all_leave = false;
      int leaving = 0;
      int ordinal = 0;
      std::string id;
    };
    std::vector<Shard> shards;
    for (const auto* master : owners()) {
      Shard shard;
      shard.id = master->id;
      shard.ordinal = master->pod.ordinal;
      shard.leaving = is_victim(*master) ? 1 : 0;
      const auto replicas = model_.replicas_of(master->id);
      for (const auto* replica : replicas) shard.leaving += is_victim(*replica) ? 1 : 0;
      shard.all_leave = static_cast<std::size_t>(shard.leaving) == replicas.size() + 1;
      shards.push_back(std::move(shard));
    }
    std::ranges::sort(shards, [](const Shard& a, const Shard& b) {
      return std::tie(a.all_leave, a.leaving, a.ordinal) > std::tie(b.all_leave, b.leaving, b.ordinal);
    });
    std::set<std::string> out;
    const auto stay = static_cast<std::size_t>(wanted_.masters());
    for (std::size_t i = 0; i + stay < shards.size(); ++i) out.insert(shards[i].id);
    return out;
  }
  bool is_drained(const Node& node) const { return is_shrinking() && drained().contains(node.id); }

  bool shrink() {
    if (!is_shrinking()) return false;
    const auto going = drained();
    std::vector<const Node*> keep;
    std::vector<const Node*> drain;
    for (const auto* master : owners()) (going.contains(master->id) ? drain : keep).push_back(master);
    // A master that goes, of a shard that stays, gives way to a replica that stays.
    for (const auto* master : keep) {
      if (!is_victim(*master)) continue;
      const auto* next = successor(*master, false);
      if (next == nullptr) {
        return degraded("ScaleDownBlocked", fmt::format("{} is a master and has no replica that stays", name(*master)));
      }
      out_.failovers = {next->id};
      return scaling(fmt::format("{} takes over from {}", name(*next), name(*master)));
    }
    if (!drain.empty()) {
      if (auto why = lacks_memory(keep, drain); !why.empty()) return degraded("ScaleDownBlocked", std::move(why));
      return move(balance(holdings(keep), holdings(drain)), "slots leave masters that go");
    }
    return let_go();
  }

  bool scaling(std::string message) {
    out_.message = std::move(message);
    out_.phase = Phase::Scaling;
    return true;
  }

  std::string lacks_memory(const std::vector<const Node*>& keep, const std::vector<const Node*>& drain) const {
    std::int64_t needed = 0;
    std::int64_t room = 0;
    bool bounded = !keep.empty();
    for (const auto* node : drain) needed += node->memory + node->memory / 5;
    for (const auto* node : keep) {
      bounded = bounded && node->max_memory > 0;
      room += std::max<std::int64_t>(0, node->max_memory - node->memory);
    }
    if (!bounded || room >= needed) return {};
    return fmt::format("the masters that stay have {} bytes of memory left, and {} may come to them", room, needed);
  }

  // The pods that go have no slots any more: they are forgotten by all, emptied, and then removed.
  bool let_go() {
    std::vector<const Node*> victims;
    bool known = false;
    for (const auto* node : ours_) {
      if (is_victim(*node)) victims.push_back(node);
    }
    for (const auto* victim : victims) {
      if (owns(*victim)) return wait(fmt::format("{} still has slots", name(*victim)));
      for (const auto* node : ours_) {
        if (is_victim(*node) || node->view_of(victim->id) == nullptr) continue;
        if (node->master_id() == victim->id)
          return wait(fmt::format("{} still follows {}", name(*node), name(*victim)));
        known = true;
        tell(*node, {"CLUSTER", "FORGET", victim->id}, {"ERR Unknown node"});
      }
    }
    if (known) return scaling("pods that go are forgotten by those that stay");
    for (const auto* victim : victims) {
      if (!victim->is_blank()) {
        clear(*victim);
      } else if (victim->log_size > kEmptyLog && !victim->rewriting) {
        tell(*victim, {"BGREWRITEAOF"}, {"ERR"});
      }
    }
    if (!out_.commands.empty()) return scaling("pods that go are emptied");
    for (const auto* victim : victims) {
      if (victim->rewriting) return scaling(fmt::format("{} empties its disk", name(*victim)));
    }
    out_.pods = wanted_.replicas;
    return scaling(fmt::format("{} pods are removed", wanted_.pods - wanted_.replicas));
  }

  // ---- newer template

  bool roll() {
    if (!wanted_.rolls) return false;
    const Node* replica = nullptr;
    const Node* master = nullptr;
    int outdated = 0;
    for (const auto* node : ours_) {
      if (!node->pod.outdated || node->pod.ordinal < wanted_.partition) continue;
      ++outdated;
      (owns(*node) ? master : replica) = node;  // the last one: from the highest ordinal down
    }
    if (outdated == 0) return false;
    out_.phase = Phase::Upgrading;
    for (const auto* node : ours_) {
      if (!node->pod.ready) {
        out_.message = fmt::format("{} is not ready yet; {} pods are to be replaced", name(*node), outdated);
        return true;
      }
    }
    if (replica != nullptr) {
      out_.replace_pod = name(*replica);
      out_.message = fmt::format("{} is replaced, {} to go", name(*replica), outdated);
      return true;
    }
    const auto* next = successor(*master, true);
    if (next == nullptr) next = successor(*master, false);  // behind a partition, replicas stay old
    if (next == nullptr) {
      degraded("UpgradeBlocked", fmt::format("{} has no replica that could take over", name(*master)));
      out_.phase = Phase::Upgrading;
      return true;
    }
    out_.failovers = {next->id};
    out_.message = fmt::format("{} takes over from {}", name(*next), name(*master));
    return true;
  }

  bool even_out() {
    if (wanted_.assigns) return false;
    auto moves = balance(holdings(owners()));
    return !moves.empty() && move(std::move(moves), "slots are spread evenly");
  }

  const Model& model_;
  const Wanted& wanted_;
  Decision out_;
  std::vector<const Node*> here_;     // they answer
  std::vector<const Node*> foreign_;  // of them, those of another cluster
  std::vector<const Node*> ours_;     // the others
  bool moving_ = false;
  std::string open_slots_wait_;
};

}  // namespace

std::string_view to_string(Phase phase) {
  switch (phase) {
    case Phase::Creating: return "Creating";
    case Phase::Running: return "Running";
    case Phase::Failed: return "Failed";
    case Phase::Scaling: return "Scaling";
    case Phase::Upgrading: return "Upgrading";
  }
  return "";
}

Decision decide(const Model& model, const Wanted& wanted) { return Decider(model, wanted).run(); }

}  // namespace redis
