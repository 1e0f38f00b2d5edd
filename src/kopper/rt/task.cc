#include "kopper/rt/task.h"

namespace kopper::rt {

Activity::Activity(Activity* parent) : parent_(parent) {
  if (parent_ == nullptr) return;
  cancelled_ = parent_->cancelled_;
  next_ = parent_->first_child_;
  if (next_ != nullptr) next_->previous_ = this;
  parent_->first_child_ = this;
}

Activity::~Activity() {
  if (next_ != nullptr) next_->previous_ = previous_;
  if (previous_ != nullptr) previous_->next_ = next_;
  else if (parent_ != nullptr) parent_->first_child_ = next_;
}

void Activity::cancel() noexcept {
  if (cancelled_) return;
  cancelled_ = true;
  for (auto* child = first_child_; child != nullptr; child = child->next_) child->cancel();
  if (leaf_ != nullptr) leaf_->cancel();
}

Leaf::~Leaf() {
  if (activity_ != nullptr && activity_->leaf_ == this) activity_->leaf_ = nullptr;
}

bool Leaf::suspend(std::coroutine_handle<> awaiting, Activity* activity) {
  if (activity != nullptr && activity->cancelled()) {
    cancelled_ = true;
    return false;
  }
  awaiting_ = awaiting;
  activity_ = activity;
  if (activity_ != nullptr) activity_->leaf_ = this;
  starting_ = true;
  start();
  starting_ = false;
  return !finished_;
}

void Leaf::finish() {
  finished_ = true;
  if (activity_ != nullptr && activity_->leaf_ == this) activity_->leaf_ = nullptr;
  activity_ = nullptr;
  if (!starting_) awaiting_.resume();
}

void Leaf::cancel() noexcept {
  cancelled_ = true;
  withdraw();
  finish_later();
}

}  // namespace kopper::rt
