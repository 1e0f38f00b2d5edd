#include "kopper/rt/detail/loop_impl.h"
#include "kopper/rt/detail/timer_heap.h"

namespace kopper::rt {

void TimerHeap::add(Timer& timer, TimePoint when) {
  heap_.push_back(&timer);
  timer.heap_ = this;
  timer.when_ = when;
  timer.order_ = order_++;
  sift_up(heap_.size() - 1, &timer);
}

void TimerHeap::remove(Timer& timer) noexcept {
  const auto slot = timer.slot_;
  timer.heap_ = nullptr;
  auto* last = heap_.back();
  heap_.pop_back();
  if (last == &timer) return;
  if (slot > 0 && before(last, heap_[(slot - 1) / 2])) {
    sift_up(slot, last);
  } else {
    sift_down(slot, last);
  }
}

bool TimerHeap::fire(TimePoint now) {
  const auto armed_before = order_;
  bool fired = false;
  while (!heap_.empty() && heap_.front()->when_ <= now && heap_.front()->order_ < armed_before) {
    auto* timer = heap_.front();
    remove(*timer);
    timer->on_timer();
    fired = true;
  }
  return fired;
}

void TimerHeap::sift_up(std::size_t slot, Timer* timer) noexcept {
  while (slot > 0) {
    const auto parent = (slot - 1) / 2;
    if (!before(timer, heap_[parent])) break;
    place(slot, heap_[parent]);
    slot = parent;
  }
  place(slot, timer);
}

void TimerHeap::sift_down(std::size_t slot, Timer* timer) noexcept {
  for (;;) {
    auto child = 2 * slot + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && before(heap_[child + 1], heap_[child])) ++child;
    if (!before(heap_[child], timer)) break;
    place(slot, heap_[child]);
    slot = child;
  }
  place(slot, timer);
}

void Timer::arm(TimePoint when) {
  disarm();
  Loop::current().impl().timers.add(*this, when);
}

void Timer::arm_in(Duration delay) {
  const auto now = Loop::current().now();
  arm(delay < TimePoint::max() - now ? now + delay : TimePoint::max());
}

void Timer::disarm() noexcept {
  if (heap_ != nullptr) heap_->remove(*this);
}

namespace {

class Sleep final : public Leaf, private Timer {
 public:
  explicit Sleep(TimePoint when) : when_(when) {}
  void await_resume() const { throw_if_cancelled(); }

 private:
  void start() override { arm(when_); }
  void withdraw() noexcept override { disarm(); }
  void on_timer() override { finish(); }
  TimePoint when_;
};

class Yield final : public Leaf {
 public:
  void await_resume() const { throw_if_cancelled(); }

 private:
  void start() override { finish_later(); }
  void withdraw() noexcept override {}
};

}  // namespace

Task<> sleep_until(TimePoint when) { co_await Sleep(when); }

Task<> sleep(Duration how_long) {
  const auto now = Loop::current().now();
  co_await Sleep(how_long < TimePoint::max() - now ? now + how_long : TimePoint::max());
}

Task<> yield() { co_await Yield(); }

}  // namespace kopper::rt
