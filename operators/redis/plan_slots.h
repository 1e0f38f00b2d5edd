#pragma once

#include <expected>
#include <string>
#include <vector>

#include "kopper/base/error.h"

#include "decision.h"
#include "slots.h"

// Which slots go where: pure.

namespace redis {

// A master and its slots.
struct Holding {
  std::string id;
  int ordinal = 0;  // of its pod
  SlotSet slots;
};

// Moves after which `keep` have all slots, spread evenly, and `drain` none. An even share is floor(16384/n), and the
// rest stays with those who have most. Donors give their lowest slots. Empty when it is so already.
std::vector<Move> balance(std::vector<Holding> keep, std::vector<Holding> drain = std::vector<Holding>());

// The largest distance from the even share, in percent of it; 0 when nobody is a whole slot away.
double imbalance(const std::vector<Holding>& holdings);

// What a new master gets: so many slots, of these donors together.
struct Assignment {
  std::size_t slots = 0;
  std::vector<std::string> donors;  // ids
};

// The i-th assignment feeds the i-th of `receivers`, which come in the order of their ordinals. Each donor gives in
// proportion to what it has, its lowest slots first; what rounding leaves, the largest gives (of equal ones, the one
// with the lower ordinal), so that exactly as many move as were asked for. Error{Invalid} names the field
// ("updateStrategy.assignStrategies[1].fromReplicas") of an unknown id, a receiver among the donors, a wrong number of
// assignments, less than one slot, or a donor that would give all that it has.
// Receivers that have slots already are taken as fed in part, by an earlier call that was not carried out to its end:
// they get what is missing, from those who have not given yet as far as the layout tells.
std::expected<std::vector<Move>, kopper::Error> assign(const std::vector<Holding>& donors,
                                                       const std::vector<Holding>& receivers,
                                                       const std::vector<Assignment>& assignments);

}  // namespace redis
