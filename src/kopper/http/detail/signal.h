#pragma once

#include <utility>

#include "kopper/rt/task.h"

namespace kopper::http::detail {

// A wake-up for one waiter. notify() before wait() is remembered, once. `co_await signal.wait()` may wake for nothing:
// ask again in a loop.
class Signal {
 public:
  class [[nodiscard]] Wait final : public rt::Leaf {
   public:
    explicit Wait(Signal& signal) : signal_(&signal) {}
    ~Wait() override { forget(); }
    void await_resume() const { throw_if_cancelled(); }

   private:
    friend class Signal;
    void start() override {
      if (std::exchange(signal_->set_, false)) {
        signal_ = nullptr;
        finish();
      } else {
        signal_->waiter_ = this;
      }
    }
    void withdraw() noexcept override { forget(); }
    void wake() {
      signal_ = nullptr;
      finish_later();
    }
    void forget() noexcept {
      if (signal_ != nullptr && signal_->waiter_ == this) signal_->waiter_ = nullptr;
      signal_ = nullptr;
    }

    Signal* signal_;
  };

  Signal() = default;
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;
  ~Signal() {
    if (waiter_ != nullptr) waiter_->signal_ = nullptr;
  }

  Wait wait() { return Wait(*this); }

  void notify() {
    if (waiter_ != nullptr) {
      std::exchange(waiter_, nullptr)->wake();
    } else {
      set_ = true;
    }
  }

 private:
  Wait* waiter_ = nullptr;
  bool set_ = false;
};

}  // namespace kopper::http::detail
