#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace redis::testing {

struct Expected {
  std::string password;
  std::size_t masters = 0;   // with slots; 0: any number
  std::size_t replicas = 1;  // of each, at least
};

// Asks every node and compares. What is wrong, one line each; "" when
// - each slot has one owner, a master among these nodes, the same in all views;
// - no slot is open anywhere, and no node has keys of slots that it does not own;
// - all say cluster_state:ok, and know these nodes and no other, none failed, unknown or in handshake;
// - every master has its replicas, with the link up.
std::string broken_invariants(const std::vector<std::string>& addresses, const Expected& expected = Expected());

// Until nothing is wrong, or `patience` has passed: then what was wrong last. The addresses are asked for again each
// time.
std::string wait_for_invariants(const std::function<std::vector<std::string>()>& addresses,
                                const Expected& expected = Expected(),
                                std::chrono::seconds patience = std::chrono::seconds(90));

}  // namespace redis::testing
