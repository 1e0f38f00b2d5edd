#pragma once

#include "kopper/kopper.h"

#include "act.h"
#include "decide.h"
#include "model.h"
#include "types.h"

// What people and Prometheus learn of a pass.

namespace redis {

// Events for a new phase, and for what is wrong since this look.
void tell_people(const kopper::Context<RedisCluster>& self, const Decision& decision, const RedisClusterStatus& status);
void measure(const kopper::Context<RedisCluster>& self, const Model& model, const Decision& decision);
void count(const kopper::Context<RedisCluster>& self, const Decision& decision, const Acted& acted);

}  // namespace redis
