#pragma once

#include <string>
#include <vector>

#include "decision.h"
#include "model.h"

namespace redis {

// What brings open slots to an end, and keys back to where clients find them.
struct Mending {
  std::vector<Command> commands;  // first, in this order
  std::vector<Move> moves;        // then these
  std::vector<Rescue> rescues;
  std::vector<std::string> notes;  // for people: one line each, what was found and what is done about it
  std::string waiting;             // nothing can be done yet, and why

  bool empty() const { return commands.empty() && moves.empty() && rescues.empty() && waiting.empty(); }
};

// Looks at every mark of an open slot, at hidden keys, at disputed slots and at views that no gossip sets right. Pure;
// empty when there are none. Commands and moves may be repeated, and another state found on the way is a matter of the
// next look. A move that was begun goes forward. What is at the owner of a slot is the newer copy; keys elsewhere are
// brought to it, and no slot is taken from a node that has keys of it. `everybody`: the model has all pods that should
// be there. A node counts as gone for good only when that is so, and every pod answers with another id.
Mending mend(const Model& model, bool everybody);

}  // namespace redis
