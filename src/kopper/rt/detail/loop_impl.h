#pragma once

#include <memory>
#include <optional>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "kopper/rt/detail/ready_list.h"
#include "kopper/rt/detail/timer_heap.h"
#include "kopper/rt/loop.h"

namespace kopper::rt {

namespace asio = boost::asio;

struct Loop::Impl {
  explicit Impl(ClockMode mode);

  // One round: deferred work, due timers, then Asio's handlers. Says whether anything ran.
  bool turn();
  // The same, but when no deferred work is left and `done` is not set yet, waits in Asio for the next handler.
  bool turn_waiting(const bool& done);

  const ClockMode clock;
  Loop* const outer;  // current before this one
  std::shared_ptr<Remote::State> remote;
  ReadyList ready;  // before io: handlers that die with it may own tasks and timers
  TimerHeap timers;
  asio::io_context io{1};
  // A real loop waits for ever for posts of other threads. A manual one has no guard: Asio then tells when nothing is
  // left that could happen.
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> guard;
  asio::steady_timer alarm{io};  // Real: wakes the loop for the first timer
  TimePoint alarm_at = TimePoint::max();
  TimePoint manual_now{};
  bool running = false;

 private:
  bool run_ready();
  bool poll_io();
  void set_alarm();
};

}  // namespace kopper::rt
