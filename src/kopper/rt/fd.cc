#include "kopper/rt/detail/fd.h"

#include <array>
#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "kopper/rt/detail/loop_impl.h"

namespace kopper::rt {

Error errno_error(std::string_view what, int error, Code otherwise) {
  auto code = otherwise;
  if (error == ENOENT || error == ENOTDIR) code = Code::NotFound;
  if (error == EACCES || error == EPERM) code = Code::Forbidden;
  if (error == EEXIST) code = Code::AlreadyExists;
  if (error == ETIMEDOUT) code = Code::Timeout;
  return Error(code, fmt::format("{}: {}", what, std::system_category().message(error)));
}

// Shared with the waiting frames, which may be destroyed after the Fd.
struct Fd::State final : Watched, std::enable_shared_from_this<State> {
  explicit State(int number) : loop(Loop::current().impl()), fd(number) {
    int error = ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK) == 0 ? 0 : errno;
    if (error == 0) error = loop.reactor.add(fd, *this);
    if (error == 0) return;
    ::close(fd);
    throw errno_error("wait for a descriptor", error, Code::Internal);
  }

  void on_events(std::uint32_t events) override {
    const auto self = shared_from_this();
    // The end of a stream is told once; from then on its reader is never kept waiting.
    ended[kRead] |= (events & (EPOLLRDHUP | EPOLLHUP)) != 0;
    ended[kWrite] |= (events & EPOLLHUP) != 0;
    if ((events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) wake(kRead);
    if ((events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0) wake(kWrite);
  }

  // What comes while nobody waits is remembered for the next who does: an edge is told only once.
  void wake(Side side) {
    auto* waiter = take(side);
    ready[side] = waiter == nullptr;
    if (waiter != nullptr) waiter->finish();
  }

  Ready* take(Side side) noexcept {
    if (waiting[side] != nullptr) --loop.awaited;
    return std::exchange(waiting[side], nullptr);
  }

  void forget() noexcept { loop.reactor.remove(fd, *this); }

  Loop::Impl& loop;
  int fd;
  std::array<Ready*, 2> waiting{};
  std::array<bool, 2> ready{};
  std::array<bool, 2> ended{};
};

Fd::Fd(int fd) : state_(std::make_shared<State>(fd)) {}

Fd::~Fd() {
  if (!state_) return;
  state_->take(kRead);
  state_->take(kWrite);
  close();
}

Fd& Fd::operator=(Fd&& other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}

int Fd::get() const { return state_ ? state_->fd : -1; }

void Fd::close() noexcept {
  if (get() < 0) return;
  state_->forget();
  ::close(std::exchange(state_->fd, -1));
  for (const auto side : {kRead, kWrite}) {
    if (auto* waiter = state_->take(side)) waiter->finish_later();
  }
}

int Fd::release() {
  state_->forget();
  return std::exchange(state_->fd, -1);
}

Fd::Ready::~Ready() {
  if (pending()) withdraw();
}

void Fd::Ready::start() {
  if (state_->fd < 0 || state_->ended[side_] || std::exchange(state_->ready[side_], false)) return finish();
  if (state_->waiting[side_] != nullptr) throw Error(Code::Internal, "two reads or two writes at once on a stream");
  state_->waiting[side_] = this;
  ++state_->loop.awaited;
}

void Fd::Ready::withdraw() noexcept { state_->take(side_); }

void Fd::Ready::await_resume() const {
  throw_if_cancelled();
  if (state_->fd < 0) throw Error(Code::Unavailable, "connection closed");
}

}  // namespace kopper::rt
