#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "decision.h"
#include "model.h"
#include "plan_slots.h"

// What to do next about a cluster: pure.

namespace redis {

enum class Phase : std::uint8_t { Creating, Running, Failed, Scaling, Upgrading };
std::string_view to_string(Phase phase);

// What is left of the slots that AssignReceive gives a new master. Kept until all are there, because what a donor had
// before cannot be seen any more once the first slot has moved.
struct Planned {
  std::string to;  // id of the master, or of one that was it: its master is meant then
  SlotSet slots;

  friend bool operator==(const Planned&, const Planned&) = default;
};

struct Wanted {
  int replicas = 0;       // pods
  int replicas_each = 1;  // of a master
  int pods = 0;           // that the StatefulSet was told to have; 0: there is none
  bool assigns = false;   // AssignReceive
  std::vector<Assignment> assignments;
  std::vector<Planned> plan;
  bool accept_loss = false;
  bool rolls = true;         // replaces outdated pods
  int partition = 0;         // only those from this ordinal on
  bool was_running = false;  // before this look
  bool was_upgrading = false;

  int masters() const { return replicas / (replicas_each + 1); }
};

struct Decision {
  Phase phase = Phase::Running;
  std::string message;   // for people: what is done or waited for; "" when all is well
  std::string degraded;  // one word why it is not as it should be; "" when it is, or only on its way
  bool serves = false;   // every slot has a master that answers
  bool calm = false;     // nothing is to be done
  int pods = 0;          // that the StatefulSet is to have

  // To be done in this order. The commands of one node in theirs, those of different nodes at the same time.
  std::vector<Command> commands;
  std::vector<std::string> failovers;  // ids of replicas that are to take over
  std::vector<Move> moves;             // at the same time
  std::vector<Rescue> rescues;
  std::string replace_pod;                   // to be deleted, so that it is made anew
  std::optional<std::vector<Planned>> plan;  // to be kept before anything is moved; empty: no longer

  std::vector<std::string> notes;  // what is worth an event
  std::size_t to_move = 0;         // slots, in all
};

// Looks from the most urgent to the least, and decides for the first thing that is not as it should be: at most one
// disruptive thing at a time, and none but healing unless everybody is there and agrees. Never anything that loses
// data, unless `accept_loss`. Paused clusters are not for this.
Decision decide(const Model& model, const Wanted& wanted);

}  // namespace redis
