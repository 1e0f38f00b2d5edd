#include "kopper/rt/detail/fd.h"

#include <array>
#include <cerrno>
#include <system_error>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>

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

// Shared with Asio's handlers, which may come after the Fd and the waiting frame are gone. A wait that is given up
// stays with Asio: the next one on that side joins it.
struct Fd::State : std::enable_shared_from_this<State> {
  explicit State(int fd) : descriptor(Loop::current().impl().io) {
    boost::system::error_code error;
    descriptor.assign(fd, error);
    if (!error) descriptor.native_non_blocking(true, error);
    if (!error) return;
    if (!descriptor.is_open()) ::close(fd);
    throw errno_error("wait for a descriptor", error.value(), Code::Internal);
  }

  void arm(Side side) {
    if (std::exchange(armed[side], true)) return;
    const auto what = side == kRead ? descriptor.wait_read : descriptor.wait_write;
    descriptor.async_wait(what, [self = shared_from_this(), side](const boost::system::error_code&) {
      self->armed[side] = false;
      if (auto* ready = std::exchange(self->waiting[side], nullptr)) ready->finish();
    });
  }

  asio::posix::stream_descriptor descriptor;
  std::array<Ready*, 2> waiting{};
  std::array<bool, 2> armed{};
};

Fd::Fd(int fd) : state_(std::make_shared<State>(fd)) {}

Fd::~Fd() {
  if (!state_) return;
  state_->waiting = {};
  close();
}

Fd& Fd::operator=(Fd&& other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}

int Fd::get() const { return state_ && state_->descriptor.is_open() ? state_->descriptor.native_handle() : -1; }

void Fd::close() noexcept {
  if (!state_) return;
  boost::system::error_code ignored;
  state_->descriptor.close(ignored);
}

int Fd::release() { return state_->descriptor.release(); }

Fd::Ready::~Ready() {
  if (pending()) withdraw();
}

void Fd::Ready::start() {
  if (!state_->descriptor.is_open()) return finish();
  if (state_->waiting[side_] != nullptr) throw Error(Code::Internal, "two reads or two writes at once on a stream");
  state_->waiting[side_] = this;
  state_->arm(side_);
}

void Fd::Ready::withdraw() noexcept { state_->waiting[side_] = nullptr; }

void Fd::Ready::await_resume() const {
  throw_if_cancelled();
  if (!state_->descriptor.is_open()) throw Error(Code::Unavailable, "connection closed");
}

}  // namespace kopper::rt
