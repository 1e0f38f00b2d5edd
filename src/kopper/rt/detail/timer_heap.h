#pragma once

#include <cstdint>
#include <vector>

#include "kopper/rt/loop.h"

namespace kopper::rt {

// The armed timers of a loop: a binary heap of pointers in which each timer knows its slot, so that disarming (what
// almost every timeout ends with) is O(log n) and allocates nothing.
class TimerHeap {
 public:
  bool empty() const { return heap_.empty(); }
  TimePoint next() const { return heap_.empty() ? TimePoint::max() : heap_.front()->when_; }

  void add(Timer& timer, TimePoint when);
  void remove(Timer& timer) noexcept;

  // Fires what is due. What is armed meanwhile waits for the next call. Says whether anything fired.
  bool fire(TimePoint now);

 private:
  bool before(const Timer* a, const Timer* b) const {
    return a->when_ != b->when_ ? a->when_ < b->when_ : a->order_ < b->order_;
  }
  void place(std::size_t slot, Timer* timer) noexcept {
    heap_[slot] = timer;
    timer->slot_ = slot;
  }
  void sift_up(std::size_t slot, Timer* timer) noexcept;
  void sift_down(std::size_t slot, Timer* timer) noexcept;

  std::vector<Timer*> heap_;
  std::uint64_t order_ = 0;
};

}  // namespace kopper::rt
