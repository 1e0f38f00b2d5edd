#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "kopper/rt/task.h"

namespace kopper::rt {

using Duration = std::chrono::nanoseconds;
// Monotonic. With a manual clock it starts at the epoch and moves only by advance().
using TimePoint = std::chrono::time_point<std::chrono::steady_clock, Duration>;
using WallTime = std::chrono::sys_time<Duration>;

enum class ClockMode : std::uint8_t { Real, Manual };

// Posts to a loop from any thread, even after the loop is gone: the function is then dropped.
class Remote {
 public:
  // Calls `fn` in a later turn of the loop.
  void post(std::move_only_function<void()> fn) const;

 private:
  friend class Loop;
  struct State;
  explicit Remote(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

// The event loop: runs coroutines, timers and sockets on the thread that calls run(). Everything that lives on a loop
// is used from that thread only, and destroyed before the loop; only post() is safe from any thread. One loop a thread;
// when there are several (a test), the last one constructed is current and is destroyed first.
class Loop {
 public:
  explicit Loop(ClockMode clock = ClockMode::Real);
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // The loop of this thread. A loop is current from its construction on. There must be one.
  static Loop& current();

  // Runs until `task` is done; returns its value or throws its error. Other tasks of the loop run meanwhile.
  // Throws Error{Internal} when a manual clock is on and the task waits for what cannot happen before advance().
  // Not to be called from inside a task.
  template <class T>
  T run(Task<T> task) {
    Root root;
    task.start(root.activity, root);
    run_until(root.done);
    return task.take();
  }

  // Runs what is ready and returns: no waiting, no time passing. With a manual clock: until nothing is ready.
  void poll();

  // Calls `fn`, which must not throw, in a later turn of the loop, from any thread while the loop lives.
  void post(std::move_only_function<void()> fn);
  // The same for threads that may outlive the loop.
  Remote remote() const;

  TimePoint now() const;
  // With a manual clock: 2026-01-01T00:00:00Z at first.
  WallTime wall_now() const;

  // Time passes, due timers fire in order, and what they make ready runs. A real clock is put forward, for later turns.
  void advance(Duration by);
  // Manual clock only: the time of the next timer, or TimePoint::max().
  TimePoint next_timer() const;

  // For the .cc files of rt (detail/loop_impl.h).
  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  struct Root : Deferred {
    Activity activity;
    bool done = false;
    void run() noexcept override { done = true; }
  };
  class Running;
  void run_until(const bool& done);

  std::unique_ptr<Impl> impl_;
};

// Calls on_timer() once at a given time. The building block of sleep() and timeout(). Destroying it disarms it.
class Timer {
 public:
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  virtual ~Timer() { disarm(); }

  // Replaces the time set before. Timers of the same time fire in the order in which they were armed.
  void arm(TimePoint when);
  void arm_in(Duration delay);
  void disarm() noexcept;
  bool armed() const { return heap_ != nullptr; }

 protected:
  Timer() = default;
  // Called by the loop, disarmed. May arm again, or destroy the timer.
  virtual void on_timer() = 0;

 private:
  friend class TimerHeap;
  class TimerHeap* heap_ = nullptr;
  TimePoint when_;
  std::uint64_t order_ = 0;
  std::size_t slot_ = 0;
};

// Waits. `co_await rt::sleep(5s)`.
Task<> sleep(Duration how_long);
Task<> sleep_until(TimePoint when);
// Lets everything else that is ready run first.
Task<> yield();

}  // namespace kopper::rt
