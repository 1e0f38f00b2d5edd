#pragma once

#include <deque>

#include "kopper/rt/scope.h"
#include "kopper/rt/task.h"
#include "kopper/rt/wait_list.h"

namespace kopper::plane {

// What the server does on its own after a change: one after another, never inside the change itself. A chore that fails
// is logged; whoever added it sees to it that it comes again.
class Chores {
 public:
  Chores();

  void add(Task<> chore);
  // Whether everything is done: for tests.
  bool idle() const { return waiting_.empty() && !busy_; }

 private:
  Task<> work();

  std::deque<Task<>> waiting_;
  bool busy_ = false;
  rt::WaitList more_;
  rt::Scope tasks_;
};

}  // namespace kopper::plane
