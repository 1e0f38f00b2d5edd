#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "kopper/api/gen/core_v1.h"
#include "kopper/api/object.h"
#include "kopper/client/client.h"
#include "kopper/client/resource.h"
#include "kopper/metrics/metrics.h"
#include "kopper/rt/channel.h"
#include "kopper/rt/loop.h"
#include "kopper/rt/scope.h"
#include "kopper/runtime/events_correlator.h"

namespace kopper::runtime {

enum class EventType : std::uint8_t { Normal, Warning };

// What happened, for people who `kubectl describe` the object. Everybody who may read events reads it: no secrets.
struct EventNote {
  EventType type = EventType::Normal;
  std::string reason;                                   // one word, "ScaledUp"; at most 128 bytes
  std::string message;                                  // a sentence; at most 1024 bytes, the rest is cut off
  std::string action;                                   // what was done or tried, one word; empty: the reason
  std::optional<api::corev1::ObjectReference> related;  // another object that had a part in it
};

template <api::ObjectType T>
api::corev1::ObjectReference reference_to(const T& object) {
  api::corev1::ObjectReference reference;
  reference.apiVersion = client::resource_of<T>().api_version();
  reference.kind = T::kind.kind;
  reference.namespace_ = object.metadata.namespace_;
  reference.name = object.metadata.name;
  reference.uid = object.metadata.uid;
  reference.resourceVersion = object.metadata.resourceVersion;
  return reference;
}

struct EventOptions {
  std::string controller;  // who reports: "memcached-controller"; a qualified name
  std::string instance;    // which one of them, the pod's name; empty: make_identity() of election.h
  std::size_t queue = 1000;
  CorrelatorOptions correlator;
  metrics::Registry* metrics = nullptr;  // kopper_events_total{result}; outlives the recorder
};

// Writes events in the background, as events.k8s.io/v1, or core/v1 where the server has only that. Never in the way of
// who records: nothing waits, nothing throws; a full queue drops, and a server that refuses is told of in the log.
// Loop-confined.
class EventRecorder {
 public:
  // Throws Error{Invalid} without a controller's name.
  EventRecorder(client::Client client, EventOptions options);
  EventRecorder(const EventRecorder&) = delete;
  EventRecorder& operator=(const EventRecorder&) = delete;

  void record(api::corev1::ObjectReference regarding, EventNote note);
  template <api::ObjectType T>
  void record(const T& regarding, EventNote note) {
    record(reference_to(regarding), std::move(note));
  }

  // Takes no more, writes what is left and the counts of open series, for `limit` at most. Never throws Error.
  Task<> stop(rt::Duration limit = std::chrono::seconds(5));

  std::size_t pending() const { return order_.size(); }

 private:
  enum class Result : std::uint8_t { Written, Counted, Spam, Full, Failed };
  void count(Result result);
  void enqueue(EventWrite write);
  Task<> run();
  Task<> wait_for_work();
  Task<> write_retried(EventWrite write);
  Task<> write_once(EventWrite write);

  // constant after construction
  const client::Client client_;
  EventOptions options_;

  // this loop only
  EventCorrelator correlator_;
  std::deque<std::string> order_;              // names of what waits
  std::map<std::string, EventWrite> waiting_;  // a later write of the same event takes the place of an earlier one
  bool legacy_ = false;                        // core/v1
  bool stopping_ = false;
  rt::TimePoint next_tick_;
  rt::Event wake_;
  std::map<Result, metrics::Counter*> counters_;
  rt::Scope tasks_;
};

}  // namespace kopper::runtime
