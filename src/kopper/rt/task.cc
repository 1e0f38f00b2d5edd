#include "kopper/rt/task.h"

namespace kopper::rt {

void Deferred::undefer() noexcept {
  if (next_ == nullptr) return;
  next_->previous_ = previous_;
  previous_->next_ = next_;
  next_ = previous_ = nullptr;
}

Activity::Activity(Activity* parent) : parent_(parent) {
  if (parent_ == nullptr) return;
  cancelled_ = parent_->cancelled_;
  next_ = parent_->first_child_;
  if (next_ != nullptr) next_->previous_ = this;
  parent_->first_child_ = this;
}

// What is inside normally dies first. When a frame destroys its activity before the task inside, they are cut apart.
Activity::~Activity() {
  if (leaf_ != nullptr) leaf_->activity_ = nullptr;
  for (auto* child = first_child_; child != nullptr;) {
    auto* next = child->next_;
    child->parent_ = child->next_ = child->previous_ = nullptr;
    child = next;
  }
  if (next_ != nullptr) next_->previous_ = previous_;
  if (previous_ != nullptr) {
    previous_->next_ = next_;
  } else if (parent_ != nullptr) {
    parent_->first_child_ = next_;
  }
}

void Activity::cancel() noexcept {
  if (cancelled_) return;
  cancelled_ = true;
  for (auto* child = first_child_; child != nullptr; child = child->next_) child->cancel();
  if (leaf_ != nullptr) leaf_->cancel();
}

Leaf::~Leaf() { leave(); }

void Leaf::leave() noexcept {
  if (activity_ != nullptr) activity_->leaf_ = nullptr;
  activity_ = nullptr;
}

bool Leaf::suspend(std::coroutine_handle<> awaiting, Activity& activity) {
  if (activity.cancelled()) {
    cancelled_ = true;
    return false;
  }
  awaiting_ = awaiting;
  activity_ = &activity;
  activity.leaf_ = this;
  phase_ = Phase::Pending;
  starting_ = true;
  try {
    start();
  } catch (...) {
    phase_ = Phase::Idle;  // nothing to withdraw; the error goes to the coroutine
    throw;
  }
  starting_ = false;
  return !resume_inline_;
}

void Leaf::run() noexcept {
  phase_ = Phase::Resumed;
  awaiting_.resume();
}

void Leaf::finish() {
  phase_ = Phase::Resumed;
  leave();
  if (starting_) {
    resume_inline_ = true;
  } else {
    awaiting_.resume();
  }
}

void Leaf::finish_later() noexcept {
  phase_ = Phase::Woken;
  leave();
  defer();
}

void Leaf::cancel() noexcept {
  cancelled_ = true;
  withdraw();
  finish_later();
}

}  // namespace kopper::rt
