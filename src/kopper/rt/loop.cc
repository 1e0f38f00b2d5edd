#include "kopper/rt/loop.h"

#include <mutex>

#include "kopper/base/error.h"
#include "kopper/rt/detail/loop_impl.h"

namespace kopper::rt {

namespace {
thread_local Loop* current_loop = nullptr;
}  // namespace

void Remote::State::post(Function fn) {
  const std::lock_guard lock(mutex);
  if (reactor == nullptr) return;
  posted.push_back(std::move(fn));
  if (std::exchange(asleep, false)) reactor->wake();
}

bool Remote::State::run() {
  std::vector<Function> now;
  {
    const std::lock_guard lock(mutex);
    asleep = false;
    if (posted.empty()) return false;
    now.swap(posted);
  }
  for (auto& fn : now) std::exchange(fn, nullptr)();
  return true;
}

bool Remote::State::begin_to_sleep() {
  const std::lock_guard lock(mutex);
  asleep = posted.empty();
  return asleep;
}

Remote::Remote(std::shared_ptr<State> state) : state_(std::move(state)) {}

void Remote::post(std::move_only_function<void()> fn) const { state_->post(std::move(fn)); }

Loop::Impl::Impl(ClockMode mode)
    : clock(mode), outer(std::exchange(current_loop, nullptr)), remote(std::make_shared<Remote::State>()) {
  remote->reactor = &reactor;
}

// What was posted and never ran is destroyed while the loop still stands: it may own tasks and timers.
Loop::Impl::~Impl() {
  resolvers_.reset();
  std::vector<Remote::State::Function> dropped;
  const std::lock_guard lock(remote->mutex);
  remote->reactor = nullptr;
  dropped.swap(remote->posted);
}

bool Loop::Impl::run_ready() {
  bool ran = !ready.empty();
  ready.run_turn();
  if (!timers.empty()) ran |= timers.fire(now());
  return ran;
}

bool Loop::Impl::turn() {
  bool ran = run_ready();
  ran |= remote->run();
  return reactor.wait(TimePoint::min()) || ran;
}

// Asks the kernel once an event: polling after each would double the system calls of a quiet connection.
bool Loop::Impl::turn_waiting(const bool& done) {
  bool ran = run_ready();
  ran |= remote->run();
  if (done) return true;
  if (!ready.empty()) return reactor.wait(TimePoint::min()) || ran;
  if (clock == ClockMode::Manual && (ran || awaited == 0)) return reactor.wait(TimePoint::min()) || ran;
  if (!remote->begin_to_sleep()) return true;
  reactor.wait(clock == ClockMode::Real ? timers.next() - ahead : TimePoint::max());
  return true;
}

Loop::Loop(ClockMode clock) : impl_(std::make_unique<Impl>(clock)) { current_loop = this; }

Loop::~Loop() { current_loop = impl_->outer; }

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

void Loop::post(std::move_only_function<void()> fn) { impl_->remote->post(std::move(fn)); }

Remote Loop::remote() const { return Remote(impl_->remote); }

TimePoint Loop::Impl::now() const {
  return clock == ClockMode::Real ? TimePoint(std::chrono::steady_clock::now()) + ahead : manual_now;
}

TimePoint Loop::now() const { return impl_->now(); }

WallTime Loop::wall_now() const {
  using namespace std::chrono;
  if (impl_->clock == ClockMode::Real) return system_clock::now() + impl_->ahead;
  return sys_days(2026y / January / 1) + impl_->manual_now.time_since_epoch();
}

TimePoint Loop::next_timer() const { return impl_->timers.next(); }

void Loop::advance(Duration by) {
  if (impl_->clock == ClockMode::Real) {
    impl_->ahead += by;  // the next turn finds what is due
    return;
  }
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
