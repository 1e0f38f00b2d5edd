#pragma once

#include "kopper/rt/task.h"

namespace kopper::rt {

class Waiter;

// Coroutines that wait for something another coroutine will do, first come first served. Loop-confined; outlives them.
class WaitList {
 public:
  WaitList() = default;
  WaitList(const WaitList&) = delete;
  WaitList& operator=(const WaitList&) = delete;

  bool empty() const { return first_ == nullptr; }
  Waiter* first() const { return first_; }
  // Take off, and resume in the loop's next turn.
  void wake_one() noexcept;
  void wake_all() noexcept;

 private:
  friend class Waiter;
  Waiter* first_ = nullptr;
  Waiter* last_ = nullptr;
};

// `co_await Waiter(list)`: until it is woken. What waits for a condition checks it again afterwards.
// Derive to hand something over with the wake-up.
class Waiter : public Leaf {
 public:
  explicit Waiter(WaitList& list) : list_(list) {}
  // A wake-up that came too late for a destroyed coroutine goes to the next one.
  ~Waiter() override {
    if (pending()) unlink();
    if (woken()) list_.wake_one();
  }
  void await_resume() const { throw_if_cancelled(); }

 protected:
  void start() override;
  void withdraw() noexcept override { unlink(); }

 private:
  friend class WaitList;
  void unlink() noexcept;

  WaitList& list_;
  Waiter* next_ = nullptr;
  Waiter* previous_ = nullptr;
};

}  // namespace kopper::rt
