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

// The event loop: runs coroutines, timers and sockets on the thread that calls run(). Everything that lives on a loop
// is used from that thread only, but for post(), which is safe from any thread. One loop a thread.
class Loop {
 public:
  explicit Loop(ClockMode clock = ClockMode::Real);
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // The loop that runs on this thread. A loop is current from its construction on.
  static Loop& current();

  // Runs until `task` is done; returns its value or throws its error. Other tasks of the loop run meanwhile.
  template <class T>
  T run(Task<T> task);

  // Runs what is ready and returns: no waiting, no time passing. With a manual clock: until nothing is ready.
  void poll();

  // Calls `fn` in a later turn of the loop, from any thread.
  void post(std::move_only_function<void()> fn);

  TimePoint now() const;
  WallTime wall_now() const;

  // Manual clock only: time passes, due timers fire in order, and what they make ready runs.
  void advance(Duration by);

  // The Asio io_context inside, for the .cc files of rt and http that speak Asio.
  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

// Waits. `co_await rt::sleep(5s)`.
Task<> sleep(Duration how_long);
Task<> sleep_until(TimePoint when);
// Lets everything else that is ready run first.
Task<> yield();

}  // namespace kopper::rt
