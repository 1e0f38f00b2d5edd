#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "kopper/client/pod_io.h"
#include "kopper/client/request.h"

namespace kopper::client {
namespace {

// Channel 0 carries the bytes, channel 1 one line of what went wrong. The first message on each is the port, two bytes.
class ForwardedPort final : public rt::Stream {
 public:
  ForwardedPort(std::unique_ptr<http::WebSocket> socket, std::string name)
      : socket_(std::move(socket)), name_(std::move(name)) {}

  Task<std::size_t> read(std::span<char> into) override {
    while (left_.empty()) {
      auto message = co_await interruptible(&reading_, receive());
      if (!message) co_return 0;
      take(std::move(message->data));
    }
    const auto count = std::min(left_.size(), into.size());
    std::memcpy(into.data(), left_.data(), count);
    left_.remove_prefix(count);
    co_return count;
  }

  Task<> write(std::string_view bytes) override {
    constexpr std::size_t kPiece = std::size_t{32} << 10U;
    while (!bytes.empty()) {
      http::WsMessage message;
      message.data = '\0' + std::string(bytes.substr(0, kPiece));
      bytes.remove_prefix(std::min(bytes.size(), kPiece));
      co_await interruptible(&writing_, send(std::move(message)));
    }
  }

  Task<> shutdown() override {
    if (!closed_) co_await socket_->close();
  }

  void close() noexcept override {
    closed_ = true;
    if (reading_ != nullptr) reading_->cancel();
    if (writing_ != nullptr) writing_->cancel();
    release();
  }

 private:
  Task<std::optional<http::WsMessage>> receive() { co_return co_await socket_->receive(); }

  Task<bool> send(http::WsMessage message) {
    co_await socket_->send(std::move(message));
    co_return true;
  }

  // Runs an operation that close() can end. The socket goes when the last one is over.
  template <class T>
  Task<T> interruptible(rt::Activity** running, Task<T> operation) {
    if (closed_) throw closed();
    rt::Activity& caller = co_await rt::this_activity();
    rt::Activity inner(&caller);
    const Task<T> task = std::move(operation);
    *running = &inner;
    const Pending pending{this, running};
    try {
      co_return co_await task.in(inner);
    } catch (const Cancelled&) {
      if (caller.cancelled() || !closed_) throw;
    }
    throw closed();
  }

  struct Pending {
    ForwardedPort* port;
    rt::Activity** running;
    ~Pending() {
      *running = nullptr;
      port->release();
    }
  };

  void release() noexcept {
    if (closed_ && reading_ == nullptr && writing_ == nullptr) socket_.reset();
  }

  Error closed() const { return Error(Code::Unavailable, name_ + ": closed"); }

  void take(std::string message) {
    if (message.size() < 2) return;
    const auto channel = static_cast<unsigned char>(message[0]);
    if (channel > 1) return;
    if (!std::exchange(opened_[channel], true)) {
      message.erase(1, 2);  // the port; what follows it in the same message counts
      if (message.size() < 2) return;
    }
    if (channel == 1) throw Error(Code::Unavailable, fmt::format("{}: {}", name_, message.substr(1)));
    data_ = std::move(message);
    left_ = std::string_view(data_).substr(1);
  }

  std::unique_ptr<http::WebSocket> socket_;
  std::string name_;
  std::string data_;
  std::string_view left_;  // of data_
  rt::Activity* reading_ = nullptr;
  rt::Activity* writing_ = nullptr;
  bool closed_ = false;
  bool opened_[2] = {false, false};
};

Task<std::unique_ptr<rt::Stream>> opened(Client client, http::Request request, std::string name) {
  std::vector<std::string> protocols{"v4.channel.k8s.io"};
  auto socket = co_await client.connect(std::move(request), std::move(protocols));
  co_return std::make_unique<ForwardedPort>(std::move(socket), std::move(name));
}

}  // namespace

Task<std::unique_ptr<rt::Stream>> port_forward(Client client, Key pod, std::uint16_t port) {
  auto name = fmt::format("port {} of pod {}", port, pod.str());
  return opened(std::move(client), port_forward_request(pod, {port}), std::move(name));
}

}  // namespace kopper::client
