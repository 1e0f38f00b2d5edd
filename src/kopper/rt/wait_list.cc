#include "kopper/rt/wait_list.h"

namespace kopper::rt {

void WaitList::wake_one() noexcept {
  if (first_ == nullptr) return;
  auto& waiter = *first_;
  waiter.unlink();
  waiter.finish_later();
}

void WaitList::wake_all() noexcept {
  while (!empty()) wake_one();
}

void Waiter::start() {
  previous_ = list_.last_;
  (previous_ != nullptr ? previous_->next_ : list_.first_) = this;
  list_.last_ = this;
}

void Waiter::unlink() noexcept {
  (previous_ != nullptr ? previous_->next_ : list_.first_) = next_;
  (next_ != nullptr ? next_->previous_ : list_.last_) = previous_;
  next_ = previous_ = nullptr;
}

}  // namespace kopper::rt
