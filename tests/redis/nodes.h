#pragma once

#include <bitset>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace redis::testing {

inline constexpr std::size_t kAllSlots = 16384;

// A line of CLUSTER NODES. Read without the product's parser, which it verifies.
struct NodeSeen {
  std::string id;
  std::string address;  // without ports
  std::set<std::string> flags;
  std::string master;  // id; "-" when it has none
  bool linked = false;
  std::bitset<kAllSlots> slots;
  std::string slots_text;         // as it stands there, without the marks
  std::vector<std::string> open;  // "[7->-id]"

  bool is(const std::string& flag) const { return flags.contains(flag); }
};

std::vector<NodeSeen> read_nodes(std::string_view text);

// The slot of a key, its part in braces counted when it has one.
std::size_t slot_of_key(std::string_view key);

}  // namespace redis::testing
