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
#include "decide.h"
#include "model.h"

namespace redis {

struct ActOptions {
  std::size_t keys_a_migrate = 10;
  // Moves end after this, between two batches, so that somebody looks again.
  kopper::rt::Duration budget = std::chrono::seconds(2);
  // Asked before anything is changed: whether this process still may.
  std::function<bool()> may_write;
};

struct Acted {
  std::size_t commands = 0;
  std::size_t failovers = 0;
  std::size_t slots = 0;
  std::uint64_t keys = 0;
  std::vector<std::string> troubles;  // what did not go as it should; the next look decides anew
};

// Does in Redis what was decided: commands, failovers, moves, rescues. What fails ends up in `troubles`.
kopper::Task<Acted> act(Links& links,  // outlives: it is the caller's
                        std::shared_ptr<const Model> model, Decision decision, ActOptions options);

}  // namespace redis
