#include "kopper/http/spdy.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>

#include "kopper/base/error.h"
#include "kopper/base/log.h"
#include "kopper/http/detail/spdy_frames.h"
#include "kopper/rt/channel.h"
#include "kopper/rt/scope.h"

namespace kopper::http {
namespace {

using detail::SpdyDecoder;
using detail::SpdyEncoder;
using detail::SpdyFrame;

constexpr std::size_t kMaxData = std::size_t{32} << 10U;  // of one frame
constexpr std::size_t kUnsent = std::size_t{256} << 10U;  // who wants to write more waits
constexpr std::uint32_t kWindowStep = std::uint32_t{32} << 10U;
constexpr auto kHeartbeat = std::chrono::seconds(30);
constexpr std::uint32_t kRefused = 3;
constexpr std::uint32_t kCancel = 5;

// Shared by the session, which fills it, and the stream that the user holds.
struct Lane {
  std::uint32_t id = 0;
  Headers headers;
  std::string unread;
  std::size_t taken = 0;   // of unread
  std::uint32_t owed = 0;  // read, and not told to the client yet
  bool ended = false;      // the client's side
  bool ours_ended = false;
  bool reset = false;
  rt::Event readable;

  std::size_t left() const { return unread.size() - taken; }
};

}  // namespace

class SpdySession::Core : public std::enable_shared_from_this<Core> {
 public:
  Core(std::unique_ptr<rt::Stream> stream, SpdyOptions options) : options_(options), stream_(std::move(stream)) {}

  void start() {
    tasks_.spawn(read_loop());
    tasks_.spawn(write_loop());
    tasks_.spawn(look_after());
  }

  // Wakes all who wait; they find the connection ended.
  void end() noexcept {
    if (std::exchange(over_, true)) return;
    stream_->close();
    for (auto& [id, lane] : lanes_) lane->readable.set();
    opened_.close();
    ended_.set();
    sent_.set();
    unsent_more_.set();
    read_some_.set();
  }

  void queue(std::string_view frame) {
    if (over_) return;
    unsent_ += frame;
    unsent_more_.set();
  }

  Task<> room() {
    while (!over_ && unsent_.size() > kUnsent) {
      sent_.reset();
      co_await sent_.wait();
    }
    if (over_) throw Error(Code::Unavailable, "SPDY: the connection has ended");
  }

  Task<> flushed() {
    while (!over_ && (!unsent_.empty() || writing_)) {
      sent_.reset();
      co_await sent_.wait();
    }
  }

  void consumed(Lane& lane, std::size_t bytes) {
    unread_ -= bytes;
    read_some_.set();
    lane.owed += static_cast<std::uint32_t>(bytes);
    if (lane.owed < kWindowStep) return;
    queue(SpdyEncoder::window_update(lane.id, lane.owed));
    queue(SpdyEncoder::window_update(0, lane.owed));
    lane.owed = 0;
  }

  void forget(Lane& lane) {
    unread_ -= lane.left();
    read_some_.set();
    if (!lane.reset && !(lane.ended && lane.ours_ended)) queue(SpdyEncoder::reset(lane.id, kCancel));
    lanes_.erase(lane.id);
  }

  bool over() const { return over_; }
  std::uint32_t last_stream() const { return last_; }
  rt::Channel<std::unique_ptr<SpdyStream>>& opened() { return opened_; }
  rt::Event& ended() { return ended_; }
  void stop() { tasks_.cancel(); }

 private:
  Task<> read_loop() {
    SpdyDecoder decoder{SpdyDecoder::Limits{}};
    std::string buffer(kMaxData, '\0');
    try {
      for (bool more = true; more;) {
        const std::size_t n = co_await stream_->read(buffer);
        if (n == 0) break;
        decoder.feed(std::string_view(buffer).substr(0, n));
        more = take(decoder);
        co_await room();  // a peer that asks and does not read the answers
        while (!over_ && unread_ > options_.max_unread) {
          held_up_ = true;
          read_some_.reset();
          co_await read_some_.wait();
        }
        held_up_ = false;
      }
    } catch (const Error& error) {
      log::debug("a SPDY connection broke off", {{"error", error.what()}});
    }
    end();
  }

  // While nobody reads, nothing is received, not even that the client is gone: what is sent tells.
  Task<> look_after() {
    for (std::uint32_t id = 2;; id += 2) {
      co_await rt::sleep(kHeartbeat);
      if (held_up_) queue(SpdyEncoder::ping(id));
    }
  }

  // False when the connection is to end.
  bool take(SpdyDecoder& decoder) {
    for (;;) {
      auto frame = decoder.next();
      if (!frame) {
        log::debug("not SPDY", {{"error", frame.error().what}});
        return false;
      }
      if (!*frame) return true;
      if (!take(std::move(**frame))) return false;
    }
  }

  bool take(SpdyFrame frame) {
    switch (frame.type) {
      case SpdyFrame::kSynStream: return open(std::move(frame));
      case SpdyFrame::kData: append(frame); return true;
      case SpdyFrame::kRstStream: reset(frame.stream); return true;
      case SpdyFrame::kPing:
        if (frame.number % 2 == 1) queue(SpdyEncoder::ping(frame.number));
        return true;
      case SpdyFrame::kGoAway: return false;
      default: return true;
    }
  }

  bool open(SpdyFrame frame);

