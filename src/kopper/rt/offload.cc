#include "kopper/rt/offload.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "kopper/rt/detail/loop_impl.h"

namespace kopper::rt {

struct ThreadPool::Impl {
  void work() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [this] { return stopping || !jobs.empty(); });
      if (stopping) return;
      auto job = std::move(jobs.front());
      jobs.pop_front();
      lock.unlock();
      job();
      job = nullptr;
      lock.lock();
    }
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::move_only_function<void()>> jobs;  // guarded by mutex
  bool stopping = false;                             // guarded by mutex
  std::vector<std::thread> threads;
};

ThreadPool::ThreadPool(unsigned threads) : impl_(std::make_unique<Impl>()) {
  for (unsigned i = 0; i < std::max(threads, 1U); ++i)
    impl_->threads.emplace_back([impl = impl_.get()] { impl->work(); });
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->stopping = true;
  }
  impl_->changed.notify_all();
  for (auto& thread : impl_->threads) thread.join();
}

void ThreadPool::submit(std::move_only_function<void()> job) {
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->jobs.push_back(std::move(job));
  }
  impl_->changed.notify_one();
}

// The loop counts the call as work, so that a loop with a manual clock waits for it.
void detail::OffloadLeaf::start() {
  auto& loop = Loop::current();
  ++loop.impl().awaited;
  work_->leaf_ = this;
  pool_.submit([work = work_, remote = loop.remote(), &loop]() mutable {
    try {
      work->call();
    } catch (...) {
      work->error = std::current_exception();
    }
    remote.post([work = std::move(work), &loop] {
      --loop.impl().awaited;
      if (work->leaf_ != nullptr) work->leaf_->finish();
    });
  });
}

void detail::OffloadLeaf::withdraw() noexcept { work_->leaf_ = nullptr; }

}  // namespace kopper::rt
