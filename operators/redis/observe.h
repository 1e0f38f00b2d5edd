#pragma once

#include <memory>
#include <vector>

#include "kopper/rt/task.h"

#include "connection.h"
#include "model.h"

namespace redis {

// Asks the Redis of every pod, all at the same time. Who does not answer is in the model with its trouble; nothing is
// thrown for it. `hidden`: look also for keys that a master has of slots that are not its own, which takes thousands of
// (cheap) questions.
kopper::Task<std::shared_ptr<const Model>> observe(Links& links,  // outlives: it is the caller's
                                                   std::vector<PodFacts> pods, bool hidden);

}  // namespace redis
