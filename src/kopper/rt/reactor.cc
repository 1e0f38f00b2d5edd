#include "kopper/rt/detail/reactor.h"

#include <cerrno>
#include <utility>

#include <sys/eventfd.h>
#include <unistd.h>

#include "kopper/rt/detail/fd.h"

namespace kopper::rt {

Reactor::Reactor() : epoll_(::epoll_create1(EPOLL_CLOEXEC)), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;
  event.data.ptr = nullptr;
  if (epoll_ < 0 || wake_ < 0 || ::epoll_ctl(epoll_, EPOLL_CTL_ADD, wake_, &event) != 0) {
    throw errno_error("event loop", errno, Code::Internal);
  }
}

Reactor::~Reactor() {
  ::close(wake_);
  ::close(epoll_);
}

int Reactor::add(int fd, Watched& watched) noexcept {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.ptr = &watched;
  return ::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : errno;
}

void Reactor::remove(int fd, Watched& watched) noexcept {
  ::epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
  for (auto i = next_; i < count_; ++i) {
    if (batch_[i].data.ptr == &watched) batch_[i].data.ptr = nullptr;
  }
}

int Reactor::ask(TimePoint until) {
  const auto size = static_cast<int>(batch_.size());
  if (until == TimePoint::max()) return ::epoll_wait(epoll_, batch_.data(), size, -1);
  const auto left = until == TimePoint::min() ? Duration::zero() : until - std::chrono::steady_clock::now();
  if (left <= Duration::zero()) return ::epoll_wait(epoll_, batch_.data(), size, 0);
  const auto seconds = std::chrono::floor<std::chrono::seconds>(left);
  const timespec time{.tv_sec = seconds.count(), .tv_nsec = (left - seconds).count()};
  const int found = ::epoll_pwait2(epoll_, batch_.data(), size, &time, nullptr);
  if (found >= 0 || errno != ENOSYS) return found;
  // A kernel before 5.11: milliseconds, rounded up lest a timer be found not yet due over and over.
  const auto milliseconds =
      std::chrono::ceil<std::chrono::milliseconds>(std::min<Duration>(left, std::chrono::hours(1)));
  return ::epoll_wait(epoll_, batch_.data(), size, static_cast<int>(milliseconds.count()));
}

bool Reactor::wait(TimePoint until) {
  const int found = ask(until);
  if (found < 0 && errno != EINTR) throw errno_error("event loop", errno, Code::Internal);
  count_ = found > 0 ? static_cast<std::size_t>(found) : 0;
  for (next_ = 0; next_ < count_;) {
    const auto& event = batch_[next_++];
    if (event.data.ptr != nullptr) static_cast<Watched*>(event.data.ptr)->on_events(event.events);
  }
  next_ = count_ = 0;
  return found > 0;
}

// The counter is never read: each write is an edge of its own.
void Reactor::wake() const noexcept { ::eventfd_write(wake_, 1); }

}  // namespace kopper::rt
