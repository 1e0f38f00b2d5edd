#include "kopper/rt/detail/child_stream.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>

#include <fcntl.h>
#include <unistd.h>

namespace kopper::rt {

namespace {

// What one that escaped the death of the group may have left in the pipe.
constexpr std::size_t kMaxLeft = std::size_t{1} << 20U;

// write() for what may be a pipe that nobody reads. A socket has MSG_NOSIGNAL; a pipe does not, and a library has no
// business with what its program does on SIGPIPE.
ssize_t write_without_signal(int fd, std::string_view bytes) {
  sigset_t pipe_signal;
  sigset_t before;
  sigset_t pending;
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  sigpending(&pending);
  ::pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
  const auto n = ::write(fd, bytes.data(), bytes.size());
  const int error = errno;
  if (n < 0 && error == EPIPE && sigismember(&pending, SIGPIPE) == 0) {
    const timespec at_once{};
    while (::sigtimedwait(&pipe_signal, nullptr, &at_once) < 0 && errno == EINTR) {
    }
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return n;
}

}  // namespace

Task<std::size_t> ChildStream::read(std::span<char> into) {
  for (;;) {
    if (ended_) {
      const auto n = std::min(into.size(), left_.size());
      std::memcpy(into.data(), left_.data(), n);
      left_.erase(0, n);
      co_return n;
    }
    if (fd_.get() < 0) throw Error(Code::Unavailable, "connection closed");
    const auto n = ::read(fd_.get(), into.data(), into.size());
    if (n >= 0) co_return static_cast<std::size_t>(n);
    if (errno == EIO && kind_ == Kind::Terminal) co_return 0;  // nobody has it open any more
    if (errno == EINTR) continue;
    if (errno != EAGAIN) throw errno_error("read the output of a program", errno);
    try {
      co_await fd_.readable();
    } catch (const Error&) {
      if (!ended_) throw;
    }
  }
}

Task<> ChildStream::write(std::string_view bytes) {
  while (!bytes.empty()) {
    if (fd_.get() < 0) throw Error(Code::Unavailable, "connection closed");
    const auto n = write_without_signal(fd_.get(), bytes);
    if (n >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno == EAGAIN) {
      co_await fd_.writable();
    } else if (errno != EINTR) {
      throw errno_error("write to a program", errno);
    }
  }
}

Task<> ChildStream::shutdown() {
  if (kind_ == Kind::Pipe) fd_.close();
  co_return;
}

void ChildStream::close() noexcept { fd_.close(); }

void ChildStream::child_ended() noexcept {
  if (fd_.get() < 0 || ended_) return;
  ended_ = true;
  std::array<char, 16384> buffer;
  while (left_.size() < kMaxLeft) {
    const auto n = ::read(fd_.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    left_.append(buffer.data(), static_cast<std::size_t>(n));
  }
  fd_.close();
}

ChildPipe::ChildPipe(Ours which) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw errno_error("pipe", errno, Code::Internal);
  const auto our_end = which == Ours::ReadEnd ? 0U : 1U;
  theirs = ends[1 - our_end];
  ours = Fd(ends[our_end]);
}

ChildPipe::~ChildPipe() { close_theirs(); }

void ChildPipe::close_theirs() {
  if (theirs >= 0) ::close(std::exchange(theirs, -1));
}

}  // namespace kopper::rt
