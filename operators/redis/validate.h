#pragma once

#include <vector>

#include "kopper/base/error.h"

#include "types.h"

namespace redis {

// What is wrong with a spec, field by field ("spec.updateStrategy.assignStrategies[0].slots"); nothing: all is well.
// Pure. Also all that the schema says, for servers that do not check it.
//
// A webhook has `before`, what is stored: what may not change is compared with it, and who has which slots is read
// from its status. A reconcile has none, and reads that from the status of the object itself. Assignments of slots are
// looked at while the pods that they are for are not there yet; later they are under way or done.
std::vector<kopper::Cause> validate(const RedisCluster& now, const RedisCluster* before = nullptr);

// "a, b,c"
std::vector<std::string> ids_of(std::string_view from_replicas);
// spec.updateStrategy.pipeline; 10 when it is not a number.
std::size_t pipeline_of(const RedisClusterSpec& spec);

}  // namespace redis
