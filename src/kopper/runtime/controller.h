#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kopper/api/object.h"
#include "kopper/cache/cache.h"
#include "kopper/json/value.h"
#include "kopper/meta/crd.h"
#include "kopper/rt/channel.h"
#include "kopper/rt/task.h"
#include "kopper/runtime/context.h"
#include "kopper/runtime/next.h"
#include "kopper/runtime/predicate.h"
#include "kopper/runtime/queue.h"
#include "kopper/runtime/source.h"
#include "kopper/runtime/tracing.h"
#include "kopper/runtime/trigger.h"

namespace kopper::runtime {

struct ControllerOptions {
  std::string name;     // in logs and metrics; default: the kind in lower case
  std::string cluster;  // whose objects; "" = the manager's own
  int workers = 8;      // reconciles at once, never two of the same object
  // Of one call; then it is cancelled and tried again. 0: none.
  std::chrono::nanoseconds deadline = std::chrono::minutes(5);
  Backoff backoff;
  std::chrono::nanoseconds resync = std::chrono::hours(10);  // all objects again, from the cache; 0: never
  // The condition that tells of an error that trying again alone will not mend. Only where the status has conditions.
  std::string error_condition = "Degraded";
};

// Why a controller looks at a kind: what it may do follows from it.
enum class Role : std::uint8_t { For, Owns, Watches };

struct WatchedKind {
  Role role = Role::For;
  const Kind* kind = nullptr;  // of static storage
  Trigger trigger;
  // When set: makes the trigger's map, of the objects that the controller is for. They outlive it.
  std::function<Trigger::Map(const cache::Store& objects)> picked_by;
  cache::InformerOptions options;
  bool custom_options = false;  // else the manager's
};

// What a controller may do besides what follows from the kinds it watches.
struct Permission {
  const Kind* kind = nullptr;  // of static storage
  std::string subresource;
  std::vector<std::string> verbs;
};

// What a controller does, without the types: made by controller<T>(), run by Manager.
struct ControllerSpec {
  ControllerOptions options;
  const Kind* kind = nullptr;
  std::function<json::Value()> crd;  // of a kind of our own
  std::vector<WatchedKind> watched;  // the first is For
  std::vector<std::shared_ptr<rt::Channel<Request>>> channels;
  std::vector<Permission> permissions;
  std::string finalizer;  // "": none
  bool has_status = false;
  bool has_conditions = false;
  bool while_deleting = false;               // reconcile is called for an object that is to be deleted, too
  std::function<void(const Key& key)> gone;  // the object is there no more; may be empty

