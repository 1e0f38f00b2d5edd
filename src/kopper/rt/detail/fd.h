#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "kopper/base/error.h"
#include "kopper/rt/task.h"

namespace kopper::rt {

// The Error for an errno: "<what>: Connection refused". `otherwise` is the code of what has no better one.
Error errno_error(std::string_view what, int error, Code otherwise = Code::Unavailable);

// A file descriptor on the loop: non-blocking, closed when destroyed. The loop tells readiness only; the callers make
// the system calls. So no operation ever holds a buffer, and giving one up loses no bytes.
class Fd {
 public:
  struct State;
  enum Side { kRead, kWrite };

  Fd() = default;
  // Takes `fd` over.
  explicit Fd(int fd);
  Fd(Fd&&) noexcept = default;
  Fd& operator=(Fd&&) noexcept;
  ~Fd();

  // -1 when closed.
  int get() const;
  // What waits throws Error{Unavailable} in a later turn.
  void close() noexcept;
  // Gives the descriptor away, open. Nobody may be waiting.
  int release();

  // `co_await fd.readable()`: until a read would not block, or a little too early. One waiter a side, who reads until
  // the descriptor is empty before the next wait: news are told once.
  class Ready final : public Leaf {
   public:
    Ready(std::shared_ptr<State> state, Side side) : state_(std::move(state)), side_(side) {}
    ~Ready() override;
    void await_resume() const;

   private:
    friend class Fd;
    friend struct State;
    void start() override;
    void withdraw() noexcept override;
    std::shared_ptr<State> state_;
    Side side_;
  };
  Ready readable() const { return {state_, kRead}; }
  Ready writable() const { return {state_, kWrite}; }

 private:
  std::shared_ptr<State> state_;
};

}  // namespace kopper::rt
