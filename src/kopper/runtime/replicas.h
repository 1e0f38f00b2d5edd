#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kopper/api/pods.h"
#include "kopper/rt/task.h"

namespace kopper::runtime {

// The names of `count` more replicas of an object: "demo-1f9qz". They follow from the object's uid and from the names
// that are taken, so that one who sees less than there is (a cache that lags, an answer that was lost) asks for a name
// that exists, and makes no replica too many.
std::vector<std::string> replica_names(std::string_view owner, std::string_view uid, std::size_t count,
                                       const std::set<std::string>& taken);

// What is to be done so that an object has `wanted` pods.
struct ReplicaPlan {
  std::vector<std::string> create;  // names
  std::vector<api::PodRef> remove;  // what is too many, the cheapest first
  std::vector<api::PodRef> ended;   // those that have ended: others take their place
};
ReplicaPlan plan_replicas(const api::metav1::ObjectMeta& owner, std::size_t wanted,
                          const std::vector<api::PodRef>& pods);

// Calls `one` for 0 … count-1, at first once, then for two at a time, four, … up to `most`: when all must fail, few do.
// When calls failed, the first error is thrown once its batch is done; no further batch is begun.
Task<> slow_start(std::size_t count, std::function<Task<>(std::size_t)> one, std::size_t most = 500);

}  // namespace kopper::runtime
