#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <sys/epoll.h>

#include "kopper/rt/loop.h"

namespace kopper::rt {

// A descriptor that the reactor watches.
class Watched {
 public:
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

 protected:
  Watched() = default;
  virtual ~Watched() = default;

 private:
  friend class Reactor;
  // Bits of epoll. May destroy the object.
  virtual void on_events(std::uint32_t events) = 0;
};

// Tells when descriptors become ready. Each is registered once, edge-triggered, for reading and writing: waiting for
// one costs no system call but the epoll_wait that the loop makes anyway.
class Reactor {
 public:
  Reactor();
  ~Reactor();
  Reactor(const Reactor&) = delete;
  Reactor& operator=(const Reactor&) = delete;

  // errno, or 0.
  int add(int fd, Watched& watched) noexcept;
  // Before the descriptor is closed. No event of it comes any more, not even one that is in hand already.
  void remove(int fd, Watched& watched) noexcept;

  // Waits until `until` for anything to happen (TimePoint::max(): for ever, TimePoint::min(): not at all), and tells
  // those concerned. Says whether there were any.
  bool wait(TimePoint until);
  // Ends a wait(), or the next one, from any thread.
  void wake() const noexcept;

 private:
  int ask(TimePoint until);

  int epoll_;
  int wake_;  // an eventfd
  std::array<epoll_event, 64> batch_{};
  std::size_t next_ = 0;
  std::size_t count_ = 0;
};

}  // namespace kopper::rt
