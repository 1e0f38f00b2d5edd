#pragma once

#include <utility>

#include "kopper/rt/scope.h"
#include "kopper/rt/task.h"

namespace kopper::runtime {

inline Task<> then_cancel(Task<> task, rt::Scope* scope) {
  co_await task;
  scope->cancel();
}

// Waits for whichever ends first, and gives the other up.
inline Task<> first_of(Task<> one, Task<> other) {
  rt::Scope scope;
  scope.spawn(then_cancel(std::move(one), &scope));
  scope.spawn(then_cancel(std::move(other), &scope));
  co_await scope.join();
}

}  // namespace kopper::runtime