  Run::Decode decode;
  using Call = std::function<Task<Next>(std::shared_ptr<Run>)>;
  Call reconcile;
  Call finalize;
  // Tells of an error in the condition `type`; an empty message takes it back.
  std::function<Task<>(std::shared_ptr<Run>, std::string type, std::string reason, std::string message)> condition;
};

namespace detail {

template <class T>
Decoded decode(const cache::Store& store, const cache::RecordRef& record) {
  auto object = store.view<T>(record);
  Decoded out;
  out.metadata = {object, &object->metadata};
  out.object = std::move(object);
  return out;
}

template <class T>
std::shared_ptr<const T> object_of(Run& run) {
  return std::static_pointer_cast<const T>(run.object());
}

template <class T, class F>
Task<Next> call(F* fn, std::shared_ptr<Run> run) {
  auto object = object_of<T>(*run);
  Context<T> context(std::move(object), std::move(run));
  co_return co_await (*fn)(std::move(context));
}

// The objects in a store that pick the one that changed.
template <class T, class C>
Trigger::Map picked_by(const cache::Store& objects, std::function<bool(const T&, const C&)> picks) {
  return [&objects, picks = std::move(picks)](const cache::Record& record) {
    const auto changed = cache::view<C>(cache::RecordRef::share(record));
    cache::Filter filter;
    if (T::kind.scope == Scope::Namespaced) filter.namespace_ = record.namespace_();
    std::vector<Key> keys;
    for (const auto& candidate : objects.list(filter)) {
      const auto object = objects.try_view<T>(candidate);
      if (object && picks(*object, *changed)) keys.push_back(candidate->key());
    }
    return keys;
  };
}

template <class T>
Task<> tell_condition(std::shared_ptr<Run> run, std::string type, std::string reason, std::string message) {
  const auto object = object_of<T>(*run);
  auto status = object->status;
  api::metav1::Condition condition;
  condition.type = std::move(type);
  condition.status = message.empty() ? "False" : "True";
  condition.reason = std::move(reason);
  condition.message = std::move(message);
  condition.observedGeneration = object->metadata.generation;
  api::set_condition(status.conditions, std::move(condition), run->now());
  const Context<T> context(object, run);
  co_await context.set_status(std::move(status));
}

}  // namespace detail

// Says what a controller looks at and what it does:
//
//   controller<Memcached>().owns<Deployment>().reconcile(reconcile)
//
// `reconcile` is Task<Next>(Context<Memcached>): it makes the world as the object says, from whatever state it is in.
// It is called when the object or what it owns changed, and for every object when the program starts.
template <api::ObjectType T>
class ControllerBuilder {
 public:
  ControllerBuilder() {
    spec_.kind = &T::kind;
    WatchedKind own;
    own.kind = &T::kind;
    own.trigger = for_self(T::kind);
    own.trigger.when = generation_changed() || labels_changed() || annotations_changed();
    spec_.watched.push_back(std::move(own));
    spec_.decode = &detail::decode<T>;
    spec_.has_status = requires(T object) { object.status; };
    if constexpr (requires(T object) { static_cast<api::Conditions&>(object.status.conditions); }) {
      spec_.has_conditions = true;
      spec_.condition = &detail::tell_condition<T>;
    }
    if (T::kind.group.find('.') != std::string_view::npos && !T::kind.group.ends_with(".k8s.io")) {
      spec_.crd = [] { return meta::crd<T>(); };
    }
  }

  // Versions of the kind that are served besides T; T::kind.storage says which one is stored.
  template <class... Others>
  ControllerBuilder&& versions() && {
    spec_.crd = [] { return meta::crd<T, Others...>(); };
    return std::move(*this);
  }

  // Only these changes of the object count. Default: all but those of its status alone.
  ControllerBuilder&& when(Predicate predicate) && {
    spec_.watched.front().trigger.when = std::move(predicate);
    return std::move(*this);
  }
  // Objects that reconcile makes: a change of one is a change of the object that controls it.
  template <api::ObjectType C>
  ControllerBuilder&& owns(Predicate predicate = Predicate()) && {
    return std::move(*this).watch(Role::Owns, C::kind, for_owner(C::kind, T::kind), std::move(predicate));
  }
  // Objects of others: `map` says whom a change of one concerns.
  template <api::ObjectType C>
  ControllerBuilder&& watches(std::function<std::vector<Key>(const C&)> map, Predicate predicate = Predicate()) && {
    return std::move(*this).watch(Role::Watches, C::kind, for_mapped<C>(std::move(map)), std::move(predicate));
  }
  // Objects of others that an object picks, by a selector say: a change of one concerns all that pick it, of its
  // namespace when they have one.
  template <api::ObjectType C>
  ControllerBuilder&& watches(std::function<bool(const T&, const C&)> picks, Predicate predicate = Predicate()) && {
    Trigger trigger;
    trigger.kind = std::string(C::kind.kind);
    std::move(*this).watch(Role::Watches, C::kind, std::move(trigger), std::move(predicate));
    spec_.watched.back().picked_by = [picks = std::move(picks)](const cache::Store& objects) {
      return detail::picked_by<T, C>(objects, picks);
    };
    return std::move(*this);
  }
  // The same for a map that has to ask somebody.
  template <api::ObjectType C>
  ControllerBuilder&& watches_async(std::function<Task<std::vector<Key>>(std::shared_ptr<const C>)> map,
                                    Predicate predicate = Predicate()) && {
    return std::move(*this).watch(Role::Watches, C::kind, for_mapped_async<C>(std::move(map)), std::move(predicate));
  }
  // Keys from anywhere: a webhook of somebody else, a poll of a database. Closing the channel ends it.
  ControllerBuilder&& watches(std::shared_ptr<rt::Channel<Request>> channel) && {
    spec_.channels.push_back(std::move(channel));
    return std::move(*this);
  }
  // Which objects of the kind named last are watched and how they are kept: selectors, projection, storage.
  ControllerBuilder&& select(cache::InformerOptions options) && {
    spec_.watched.back().options = std::move(options);
    spec_.watched.back().custom_options = true;
    return std::move(*this);
  }

