#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kopper/rt/loop.h"
#include "kopper/rt/wait_list.h"
#include "kopper/runtime/queue_core.h"

namespace kopper::metrics {
class Registry;
}

namespace kopper::runtime {

struct QueueOptions {
  std::string name;  // the `name` and `controller` of its metrics
  QueuePolicy policy;
  metrics::Registry* metrics = nullptr;  // outlives the queue
};

// The keys a controller has to look at. Loop-confined; outlives those who wait in it and its leases.
//
// What it promises:
// - A key is in it once: adds merge. They keep the highest priority, the earliest time and the reasons of all.
// - A key is leased to one worker at a time. Adds during a lease give exactly one more run, after it.
// - A higher priority goes first. At the same priority namespaces take turns, and the keys of a namespace go in the
// order
//   they became ready: a key with p keys of its namespace before it, and n namespaces that have ready keys, waits for
//   at most (p + 1) * n - 1 hand-outs of its priority, however many keys the others have. Raising the priority of a
//   waiting key makes it the last of its namespace there.
// - No priority starves: see QueuePolicy::lower_share.
// - Memory follows the keys in it: failures of a key are remembered only while it waits or is leased.
class Queue {
 public:
  class Lease;

  explicit Queue(QueueOptions options = QueueOptions());
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  // All adds: false, and nothing happens, after shutdown().
  bool add(Key key, AddOptions options = AddOptions()) { return add_after(std::move(key), {}, std::move(options)); }
  // Ready after a delay, or earlier when somebody asks for it.
  bool add_after(Key key, rt::Duration delay, AddOptions options = AddOptions());
  // Ready after the policy's backoff, which grows with each call. For a key that failed, while its lease is held.
  bool add_rate_limited(Key key, AddOptions options = AddOptions());
  // The key succeeded: its next failure is the first one again.
  void forget(const Key& key);
  // How often add_rate_limited() was called since the key was forgotten.
  unsigned failures(const Key& key) const { return core_.failures(key); }

  // Waits for a key. None when the queue was shut down and nothing is left to hand out.
  Task<std::optional<Lease>> next();
  std::optional<Lease> try_next();

  // Takes no more keys. What is ready still runs, and what was added during a lease runs again; delayed keys are
  // dropped and returned. Those who wait are woken. Idempotent.
  std::vector<Key> shutdown();

  // How many keys: ready, delayed, leased, in all.
  const QueueCore& figures() const { return core_; }

 private:
  class DueTimer final : public rt::Timer {
   public:
    explicit DueTimer(Queue& queue) : queue_(queue) {}

   private:
    void on_timer() override { queue_.tick(); }
    Queue& queue_;
  };
  struct Meters;

  void tick();
  void added();
  void done(QueueCore::Item& item);

  QueueCore core_;
  rt::WaitList waiting_;
  rt::TimePoint armed_for_ = rt::TimePoint::max();
  DueTimer timer_;
  std::unique_ptr<Meters> meters_;  // null: not measured
};

// A key that nobody else works on until this is destroyed.
class [[nodiscard]] Queue::Lease {
 public:
  Lease(Lease&& other) noexcept : queue_(std::exchange(other.queue_, nullptr)), run_(std::move(other.run_)) {}
  Lease& operator=(Lease&& other) noexcept {
    std::swap(queue_, other.queue_);
    std::swap(run_, other.run_);
    return *this;
  }
  ~Lease() {
    if (queue_ != nullptr) queue_->done(*run_.item);
  }

  const Key& key() const { return run_.item->key; }
  const Reasons& reasons() const { return run_.reasons; }
  int priority() const { return run_.priority; }
  // How long it was ready before it was handed out.
  rt::Duration waited() const { return run_.waited; }
  // How often in a row it failed before.
  unsigned tries() const { return run_.failures; }

 private:
  friend class Queue;
  Lease(Queue& queue, QueueCore::Run run) : queue_(&queue), run_(std::move(run)) {}

  Queue* queue_;
  QueueCore::Run run_;
};

}  // namespace kopper::runtime
