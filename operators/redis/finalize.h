#pragma once

#include "kopper/kopper.h"

#include "types.h"

namespace redis {

// What becomes of a cluster that is deleted, as spec.finalizers and spec.storage.retain say.
kopper::Task<kopper::Next> finalize(kopper::Context<RedisCluster> self);

}  // namespace redis
