#pragma once

#include <string>
#include <string_view>

#include "kopper/api/time.h"

#include "decide.h"
#include "model.h"
#include "types.h"

namespace redis {

// What people see of a cluster: pure.

// A node entry for each pod, then Ready, Progressing, Degraded and Paused. Times of entries that say what they said
// before stay as they were.
RedisClusterStatus status_of(const RedisCluster& cluster, const Model& model, const Decision& decision,
                             kopper::api::Time now);

// The status as it was, with this wrong about the spec.
RedisClusterStatus refused(const RedisCluster& cluster, std::string reason, std::string message, kopper::api::Time now);

// Null when there is none of this type.
const NodeCondition* find_condition(const RedisClusterStatus& status, std::string_view type);

}  // namespace redis
