#pragma once

#include <map>
#include <string>
#include <vector>

// Who is a master, and whose replica the others are: pure.

namespace redis {

// A pod that takes part, and what it is already.
struct Seat {
  int ordinal = 0;
  std::string host;
  std::string zone;   // "" when it is not known
  bool owns = false;  // a master with slots: it stays one
  int follows = -1;   // the ordinal of its master when it is a replica
};

// The ordinal of each pod's master; a master is its own. Masters that own slots stay; when there are fewer than
// `masters`, pods that follow nobody become masters first. Replicas stay where they are unless their master has more
// than its share and another has less. New masters go to hosts (zones) that have none or fewest; a replica goes to
// another host than its master's whenever the hosts allow it for all. More than `masters` owners: all of them stay.
// Deterministic, and stable: what it made, it leaves.
std::map<int, int> lay_out(const std::vector<Seat>& seats, int masters, int replicas_each);

}  // namespace redis
