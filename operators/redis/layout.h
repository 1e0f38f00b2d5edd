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
// `masters`, pods that follow nobody become masters first: those that others follow, then those whose master is not
// among the seats (they have its data), then the rest. Replicas stay where they are unless their master has more
// than its share and another has less, or another has none. New masters go to hosts (zones) that have none or fewest; a
// replica goes to another host than its master's whenever the hosts allow it for all, and to another zone. More than
// `masters` owners: all of them stay. Deterministic, and stable: what it made, it leaves.
std::map<int, int> lay_out(const std::vector<Seat>& seats, int masters, int replicas_each);

// Two replicas that are to follow each other's master.
struct Swap {
  int replica = 0;  // the one that is on its master's host
  int with = 0;

  friend bool operator==(const Swap&, const Swap&) = default;
};

// Swaps after which fewer replicas are on the host of their master; no replica is in two of them. Once they are done
// and it is empty, no other pairing with one replica each would be better.
std::vector<Swap> misplaced(const std::vector<Seat>& seats);

}  // namespace redis
