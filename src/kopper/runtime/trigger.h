#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kopper/base/key.h"
#include "kopper/cache/record.h"
#include "kopper/cache/view.h"
#include "kopper/meta/kind.h"
#include "kopper/rt/task.h"
#include "kopper/runtime/predicate.h"

// What makes a controller look at a key.

namespace kopper::runtime {

// What was there already when we began, and what is only looked at again, waits for what has just happened.
inline constexpr int kLowPriority = -100;

// A key to look at, and why in a few words. Not an aggregate, so that it can be built inside an awaited call.
struct Request {
  Request(Key which, std::string why = "external event", int how_urgent = 0)
      : key(std::move(which)), reason(std::move(why)), priority(how_urgent) {}

  Key key;
  std::string reason;
  int priority;

  friend bool operator==(const Request&, const Request&) = default;
};

// Which keys a change of one watched kind concerns. A value; pure but for map_async.
struct Trigger {
  using Map = std::function<std::vector<Key>(const cache::Record&)>;
  using AsyncMap = std::function<Task<std::vector<Key>>(cache::RecordRef)>;

  std::string kind;  // of the watched objects, for the reasons
  Map map;
  AsyncMap map_async;  // when set: instead of `map`
  Predicate when;
  bool own = false;  // the keys are those of the watched objects themselves
};

// The object itself.
Trigger for_self(const Kind& kind);

struct OwnerOptions {
  bool only_controller = true;  // false: every owner of the kind, which reads each object's text
};
// The owners of a watched object that are of `owner`'s group and kind, in any version: in the object's namespace, or
// without one when the owner's kind is cluster-scoped.
Trigger for_owner(const Kind& watched, const Kind& owner, OwnerOptions options = OwnerOptions());

// Whatever the function says. Of an update it is asked about both states, so that who lost the object hears of it too.
template <class T>
Trigger for_mapped(std::function<std::vector<Key>(const T&)> fn) {
  Trigger trigger;
  trigger.kind = std::string(T::kind.kind);
  trigger.map = [fn = std::move(fn)](const cache::Record& record) {
    return fn(*cache::view<T>(cache::RecordRef::share(record)));
  };
  return trigger;
}
// The same for a function that has to ask somebody.
template <class T>
Trigger for_mapped_async(std::function<Task<std::vector<Key>>(std::shared_ptr<const T>)> fn) {
  Trigger trigger;
  trigger.kind = std::string(T::kind.kind);
  trigger.map_async = [fn = std::move(fn)](const cache::RecordRef& record) { return fn(cache::view<T>(record)); };
  return trigger;
}

// What a change asks for: nothing when the predicate says no. Throws what the map function throws, and Error{Invalid}
// when its type cannot hold the object.
std::vector<Request> requests(const Trigger& trigger, const cache::Change& change);
Task<std::vector<Request>> requests_async(Trigger trigger, cache::Change change);

// The reasons that people read. "created", "deleted", "updated (generation 3 -> 4, labels)", "initial list", "resync";
// of objects other than the key's own with their name before: "Deployment default/demo created".
std::string reason_for(const Trigger& trigger, const cache::Change& change);
std::string reason_for_retry(unsigned failures);               // "retry 3 after error"
std::string reason_for_delay(std::chrono::nanoseconds delay);  // "requested after 30s"

}  // namespace kopper::runtime
