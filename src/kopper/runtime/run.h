#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kopper/api/object.h"
#include "kopper/api/time.h"
#include "kopper/base/error.h"
#include "kopper/base/log.h"
#include "kopper/cache/record.h"
#include "kopper/cache/store.h"
#include "kopper/client/resource.h"
#include "kopper/json/value.h"
#include "kopper/rt/task.h"
#include "kopper/runtime/cluster.h"
#include "kopper/runtime/queue_core.h"

namespace kopper::runtime {

// On an object that a controller applied: a fingerprint of what it applied. It tells, also after a restart, whether
// what is wanted has changed, which the live object alone does not show: a field that is no longer wanted may still be
// there.
inline constexpr std::string_view kAppliedAnnotation = "kopper.dev/applied";
// On an object that a controller is for: "true" keeps the controller from touching anything.
inline constexpr std::string_view kPausedAnnotation = "kopper.dev/paused";

// A text that changes when `json` does.
std::string fingerprint(std::string_view json);

// Live objects that do not look like what was applied though nothing is to be done: the server writes some values in
// another way. What counts is that they did not change since.
class AppliedVersions {
 public:
  bool knows(const client::Resource& resource, const Key& key, std::string_view fingerprint,
             std::string_view version) const;
  void remember(const client::Resource& resource, const Key& key, std::string fingerprint, std::string version);
  void forget(const client::Resource& resource, const Key& key);

 private:
  struct Version {
    std::string fingerprint;
    std::string version;
  };
  std::unordered_map<std::string, Version> versions_;
};

// How a child is made.
struct ChildOptions {
  bool owned = true;   // the object is its controller, and it goes with the object
  bool adopt = false;  // take over an object of that name that nobody controls
  bool force = true;   // take fields that others set
};

// An object as its type reads it: the object itself, of a type that who made this knows, and its metadata.
struct Decoded {
  std::shared_ptr<const void> object;
  std::shared_ptr<const api::metav1::ObjectMeta> metadata;
};

// What every run of a controller has in common. Outlives its runs.
struct RunTarget {
  Cluster& cluster;
  const Kind& kind;
  std::string controller;
  std::string field_manager;
  client::Resource resource = client::resource_of(kind);
  AppliedVersions applied{};
};

// One call of a reconcile function: what Context<T> does that does not depend on T.
class Run {
 public:
  // `decode` throws Error{Invalid} for an object that does not fit its type. Then object() does, and the rest works as
  // long as the metadata can be read: an event can be recorded on the object.
  using Decode = std::function<Decoded(const cache::Store&, const cache::RecordRef&)>;
  Run(RunTarget& target, const cache::Store& store, cache::RecordRef record, const Decode& decode);

  Cluster& cluster() const { return target_.cluster; }
  const client::Client& client() const { return client_; }
  // Its calls are part of this trace.
  void trace(const TraceContext& parent);
  const Key& key() const { return key_; }
  const api::metav1::ObjectMeta& owner() const { return *owner_; }
  // What `decode` made of the record. Throws Error{Invalid}, reason Undecodable.
  const std::shared_ptr<const void>& object();
  const cache::RecordRef& record() const { return record_; }

  // Namespace and controller of a child that is to be applied. Throws Error{Invalid} when they cannot be.
  void adopt(api::metav1::ObjectMeta& child, bool namespaced, const ChildOptions& options) const;
  // Throws Error{Conflict}, reason NameConflict, when the live object of that name is somebody else's.
  void check_ours(const client::Resource& resource, const api::metav1::ObjectMeta& live,
                  const ChildOptions& options) const;

  bool settled(const client::Resource& resource, const api::metav1::ObjectMeta& live, std::string_view fingerprint,
               bool covered) const;
  // Server-side apply, seen by the cache at once.
  Task<std::string> apply(client::Resource resource, Key key, std::string body, bool force);
  void applied(const client::Resource& resource, const api::metav1::ObjectMeta& live, std::string fingerprint,
               bool covered);
  // A POST, seen by the cache at once. What is there already is the answer, if it is ours: an earlier answer was lost.
  Task<std::string> create(client::Resource resource, Key key, std::string body, ChildOptions options);
  // False when there was none. Refuses what is not ours, unless `foreign`.
  Task<bool> remove(client::Resource resource, Key key, bool foreign);
  // The object of this uid only; false when it is gone.
  Task<bool> remove_one(client::Resource resource, Key key, std::string uid);
  // A merge patch of the object of this uid, seen by the cache at once; nothing when it is gone.
  Task<std::optional<std::string>> patch(client::Resource resource, Key key, std::string uid, json::Value patch);
  // Writes the owners of an object as it was seen; false when it is gone meanwhile.
  Task<bool> set_owners(client::Resource resource, api::metav1::ObjectMeta seen,
                        std::vector<api::metav1::OwnerReference> owners);
  // Asks the server, not the cache, whether the object is still there and stays: only then may it take over others.
  Task<bool> may_adopt();
  // Server-side apply of /status.
  Task<> apply_status(std::string status);
  // Adds or removes; nothing when it is so already.
  Task<> set_finalizer(std::string name, bool present);

  void event(EventType type, std::string reason, std::string message);
  void log(log::Level level, std::string_view message, std::initializer_list<log::Field> fields) const;
  api::Time now() const;

  // constant once the run begins
  std::string id;  // of this run, in every log line
  Reasons reasons;
  unsigned tries = 0;
  std::uint64_t writes = 0;

 private:
  // Null when the record does not fit its type.
  std::shared_ptr<const api::metav1::ObjectMeta> read();
  void saw(std::string_view json);

  RunTarget& target_;
  const cache::Store& store_;
  const Decode& decode_;
  client::Client client_;
  cache::RecordRef record_;
  Key key_;
  std::shared_ptr<const void> object_;
  std::optional<Error> undecodable_;
  std::shared_ptr<const api::metav1::ObjectMeta> owner_;
};

}  // namespace kopper::runtime
