#pragma once

#include "kopper/rt/task.h"

namespace kopper::rt {

// The deferred work of a loop, in order. Intrusive: what is destroyed takes itself off.
class ReadyList {
 public:
  ReadyList() { head_.next_ = head_.previous_ = &head_; }
  ~ReadyList() {
    while (!empty()) head_.next_->undefer();
  }
  ReadyList(const ReadyList&) = delete;
  ReadyList& operator=(const ReadyList&) = delete;

  bool empty() const { return head_.next_ == &head_; }

  void push(Deferred& item) noexcept {
    if (item.next_ != nullptr) return;
    item.previous_ = head_.previous_;
    item.next_ = &head_;
    head_.previous_->next_ = &item;
    head_.previous_ = &item;
  }

  // Runs what is there now. What that adds waits for the next turn, so that sockets and timers get theirs.
  void run_turn() noexcept {
    Mark end;
    push(end);
    while (head_.next_ != &end) {
      auto* item = head_.next_;
      item->undefer();
      item->run();
    }
  }

 private:
  struct Mark final : Deferred {
    void run() noexcept override {}
  };
  Mark head_;
};

}  // namespace kopper::rt
