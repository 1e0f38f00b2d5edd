#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "kopper/rt/detail/reactor.h"
#include "kopper/rt/detail/ready_list.h"
#include "kopper/rt/detail/timer_heap.h"
#include "kopper/rt/loop.h"
#include "kopper/rt/offload.h"

namespace kopper::rt {

// What other threads want the loop to call. Outlives the loop with the Remotes that hold it.
struct Remote::State {
  using Function = std::move_only_function<void()>;

  void post(Function fn);
  bool run();             // calls what is there now; says whether anything was
  bool begin_to_sleep();  // false when there is something to run; else the next post() wakes the reactor

  std::mutex mutex;
  Reactor* reactor = nullptr;    // guarded by mutex; null when the loop is gone
  std::vector<Function> posted;  // guarded by mutex
  bool asleep = false;           // guarded by mutex
};

struct Loop::Impl {
  explicit Impl(ClockMode mode);
  ~Impl();

  // One round: deferred work, due timers, then what other threads posted and what descriptors tell. Says whether
  // anything ran.
  bool turn();
  // The same, but when no deferred work is left and `done` is not set yet, waits for the next thing to happen.
  bool turn_waiting(const bool& done);
  TimePoint now() const;

  // Threads for look-ups of names, which the C library can only do by blocking.
  ThreadPool& resolvers() { return resolvers_ ? *resolvers_ : resolvers_.emplace(2); }

  const ClockMode clock;
  Loop* const outer;  // current before this one
  Reactor reactor;
  std::shared_ptr<Remote::State> remote;
  ReadyList ready;
  TimerHeap timers;
  TimePoint manual_now{};
  Duration ahead{};  // of the machine's clock, when that is the clock
  // What may still wake the loop from outside: waits for descriptors, calls that other threads run. A real loop waits
  // for ever anyway; a manual one can tell when nothing is left that could happen.
  std::size_t awaited = 0;
  bool running = false;

 private:
  bool run_ready();

  std::optional<ThreadPool> resolvers_;
};

}  // namespace kopper::rt
