#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "kopper/rt/loop.h"
#include "kopper/rt/task.h"
#include "kopper/rt/wait_list.h"

namespace kopper::rt {

// Owns tasks that run at the same time. Make it the last member of a class, so that its tasks die before what they use.
//   Scope scope;
//   scope.spawn(read_loop());
//   scope.spawn(write_loop());
//   co_await scope.join();
// Loop-confined. Not to be destroyed by one of its own tasks.
class Scope {
 public:
  Scope();
  // Destroys what still runs, without waiting: locals are destroyed, operations withdrawn.
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  // The task starts in the loop's next turn. The first one that throws cancels its siblings.
  void spawn(Task<> task);

  // Cancels all tasks, and those spawned later: a cancelled scope stays cancelled.
  void cancel() noexcept { activity_.cancel(); }
  bool cancelled() const { return activity_.cancelled(); }

  // Waits until no task is left; then throws the first error of one, once. A task that ends by cancellation is no
  // error. When the caller is cancelled: cancels the tasks, waits for them, and throws Cancelled.
  Task<> join();

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

 private:
  class Child;
  void remove(Child& child) noexcept;

  Activity activity_;
  std::unique_ptr<Child> first_;
  std::size_t size_ = 0;
  std::exception_ptr error_;
  WaitList joining_;
};

namespace detail {

// Cancels an activity at a given time.
class Deadline final : private Timer {
 public:
  Deadline(Activity& activity, Duration limit) : activity_(activity) { arm_in(limit); }
  bool passed() const { return passed_; }

 private:
  void on_timer() override;
  Activity& activity_;
  bool passed_ = false;
};

[[noreturn]] void throw_timeout(Duration limit);

template <class T>
Task<> store(Task<T> task, std::optional<T>* result) {
  result->emplace(co_await task);
}

template <class T>
Task<> store_first(Task<T> task, std::optional<T>* result, Scope* scope) {
  auto value = co_await task;
  if (!*result) result->emplace(std::move(value));
  scope->cancel();
}

}  // namespace detail

// Ends `task` when it takes longer: it is cancelled, and when it has ended, Error{Timeout} is thrown.
// A value that was there in time is returned. The caller's cancellation goes through as Cancelled.
template <class T>
Task<T> timeout(Duration limit, Task<T> task) {
  Activity& caller = co_await this_activity();
  Activity inner(&caller);
  const Task<T> body = std::move(task);  // after `inner`, so that it is destroyed before it
  const detail::Deadline deadline(inner, limit);
  try {
    co_return co_await body.in(inner);
  } catch (const Cancelled&) {
    if (caller.cancelled() || !deadline.passed()) throw;
  }
  detail::throw_timeout(limit);
}

// Runs `task` to its end even when the caller is cancelled meanwhile; the caller's next await then throws. For clean-up
// that must be done, always with a timeout() inside. Destroying the caller still destroys it.
template <class T>
Task<T> shield(Task<T> task) {
  Activity inner;
  const Task<T> body = std::move(task);
  co_return co_await body.in(inner);
}

// Runs all at the same time; the values in the same order. The first error cancels the rest, and is thrown when all
// have ended.
template <class T>
Task<std::vector<T>> all(std::vector<Task<T>> tasks) {
  std::vector<std::optional<T>> results(tasks.size());
  Scope scope;
  for (std::size_t i = 0; i < tasks.size(); ++i) scope.spawn(detail::store(std::move(tasks[i]), &results[i]));
  co_await scope.join();
  std::vector<T> values;
  values.reserve(results.size());
  for (auto& result : results) values.push_back(std::move(*result));
  co_return values;
}

Task<> all(std::vector<Task<>> tasks);

// The value, or the error, of the first that ends; the others are cancelled and waited for. At least one task.
template <class T>
Task<T> race(std::vector<Task<T>> tasks) {
  std::optional<T> result;
  Scope scope;
  for (auto& task : tasks) scope.spawn(detail::store_first(std::move(task), &result, &scope));
  co_await scope.join();
  co_return std::move(*result);
}

}  // namespace kopper::rt
