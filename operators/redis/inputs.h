#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kopper/kopper.h"

#include "connection.h"
#include "decide.h"
#include "model.h"
#include "rotate.h"
#include "types.h"

// What a pass starts from, out of Kubernetes.

namespace redis {

// What a pass needs besides the spec, read from the API server now and then.
struct Read {
  kopper::rt::TimePoint at;
  std::string settings;   // the user's redis.conf
  Passwords passwords;    // `used` is what pods start with
  bool rendered = false;  // there is a Secret that they start with
  std::string ca;         // of TLS
};

// Throws Error{NotFound} that names the field of what is missing.
kopper::Task<Read> read_inputs(kopper::Context<RedisCluster> self);
// How nodes are reached.
Access access_of(const RedisCluster& cluster, const Read& read);

// "demo-12" of "demo": 12.
std::optional<int> ordinal_of(std::string_view pod, std::string_view set);
// The pods of the set, from the cache.
std::vector<PodFacts> facts_of(const kopper::Context<RedisCluster>& self, const kopper::StatefulSet& set);

// What the spec asks for; `set` is null when there is none yet.
Wanted wanted_of(const RedisCluster& cluster, const kopper::StatefulSet* set);
// Keeps the plan of AssignReceive on the set; an empty one takes it away.
kopper::json::Value plan_patch(const std::vector<Planned>& plan);

}  // namespace redis
