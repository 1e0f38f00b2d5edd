#include "kopper/http/handler.h"

#include <deque>

#include "kopper/base/error.h"
#include "kopper/http/detail/signal.h"

namespace kopper::http {
namespace {

constexpr std::size_t kInFlight = std::size_t{1} << 20U;

// What goes from one end to the other.
struct Lane {
  std::deque<WsMessage> messages;
  std::size_t bytes = 0;
  bool closed = false;  // the sender said good-bye
  bool broken = false;  // one of the ends is gone
  detail::Signal readable;
  detail::Signal writable;

  void break_off() {
    broken = true;
    readable.notify();
    writable.notify();
  }
};

struct Lanes {
  Lane lanes[2];
  std::string subprotocol;
};

class PairEnd final : public WebSocket {
 public:
  PairEnd(std::shared_ptr<Lanes> lanes, int side)
      : lanes_(std::move(lanes)), in_(lanes_->lanes[side]), out_(lanes_->lanes[1 - side]) {}
  ~PairEnd() override {
    in_.break_off();
    out_.break_off();
  }

  std::string_view subprotocol() const override { return lanes_->subprotocol; }

  Task<std::optional<WsMessage>> receive() override {
    while (in_.messages.empty()) {
      if (in_.closed) co_return std::nullopt;
      if (in_.broken) throw Error(Code::Unavailable, "the WebSocket broke off");
      co_await in_.readable.wait();
    }
    WsMessage message = std::move(in_.messages.front());
    in_.messages.pop_front();
    in_.bytes -= message.data.size();
    in_.writable.notify();
    co_return message;
  }

  Task<> send(WsMessage message) override {
    while (out_.bytes >= kInFlight && !out_.broken) co_await out_.writable.wait();
    if (out_.closed || out_.broken) throw Error(Code::Unavailable, "the WebSocket is closed");
    out_.bytes += message.data.size();
    out_.messages.push_back(std::move(message));
    out_.readable.notify();
  }

  Task<> close() override {
    out_.closed = true;
    out_.readable.notify();
    co_return;
  }

 private:
  std::shared_ptr<Lanes> lanes_;  // the last end to go takes it along
  Lane& in_;
  Lane& out_;
};

}  // namespace

std::pair<std::unique_ptr<WebSocket>, std::unique_ptr<WebSocket>> websocket_pair(std::string subprotocol) {
  auto lanes = std::make_shared<Lanes>();
  lanes->subprotocol = std::move(subprotocol);
  return {std::make_unique<PairEnd>(lanes, 0), std::make_unique<PairEnd>(lanes, 1)};
}

Task<std::unique_ptr<WebSocket>> Handler::connect(Request request, std::vector<std::string> /*subprotocols*/) {
  Error refused(Code::Unsupported, "no WebSocket at " + request.target);
  refused.http_status = 400;
  throw refused;
  co_return nullptr;
}

}  // namespace kopper::http
