#include "kopper/rt/stream.h"

#include <algorithm>

#include "kopper/base/error.h"
#include "kopper/rt/wait_list.h"

namespace kopper::rt {

// outlives: both, says the header
Task<> read_exactly(Stream& stream, std::span<char> into) {
  while (!into.empty()) {
    const auto n = co_await stream.read(into);
    if (n == 0) throw Error(Code::Unavailable, "connection closed by the peer");
    into = into.subspan(n);
  }
}

namespace {

// One direction of a pipe.
struct Half {
  explicit Half(std::size_t most) : capacity(most) {}

  std::size_t size() const { return bytes.size() - taken; }
  void end() noexcept {
    ended = true;
    changed();
  }
  void changed() noexcept {
    readers.wake_all();
    writers.wake_all();
  }

  const std::size_t capacity;
  std::string bytes;
  std::size_t taken = 0;
  bool ended = false;      // no more will be written
  bool abandoned = false;  // nobody will read
  WaitList readers;
  WaitList writers;
};

class PipeEnd final : public Stream {
 public:
  PipeEnd(std::shared_ptr<Half> in, std::shared_ptr<Half> out) : in_(std::move(in)), out_(std::move(out)) {}
  ~PipeEnd() override { close(); }

  Task<std::size_t> read(std::span<char> into) override {
    auto& half = *in_;
    while (half.size() == 0 && !half.ended && !closed_) co_await Waiter(half.readers);
    if (closed_) throw Error(Code::Unavailable, "connection closed");
    const auto n = std::min(half.size(), into.size());
    std::copy_n(half.bytes.data() + half.taken, n, into.data());
    half.taken += n;
    if (half.size() == 0) {
      half.bytes.clear();
      half.taken = 0;
    }
    half.writers.wake_all();
    co_return n;
  }

  Task<> write(std::string_view bytes) override {
    auto& half = *out_;
    while (!bytes.empty()) {
      while (half.size() >= half.capacity && !half.abandoned && !half.ended) co_await Waiter(half.writers);
      if (half.abandoned || half.ended) throw Error(Code::Unavailable, "connection closed");
      const auto n = std::min(half.capacity - half.size(), bytes.size());
      half.bytes.erase(0, std::exchange(half.taken, 0));
      half.bytes.append(bytes.substr(0, n));
      bytes.remove_prefix(n);
      half.readers.wake_all();
    }
  }

  Task<> shutdown() override {
    out_->end();
    co_return;
  }

  void close() noexcept override {
    closed_ = true;
    in_->abandoned = true;
    in_->changed();
    out_->end();
  }

 private:
  std::shared_ptr<Half> in_;
  std::shared_ptr<Half> out_;
  bool closed_ = false;
};

}  // namespace

std::pair<std::unique_ptr<Stream>, std::unique_ptr<Stream>> pipe(std::size_t capacity) {
  auto forth = std::make_shared<Half>(capacity);
  auto back = std::make_shared<Half>(capacity);
  return {std::make_unique<PipeEnd>(back, forth), std::make_unique<PipeEnd>(forth, back)};
}

}  // namespace kopper::rt
