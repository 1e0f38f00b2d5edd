#include "kopper/rt/signal.h"

#include <array>
#include <atomic>
#include <csignal>
#include <mutex>

#include <fcntl.h>
#include <unistd.h>

#include "kopper/rt/detail/fd.h"

namespace kopper::rt {

namespace {

// One call of wait_signal(). The handler of the process, which may run on any thread at any moment, writes into the
// pipes of those who wait; so a pipe is never closed, but used again by the next call.
struct Seat {
  std::atomic<bool> taken = false;
  std::atomic<std::uint64_t> wanted = 0;  // bit n: signal n
  std::atomic<int> write_end = -1;
  int read_end = -1;  // the owner's
};
constexpr int kSignals = 64;
std::array<Seat, 16> seats;

std::uint64_t bit(int signal) { return std::uint64_t{1} << static_cast<unsigned>(signal - 1); }

void on_signal(int signal) {
  const int error = errno;
  for (auto& seat : seats) {
    if ((seat.wanted.load() & bit(signal)) == 0) continue;
    const auto number = static_cast<unsigned char>(signal);
    [[maybe_unused]] const auto written = ::write(seat.write_end.load(), &number, 1);  // full: it is awake already
  }
  errno = error;
}

// Who waits for what, and what the process did about it before.
struct Handlers {
  void use(int signal) {
    const std::lock_guard lock(mutex);
    if (users.at(index(signal))++ > 0) return;
    struct sigaction action{};
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    sigfillset(&action.sa_mask);
    if (::sigaction(signal, &action, &before.at(index(signal))) != 0) {
      --users.at(index(signal));
      throw errno_error("wait for a signal", errno, Code::Invalid);
    }
  }
  void leave(int signal) noexcept {
    const std::lock_guard lock(mutex);
    if (--users.at(index(signal)) == 0) ::sigaction(signal, &before.at(index(signal)), nullptr);
  }

 private:
  static std::size_t index(int signal) { return static_cast<std::size_t>(signal); }

  std::mutex mutex;
  std::array<int, kSignals + 1> users{};                // guarded by mutex
  std::array<struct sigaction, kSignals + 1> before{};  // guarded by mutex
};

Handlers& handlers() {
  static Handlers the;
  return the;
}

class Waiting {
 public:
  explicit Waiting(const std::vector<int>& signals) : seat_(take_seat()) {
    std::uint64_t wanted = 0;
    for (const int signal : signals) {
      if (signal < 1 || signal > kSignals) continue;
      wanted |= bit(signal);
    }
    seat_.wanted = wanted;
    try {
      for (const int signal : signals) {
        handlers().use(signal);
        used_.push_back(signal);
      }
    } catch (...) {
      leave();
      throw;
    }
  }
  ~Waiting() { leave(); }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

  // A copy of the reading end, for the loop to close.
  int descriptor() const { return ::fcntl(seat_.read_end, F_DUPFD_CLOEXEC, 0); }

 private:
  static Seat& take_seat() {
    for (auto& seat : seats) {
      if (seat.taken.exchange(true)) continue;
      if (seat.read_end < 0) {
        std::array<int, 2> ends{};
        if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) throw errno_error("pipe", errno, Code::Internal);
        seat.read_end = ends[0];
        seat.write_end = ends[1];
      }
      std::array<char, 64> stale;
      while (::read(seat.read_end, stale.data(), stale.size()) > 0) {
      }
      return seat;
    }
    throw Error(Code::Internal, "too many calls wait for signals at once");
  }
  void leave() noexcept {
    seat_.wanted = 0;
    for (const int signal : used_) handlers().leave(signal);
    seat_.taken = false;
  }

  Seat& seat_;
  std::vector<int> used_;
};

}  // namespace

Task<int> wait_signal(std::vector<int> signals) {
  const Waiting waiting(signals);
  const Fd fd(waiting.descriptor());
  for (;;) {
    unsigned char number = 0;
    if (::read(fd.get(), &number, 1) == 1) co_return number;
    co_await fd.readable();
  }
}

Task<int> wait_stop_signal() {
  std::vector<int> signals{SIGINT, SIGTERM};
  co_return co_await wait_signal(std::move(signals));
}

}  // namespace kopper::rt
