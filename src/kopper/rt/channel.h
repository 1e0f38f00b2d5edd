#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <utility>

#include "kopper/rt/wait_list.h"

// How the coroutines of one loop wait for each other. All of it is loop-confined and outlives those that wait on it.
// Between threads: Loop::post() and offload().

namespace kopper::rt {

// A queue of at most `capacity` items (at least one): who sends to a full one waits.
template <class T>
class Channel {
 public:
  explicit Channel(std::size_t capacity) : capacity_(capacity > 0 ? capacity : 1) {}
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // Waits while the channel is full. False when it is closed: the item is dropped.
  Task<bool> send(T item) {
    while (items_.size() >= capacity_ && !closed_) co_await Waiter(senders_);
    co_return put(item);
  }
  // Never waits. False, and `item` untouched, when the channel is full or closed.
  bool try_send(T& item) { return items_.size() < capacity_ && put(item); }
  bool try_send(T&& item) { return try_send(item); }

  // Waits for an item. Nothing when the channel is closed and all items are taken.
  Task<std::optional<T>> receive() {
    while (items_.empty() && !closed_) co_await Waiter(receivers_);
    co_return try_receive();
  }
  std::optional<T> try_receive() {
    if (items_.empty()) return std::nullopt;
    std::optional<T> item(std::move(items_.front()));
    items_.pop_front();
    senders_.wake_one();
    return item;
  }

  // No more is taken in; what is there can still be received. Wakes all who wait. Idempotent.
  void close() noexcept {
    closed_ = true;
    senders_.wake_all();
    receivers_.wake_all();
  }
  bool closed() const { return closed_; }
  std::size_t size() const { return items_.size(); }

 private:
  bool put(T& item) {
    if (closed_) return false;
    items_.push_back(std::move(item));
    receivers_.wake_one();
    return true;
  }

  const std::size_t capacity_;
  std::deque<T> items_;
  bool closed_ = false;
  WaitList senders_;
  WaitList receivers_;
};

// A flag to wait for. All who wait are woken when it is set.
class Event {
 public:
  void set() noexcept {
    set_ = true;
    waiting_.wake_all();
  }
  void reset() noexcept { set_ = false; }
  bool is_set() const { return set_; }
  // Returns once the flag was set, even when it is reset meanwhile.
  Task<> wait() {
    if (!set_) co_await Waiter(waiting_);
  }

 private:
  bool set_ = false;
  WaitList waiting_;
};

// A number of permits, given out first come first served. Semaphore(1) is a mutex.
//   const auto permit = co_await semaphore.acquire();
class Semaphore {
 public:
  explicit Semaphore(std::size_t permits) : free_(permits) {}
  Semaphore(const Semaphore&) = delete;
  Semaphore& operator=(const Semaphore&) = delete;

  // Given back when destroyed.
  class [[nodiscard]] Permit {
   public:
    Permit(Permit&& other) noexcept : from_(std::exchange(other.from_, nullptr)) {}
    Permit& operator=(Permit&& other) noexcept {
      std::swap(from_, other.from_);
      return *this;
    }
    ~Permit() {
      if (from_ != nullptr) from_->release();
    }

   private:
    friend class Semaphore;
    explicit Permit(Semaphore* from) : from_(from) {}
    Semaphore* from_;
  };

  class Acquire final : public Waiter {
   public:
    explicit Acquire(Semaphore& from) : Waiter(from.waiting_), from_(from) {}
    // Waiter passes a permit that came too late to the next in line; here, when there is none.
    ~Acquire() override {
      if (woken() && from_.waiting_.empty()) ++from_.free_;
    }
    Permit await_resume() const {
      throw_if_cancelled();
      return Permit(&from_);
    }

   private:
    void start() override {
      if (from_.free_ == 0) return Waiter::start();
      --from_.free_;
      finish();
    }
    Semaphore& from_;
  };

  Acquire acquire() { return Acquire(*this); }
  std::optional<Permit> try_acquire() {
    if (free_ == 0) return std::nullopt;
    --free_;
    return Permit(this);
  }
  std::size_t free() const { return free_; }

 private:
  // The permit goes straight to who waits longest, so that nobody overtakes.
  void release() noexcept {
    if (waiting_.empty()) {
      ++free_;
    } else {
      waiting_.wake_one();
    }
  }

  std::size_t free_;
  WaitList waiting_;
};

}  // namespace kopper::rt
