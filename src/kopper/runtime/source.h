#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <random>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kopper/cache/informer.h"
#include "kopper/cache/store.h"
#include "kopper/rt/channel.h"
#include "kopper/rt/wait_list.h"
#include "kopper/runtime/queue.h"
#include "kopper/runtime/trigger.h"

namespace kopper::runtime {

struct SourceOptions {
  // Now and then everything is looked at again, in case something was overlooked: after this time, up to a tenth more
  // or less. 0: never. Only where the trigger is the object itself.
  rt::Duration resync = std::chrono::hours(10);
  std::size_t map_workers = 4;  // asynchronous maps at once
  Backoff backoff;              // of asynchronous maps that fail
  std::uint32_t seed = 1;       // of the resync's spread
};

// Carries the changes of an informer to a queue. A map that throws costs the change, and is logged and counted; but an
// asynchronous one is tried again unless the error says that this is of no use. Waiting changes of one object merge, so
// that a map slower than its events takes memory for each object once. Loop-confined; outlived by queue and informer.
class Source {
 public:
  Source(Queue& queue, Trigger trigger, SourceOptions options = SourceOptions());
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  // From now until it is destroyed. What the informer has comes at once.
  void listen(cache::Informer& informer);
  // No more changes; run() goes on with those that wait.
  void stop_listening();
  // What listen() does with each change.
  void on_change(const cache::Change& change);
  // Replays what the store has.
  void resync(const cache::Store& store);

  // Asynchronous maps and resyncs, until it is cancelled. A source without them needs no run().
  Task<> run();
  // All changes so far are in the queue.
  bool caught_up() const { return waiting_.empty() && mapping_ == 0; }
  // How often a map threw.
  std::uint64_t failures() const { return failures_; }

  const Trigger& trigger() const { return trigger_; }

 private:
  void enqueue(std::vector<Request> requests);
  Task<> map_loop();
  Task<> map_one(cache::Change change);
  Task<> resync_loop();

  Queue& queue_;
  const Trigger trigger_;
  const SourceOptions options_;
  std::minstd_rand random_;
  std::unordered_map<Key, cache::Change> waiting_;  // for an asynchronous map
  std::deque<Key> order_;                           // of `waiting_`
  std::size_t mapping_ = 0;
  rt::WaitList workers_;
  std::uint64_t failures_ = 0;
  const cache::Informer* informer_ = nullptr;
  cache::Subscription subscription_;
};

// Carries keys, or whole requests, from other code to a queue until the channel is closed.
template <class Item>
Task<> feed(rt::Channel<Item>* from, Queue* to) {
  for (;;) {
    auto item = co_await from->receive();
    if (!item) co_return;
    Request request(std::move(*item));
    to->add(std::move(request.key), {.priority = request.priority, .reason = std::move(request.reason)});
  }
}

}  // namespace kopper::runtime
