#include "kopper/runtime/replicas.h"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "kopper/base/stable_hash.h"
#include "kopper/rt/scope.h"

namespace kopper::runtime {

namespace {

constexpr std::size_t kSuffix = 5;
constexpr std::size_t kLongest = 63;  // what a host name may have

std::string suffix(std::string_view uid, std::uint64_t n) {
  std::string bytes;
  for (unsigned shift = 0; shift < 64; shift += 8) bytes += static_cast<char>(n >> shift);
  const auto hash = stable_hash(bytes, stable_hash(uid));
  return name_letters(hash ^ hash >> 32U, kSuffix);
}

Task<> keep_error(Task<> task, std::exception_ptr* first) {
  try {
    co_await task;
  } catch (const std::exception&) {
    if (!*first) *first = std::current_exception();
  }
}

}  // namespace

std::vector<std::string> replica_names(std::string_view owner, std::string_view uid, std::size_t count,
                                       const std::set<std::string>& taken) {
  const auto stem = owner.substr(0, std::min(owner.size(), kLongest - kSuffix - 1));
  std::vector<std::string> names;
  std::set<std::string> used;
  for (std::uint64_t n = 0; names.size() < count; ++n) {
    auto name = fmt::format("{}-{}", stem, suffix(uid, n));
    if (taken.contains(name) || !used.insert(name).second) continue;
    names.push_back(std::move(name));
  }
  return names;
}

ReplicaPlan plan_replicas(const api::metav1::ObjectMeta& owner, std::size_t wanted,
                          const std::vector<api::PodRef>& pods) {
  ReplicaPlan plan;
  std::set<std::string> taken;
  for (const auto& pod : pods) {
    taken.insert(pod->metadata.name);  // also by those that are about to go
    if (api::is_active(*pod)) {
      plan.remove.push_back(pod);
    } else if (!pod->metadata.deletionTimestamp.is_set()) {
      plan.ended.push_back(pod);
    }
  }
  if (plan.remove.size() < wanted) {
    plan.create = replica_names(owner.name, owner.uid, wanted - plan.remove.size(), taken);
    plan.remove.clear();
  } else {
    api::cheapest_first(plan.remove);
    plan.remove.resize(plan.remove.size() - wanted);
  }
  return plan;
}

Task<> slow_start(std::size_t count, std::function<Task<>(std::size_t)> one, std::size_t most) {
  std::exception_ptr first;
  std::size_t batch = 1;
  for (std::size_t next = 0; next < count && !first;) {
    rt::Scope scope;
    const auto end = std::min(count, next + batch);
    for (; next < end; ++next) scope.spawn(keep_error(one(next), &first));
    co_await scope.join();
    batch = std::min(batch * 2, most);
  }
  if (first) std::rethrow_exception(first);
}

}  // namespace kopper::runtime