  ControllerBuilder&& name(std::string name) && {
    spec_.options.name = std::move(name);
    return std::move(*this);
  }
  ControllerBuilder&& workers(int workers) && {
    spec_.options.workers = workers;
    return std::move(*this);
  }
  ControllerBuilder&& with(ControllerOptions options) && {
    spec_.options = std::move(options);
    return std::move(*this);
  }

  // What reconcile does by client() or live(): it goes into the program's role.
  template <api::ObjectType C>
  ControllerBuilder&& may(std::vector<std::string> verbs, std::string subresource = {}) && {
    spec_.permissions.push_back({&C::kind, std::move(subresource), std::move(verbs)});
    return std::move(*this);
  }

  // Called instead of reconcile once the object is to be deleted; the object stays until it returns Next::wait().
  template <class F>
  ControllerBuilder&& finalize(F fn, std::string finalizer = std::string(T::kind.group) + "/finalizer") && {
    spec_.finalizer = std::move(finalizer);
    spec_.finalize = erase(std::move(fn));
    return std::move(*this);
  }
  // reconcile is called also for an object that is to be deleted, and that somebody else's finalizer or grace period
  // keeps.
  ControllerBuilder&& while_deleting() && {
    spec_.while_deleting = true;
    return std::move(*this);
  }
  // Called when an object is there no more: for what a program keeps in memory about it. Calls may be missed over a
  // restart; what must be undone needs a finalizer.
  ControllerBuilder&& gone(std::function<void(const Key& key)> fn) && {
    spec_.gone = std::move(fn);
    return std::move(*this);
  }
  template <class F>
  ControllerSpec reconcile(F fn) && {
    spec_.reconcile = erase(std::move(fn));
    return std::move(spec_);
  }

 private:
  ControllerBuilder&& watch(Role role, const Kind& kind, Trigger trigger, Predicate when) && {
    trigger.when = std::move(when);
    WatchedKind watched;
    watched.role = role;
    watched.kind = &kind;
    watched.trigger = std::move(trigger);
    spec_.watched.push_back(std::move(watched));
    return std::move(*this);
  }
  template <class F>
  static ControllerSpec::Call erase(F fn) {
    static_assert(std::is_same_v<std::invoke_result_t<F&, Context<T>>, Task<Next>>,
                  "a reconcile function is Task<Next>(Context<T>)");
    return [fn = std::make_shared<F>(std::move(fn))](std::shared_ptr<Run> run) {
      return detail::call<T>(fn.get(), std::move(run));
    };
  }

  ControllerSpec spec_;
};

template <api::ObjectType T>
ControllerBuilder<T> controller() {
  return ControllerBuilder<T>();
}

// Runs one controller on one cluster. Loop-confined.
class Controller {
 public:
  // Asks the cache for its informers. `cluster` and `metrics` outlive it.
  Controller(ControllerSpec spec, Cluster& cluster, metrics::Registry& metrics, std::string field_manager);
  ~Controller();
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;

  const std::string& name() const { return spec_.options.name; }
  const ControllerSpec& spec() const { return spec_; }
  Queue& queue() { return queue_; }

  // "" when what it watches was read, else what it waits for.
  std::string waiting_for() const;
  // Waits for the cache, then works until stop() or cancellation.
  Task<> run();
  // Takes no more keys; run() returns when those in work are done.
  void stop();

 private:
  struct Meters;

  Task<> work();
  Task<> serve(Queue::Lease lease);
  Task<Next> dispatch(std::shared_ptr<Run> run);
  Task<> failed(std::shared_ptr<Run> run, Key key, Error error, bool terminal);

  // constant after construction
  ControllerSpec spec_;
  Cluster& cluster_;

  // this loop only
  RunTarget target_;
  Queue queue_;
  rt::Event stopping_;
  std::unique_ptr<Meters> meters_;
  std::vector<cache::Informer*> informers_;  // as in spec_.watched
  std::vector<std::unique_ptr<Source>> sources_;
};

}  // namespace kopper::runtime