  void append(const SpdyFrame& frame) {
    const auto at = lanes_.find(frame.stream);
    if (at == lanes_.end()) return;  // one that we have reset
    Lane& lane = *at->second;
    if (lane.ended) return;
    lane.unread.erase(0, std::exchange(lane.taken, 0));
    lane.unread += frame.data;
    unread_ += frame.data.size();
    lane.ended = (frame.flags & SpdyFrame::kFin) != 0;
    lane.readable.set();
  }

  void reset(std::uint32_t id) {
    const auto at = lanes_.find(id);
    if (at == lanes_.end()) return;
    at->second->reset = true;
    at->second->readable.set();
  }

  Task<> write_loop() {
    try {
      for (;;) {
        while (!over_ && unsent_.empty()) {
          unsent_more_.reset();
          co_await unsent_more_.wait();
        }
        if (over_) co_return;
        const std::string bytes = std::exchange(unsent_, {});
        writing_ = true;
        co_await stream_->write(bytes);
        writing_ = false;
        sent_.set();
      }
    } catch (const Error&) {
      end();
    }
  }

  const SpdyOptions options_;
  const std::unique_ptr<rt::Stream> stream_;
  SpdyEncoder encoder_;
  std::map<std::uint32_t, std::shared_ptr<Lane>> lanes_;
  std::uint32_t last_ = 0;
  std::size_t unread_ = 0;
  std::string unsent_;
  bool writing_ = false;
  bool held_up_ = false;
  bool over_ = false;
  rt::Event sent_;
  rt::Event unsent_more_;
  rt::Event read_some_;
  rt::Event ended_;
  rt::Channel<std::unique_ptr<SpdyStream>> opened_{SIZE_MAX};  // as many as lanes_
  rt::Scope tasks_;
};

namespace {

class StreamOfSession final : public SpdyStream {
 public:
  StreamOfSession(std::shared_ptr<SpdySession::Core> core, std::shared_ptr<Lane> lane)
      : core_(std::move(core)), lane_(std::move(lane)) {}
  ~StreamOfSession() override { core_->forget(*lane_); }

  std::uint32_t id() const override { return lane_->id; }
  const Headers& headers() const override { return lane_->headers; }

  Task<std::size_t> read(std::span<char> into) override {
    for (;;) {
      if (lane_->left() > 0) {
        const std::size_t n = std::min(into.size(), lane_->left());
        std::memcpy(into.data(), lane_->unread.data() + lane_->taken, n);
        lane_->taken += n;
        core_->consumed(*lane_, n);
        co_return n;
      }
      check();
      if (lane_->ended) co_return 0;
      lane_->readable.reset();
      co_await lane_->readable.wait();
    }
  }

  Task<> write(std::string_view bytes) override {
    while (!bytes.empty()) {
      co_await core_->room();
      check();
      const auto part = bytes.substr(0, kMaxData);
      core_->queue(SpdyEncoder::data(lane_->id, part, false));
      bytes.remove_prefix(part.size());
    }
  }

  Task<> shutdown() override {
    if (lane_->ours_ended) co_return;
    check();
    lane_->ours_ended = true;
    core_->queue(SpdyEncoder::data(lane_->id, "", true));
  }

  void close() noexcept override {
    if (std::exchange(lane_->reset, true)) return;
    core_->queue(SpdyEncoder::reset(lane_->id, kCancel));
    lane_->readable.set();
  }

 private:
  void check() const {
    if (lane_->reset) throw Error(Code::Unavailable, "SPDY: the stream was reset");
    if (core_->over() && !lane_->ended) throw Error(Code::Unavailable, "SPDY: the connection has ended");
  }

  const std::shared_ptr<SpdySession::Core> core_;
  const std::shared_ptr<Lane> lane_;
};

}  // namespace

bool SpdySession::Core::open(SpdyFrame frame) {
  if (frame.stream % 2 == 0 || frame.stream <= last_) return false;
  last_ = frame.stream;
  if (lanes_.size() >= options_.max_streams) {
    queue(SpdyEncoder::reset(frame.stream, kRefused));
    return true;
  }
  auto lane = std::make_shared<Lane>();
  lane->id = frame.stream;
  lane->headers = std::move(frame.headers);
  lane->ended = (frame.flags & SpdyFrame::kFin) != 0;
  lanes_.emplace(lane->id, lane);
  queue(encoder_.syn_reply(lane->id, Headers()));
  opened_.try_send(std::make_unique<StreamOfSession>(shared_from_this(), std::move(lane)));
  return true;
}

SpdySession::SpdySession(std::unique_ptr<rt::Stream> stream, SpdyOptions options)
    : core_(std::make_shared<Core>(std::move(stream), options)) {
  core_->start();
}

// What nobody accepted holds the core.
SpdySession::~SpdySession() {
  core_->stop();
  core_->end();
  while (core_->opened().try_receive()) {
  }
}

Task<std::unique_ptr<SpdyStream>> SpdySession::accept() {
  auto found = co_await core_->opened().receive();
  co_return found ? std::move(*found) : nullptr;
}

Task<> SpdySession::closed() { return core_->ended().wait(); }

Task<> SpdySession::close() {
  core_->queue(SpdyEncoder::goaway(core_->last_stream()));
  co_await core_->flushed();
  core_->end();
}

}  // namespace kopper::http
