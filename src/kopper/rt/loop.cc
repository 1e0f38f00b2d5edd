#include "kopper/rt/loop.h"

#include <mutex>

#include <boost/asio/post.hpp>

#include "kopper/base/error.h"
#include "kopper/rt/detail/loop_impl.h"

namespace kopper::rt {

namespace {
thread_local Loop* current_loop = nullptr;

// So many handlers of Asio run before deferred work and timers get their turn: a busy socket must not starve them.
constexpr int kHandlersPerTurn = 64;
}  // namespace

struct Remote::State {
  std::mutex mutex;
  asio::io_context* io = nullptr;  // guarded by mutex; null when the loop is gone
};

Remote::Remote(std::shared_ptr<State> state) : state_(std::move(state)) {}

void Remote::post(std::move_only_function<void()> fn) const {
  const std::lock_guard lock(state_->mutex);
  if (state_->io != nullptr) asio::post(*state_->io, std::move(fn));
}

Loop::Impl::Impl(ClockMode mode)
    : clock(mode), outer(std::exchange(current_loop, nullptr)), remote(std::make_shared<Remote::State>()) {
  remote->io = &io;
  if (clock == ClockMode::Real) guard.emplace(io.get_executor());
}

// Asio's timer is set only when the loop is about to wait, and left alone when it rings too early: most timers are
// time-outs that never fire, and each setting is a system call.
void Loop::Impl::set_alarm() {
  if (clock == ClockMode::Manual || timers.next() >= alarm_at) return;
  alarm_at = timers.next();
  alarm.expires_at(alarm_at);
  alarm.async_wait([this](const boost::system::error_code& error) {
    if (!error) alarm_at = TimePoint::max();
  });
}

bool Loop::Impl::run_ready() {
  bool ran = !ready.empty();
  ready.run_turn();
  if (!timers.empty()) ran |= timers.fire(clock == ClockMode::Real ? std::chrono::steady_clock::now() : manual_now);
  if (io.stopped()) io.restart();
  return ran;
}

bool Loop::Impl::poll_io() {
  bool ran = false;
  for (int i = 0; i < kHandlersPerTurn && io.poll_one() > 0; ++i) ran = true;
  return ran;
}

bool Loop::Impl::turn() {
  const bool ran = run_ready();
  return poll_io() || ran;
}

// Asks the kernel once an event: polling after each handler would double the system calls of a quiet connection.
bool Loop::Impl::turn_waiting(const bool& done) {
  const bool ran = run_ready();
  if (!ready.empty() || done) return poll_io() || ran;
  set_alarm();
  return io.run_one() > 0 || ran;
}

Loop::Loop(ClockMode clock) : impl_(std::make_unique<Impl>(clock)) { current_loop = this; }

Loop::~Loop() {
  {
    const std::lock_guard lock(impl_->remote->mutex);
    impl_->remote->io = nullptr;
  }
  current_loop = impl_->outer;
}

Loop& Loop::current() {
  if (current_loop == nullptr) throw Error(Code::Internal, "no event loop on this thread: construct a Loop first");
  return *current_loop;
}

// Marks the loop as running, and as the current one.
class Loop::Running {
 public:
  explicit Running(Loop& loop) : impl_(*loop.impl_), before_(current_loop) {
    if (impl_.running)
      throw Error(Code::Internal, "a loop cannot be run from inside itself: co_await the task instead");
    impl_.running = true;
    current_loop = &loop;
  }
  ~Running() {
    impl_.running = false;
    current_loop = before_;
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  Impl& impl_;
  Loop* before_;
};

void Loop::run_until(const bool& done) {
  const Running running(*this);
  while (!done) {
    if (!impl_->turn_waiting(done) && !done && impl_->clock == ClockMode::Manual) {
      throw Error(Code::Internal, "Loop::run: nothing can wake the task; a manual clock moves only by advance()");
    }
  }
}

void Loop::poll() {
  const Running running(*this);
  while (impl_->turn() && impl_->clock == ClockMode::Manual) {
  }
}

void Loop::post(std::move_only_function<void()> fn) { asio::post(impl_->io, std::move(fn)); }

Remote Loop::remote() const { return Remote(impl_->remote); }

TimePoint Loop::now() const {
  return impl_->clock == ClockMode::Real ? TimePoint(std::chrono::steady_clock::now()) : impl_->manual_now;
}

WallTime Loop::wall_now() const {
  using namespace std::chrono;
  if (impl_->clock == ClockMode::Real) return system_clock::now();
  return sys_days(2026y / January / 1) + impl_->manual_now.time_since_epoch();
}

TimePoint Loop::next_timer() const { return impl_->timers.next(); }

void Loop::advance(Duration by) {
  if (impl_->clock != ClockMode::Manual) throw Error(Code::Internal, "Loop::advance needs a manual clock");
  const auto target = impl_->manual_now + by;
  poll();
  while (impl_->timers.next() <= target) {
    impl_->manual_now = std::max(impl_->manual_now, impl_->timers.next());
    poll();
  }
  impl_->manual_now = target;
}

void Deferred::defer() noexcept { current_loop->impl().ready.push(*this); }

}  // namespace kopper::rt
