#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "kopper/base/error.h"

#include "slots.h"

namespace redis {

// A slot that is being moved, as the node says that has the mark.
struct OpenSlot {
  std::size_t slot = 0;
  bool importing = false;  // else migrating
  std::string peer;        // the id of the other node

  friend bool operator==(const OpenSlot&, const OpenSlot&) = default;
};

// A line of CLUSTER NODES: what one node thinks of one, which may be itself.
struct NodeLine {
  std::string id;
  std::string address;  // "" when it is not known
  std::uint16_t port = 0;
  std::uint16_t bus_port = 0;
  bool myself = false;
  bool master = false;  // else a replica, or neither: nobody knows yet
  bool replica = false;
  bool failed = false;     // agreed by most masters
  bool suspected = false;  // "fail?": this node's own opinion
  bool handshake = false;
  bool noaddr = false;
  std::string master_id;  // of a replica
  std::uint64_t config_epoch = 0;
  bool linked = false;
  SlotSet slots;
  std::vector<OpenSlot> open;  // only in the line about itself

  bool healthy() const { return (master || replica) && !failed && !suspected && !handshake && !noaddr; }
};

// The answer to CLUSTER NODES. An error names the line that is not one.
std::expected<std::vector<NodeLine>, kopper::Error> parse_cluster_nodes(std::string_view text);

// The value of `name` in an answer to INFO or CLUSTER INFO; "" when it is not there.
std::string_view info_value(std::string_view info, std::string_view name);
std::int64_t info_number(std::string_view info, std::string_view name, std::int64_t otherwise = 0);

}  // namespace redis
