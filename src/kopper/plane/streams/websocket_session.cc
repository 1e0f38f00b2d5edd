#include "kopper/plane/streams/websocket_session.h"

#include <algorithm>
#include <array>

#include "kopper/base/error.h"
#include "kopper/rt/channel.h"
#include "kopper/rt/scope.h"

namespace kopper::plane {
namespace {

constexpr std::string_view kV5 = "v5.channel.k8s.io";
constexpr std::string_view kV4 = "v4.channel.k8s.io";
constexpr std::string_view kV1 = "channel.k8s.io";

enum Channel : std::uint8_t { kInput = 0, kOutput = 1, kErrors = 2, kStatus = 3, kResize = 4, kClose = 255 };

// What a program has not read yet of its input. A client that sends more is not read any further.
constexpr std::size_t kUnread = std::size_t{1} << 20U;
// So often it is then asked whether it is still there.
constexpr auto kHeartbeat = std::chrono::seconds(30);

class WebSocketSession final : public RemoteSession {
 public:
  WebSocketSession(std::unique_ptr<http::WebSocket> socket, CommandOptions options)
      : socket_(std::move(socket)), output_(*this, kOutput), errors_(*this, kErrors) {
    if (options.input) {
      auto [ours, theirs] = rt::pipe(kUnread);
      input_ = std::move(ours);
      input_end_ = std::move(theirs);
      input = input_end_.get();
    }
    auto [ours, theirs] = rt::pipe();
    sizes_ = std::move(ours);
    sizes_end_ = std::move(theirs);
    resize = sizes_end_.get();
    if (options.output) output = &output_;
    if (options.errors) errors = &errors_;
    // So the client knows that it is connected before there is any output.
    const Channel lowest = options.output ? kOutput : options.errors ? kErrors : kStatus;
    tasks_.spawn(receive(lowest));
    if (options.input) tasks_.spawn(look_after(lowest));
  }

  Task<> closed() override { return gone_.wait(); }

  Task<> finish(std::string status) override {
    if (socket_->subprotocol() != kV5 && socket_->subprotocol() != kV4) status = in_words(status);
    if (!status.empty()) co_await send(kStatus, status);
    co_await socket_->close();
  }

 private:
  class Output final : public rt::Stream {
   public:
    Output(WebSocketSession& session, Channel channel) : session_(session), channel_(channel) {}
    Task<std::size_t> read(std::span<char>) override { co_return 0; }
    Task<> write(std::string_view bytes) override { return session_.send(channel_, bytes); }
    Task<> shutdown() override { co_return; }
    void close() noexcept override {}

   private:
    WebSocketSession& session_;
    const Channel channel_;
  };

  // Both outputs may have something at the same time. outlives: `bytes`, says Stream::write()
  Task<> send(Channel channel, std::string_view bytes) {
    const auto turn = co_await sending_.acquire();
    http::WsMessage message;
    message.data.reserve(bytes.size() + 1);
    message.data.push_back(static_cast<char>(channel));
    message.data += bytes;
    co_await socket_->send(std::move(message));
  }

  Task<> receive(Channel greeting) {
    try {
      co_await send(greeting, "");
      while (auto message = co_await socket_->receive()) co_await take(std::move(message->data));
    } catch (const Error&) {
      // the client is gone all the same
    }
    gone_.set();
  }

  // While a program does not read, nothing is received, not even that the client is gone: what is sent tells.
  Task<> look_after(Channel channel) {
    try {
      for (;;) {
        co_await rt::sleep(kHeartbeat);
        if (held_up_) co_await send(channel, "");
      }
    } catch (const Error&) {
      gone_.set();
    }
  }

  Task<> take(std::string message) {
    if (message.empty()) co_return;
    const auto channel = static_cast<std::uint8_t>(message.front());
    const std::string_view bytes = std::string_view(message).substr(1);
    try {
      held_up_ = channel == kInput;
      if (channel == kInput && input_ != nullptr) co_await input_->write(bytes);
      if (channel == kResize) co_await sizes_->write(bytes);
      const bool end = channel == kClose && socket_->subprotocol() == kV5 && bytes == std::string_view("\0", 1);
      if (end && input_ != nullptr) co_await input_->shutdown();
    } catch (const Error&) {
      // nobody reads it any more
    }
    held_up_ = false;
  }

  const std::unique_ptr<http::WebSocket> socket_;
  Output output_;
  Output errors_;
  std::unique_ptr<rt::Stream> input_;
  std::unique_ptr<rt::Stream> input_end_;
  std::unique_ptr<rt::Stream> sizes_;
  std::unique_ptr<rt::Stream> sizes_end_;
  rt::Semaphore sending_{1};
  bool held_up_ = false;
  rt::Event gone_;
  rt::Scope tasks_;
};

}  // namespace

std::optional<std::string> command_protocol(const std::vector<std::string>& offered) {
  if (offered.empty()) return std::string();
  for (const auto& one : offered)
    if (one == kV5 || one == kV4 || one == kV1) return one;
  return std::nullopt;
}

std::unique_ptr<RemoteSession> websocket_session(std::unique_ptr<http::WebSocket> socket, CommandOptions options) {
  return std::make_unique<WebSocketSession>(std::move(socket), options);
}

}  // namespace kopper::plane
