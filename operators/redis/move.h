#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kopper/rt/loop.h"
#include "kopper/rt/task.h"

#include "connection.h"
#include "slots.h"

namespace redis {

// A master that takes part in a move.
struct Party {
  std::string id;
  std::shared_ptr<Connection> link;
};

struct MoveOptions {
  std::size_t keys_a_migrate = 10;  // spec.updateStrategy.pipeline
  std::size_t batch = 64;           // slots that are open at once
  std::size_t in_flight = 2;        // MIGRATEs; `from` serves its clients between two of them
  kopper::rt::Duration migrate_timeout = std::chrono::milliseconds(1000);  // shorter than the node timeout
  kopper::rt::Duration replica_patience = std::chrono::seconds(5);
  // Asked before each batch: false ends the move there, between two batches.
  std::function<bool()> go_on;
};

struct Moved {
  std::size_t slots = 0;
  std::uint64_t keys = 0;
  // Why it ended before all were moved; what is open then stays open, and is finished or undone by a later look.
  std::string trouble;
};

// Moves slots of `from` to `to`, batch by batch, while clients read and write: opens them, moves their keys, closes
// them only when `from` counts no key any more, and tells `others` (the rest of the masters). After each batch it waits
// until a replica of `to`, if it has one, has what came. Slots that are half moved already are finished. `progress`
// outlives the call and tells how far it is. Throws nothing but Cancelled; it may be cancelled anywhere.
kopper::Task<> move_slots(Party from, Party to, std::vector<Party> others, SlotSet slots, MoveOptions options,
                          Moved* progress);

// Brings keys of slots that `holder` does not own to `owner`, whose copy stays when it has one.
kopper::Task<> rescue_keys(Party holder, Party owner, SlotSet slots, MoveOptions options, Moved* progress);

}  // namespace redis
