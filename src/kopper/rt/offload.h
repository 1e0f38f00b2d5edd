#pragma once

#include <concepts>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "kopper/rt/loop.h"
#include "kopper/rt/task.h"

namespace kopper::rt {

// Threads for work that would hold up a loop: heavy computing, blocking calls. Used by any number of loops, from any
// thread. The destructor waits for the work that has begun and drops the rest.
class ThreadPool {
 public:
  explicit ThreadPool(unsigned threads = 1);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // `job`, which must not throw, is called on some thread of the pool, or destroyed there or in the destructor.
  void submit(std::move_only_function<void()> job);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

namespace detail {

// The part of an offloaded call that both threads see. The worker writes before it posts, the loop reads after.
class Offloaded : public std::enable_shared_from_this<Offloaded> {
 public:
  virtual ~Offloaded() = default;
  std::exception_ptr error;

 private:
  friend class OffloadLeaf;
  virtual void call() = 0;
  class OffloadLeaf* leaf_ = nullptr;  // the loop's thread only; null when nobody waits any more
};

class OffloadLeaf final : public Leaf {
 public:
  OffloadLeaf(ThreadPool& pool, std::shared_ptr<Offloaded> work) : pool_(pool), work_(std::move(work)) {}
  ~OffloadLeaf() override {
    if (pending()) withdraw();
  }
  void await_resume() const {
    throw_if_cancelled();
    if (work_->error) std::rethrow_exception(work_->error);
  }

 private:
  void start() override;
  void withdraw() noexcept override;
  ThreadPool& pool_;
  std::shared_ptr<Offloaded> work_;
};

template <class F>
struct Call final : Offloaded {
  using R = std::invoke_result_t<F&>;
  struct Nothing {};

  explicit Call(F f) : fn(std::move(f)) {}
  void call() override {
    if constexpr (std::is_void_v<R>) {
      (*std::exchange(fn, std::nullopt))();
    } else {
      result.emplace((*std::exchange(fn, std::nullopt))());
    }
  }
  std::optional<F> fn;  // destroyed on the thread that called it
  std::optional<std::conditional_t<std::is_void_v<R>, Nothing, R>> result;
};

}  // namespace detail

// Calls `fn()` on a thread of the pool and returns its value or throws its error. `fn` owns what it uses: when the
// caller is cancelled or destroyed, the call still runs to its end, and its result is dropped.
template <std::invocable F>
Task<std::invoke_result_t<F&>> offload(ThreadPool& pool, F fn) {  // the pool outlives the call
  const auto work = std::make_shared<detail::Call<F>>(std::move(fn));
  co_await detail::OffloadLeaf(pool, work);
  if constexpr (!std::is_void_v<std::invoke_result_t<F&>>) co_return std::move(*work->result);
}

}  // namespace kopper::rt
