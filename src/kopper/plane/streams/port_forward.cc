#include "kopper/plane/streams/port_forward.h"

#include <charconv>
#include <map>
#include <optional>
#include <tuple>

#include <fmt/format.h>

#include "kopper/base/error.h"
#include "kopper/rt/channel.h"
#include "kopper/rt/scope.h"

namespace kopper::plane {
namespace {

constexpr std::size_t kChunk = std::size_t{32} << 10U;
constexpr std::size_t kUnread = std::size_t{1} << 20U;

// One connection to a pod, as a client asks for it.
struct Pair {
  std::unique_ptr<http::SpdyStream> data;
  std::unique_ptr<http::SpdyStream> error;
};

Task<> copy(rt::Stream* from, rt::Stream* to) {
  std::string buffer(kChunk, '\0');
  for (;;) {
    const std::size_t n = co_await from->read(buffer);
    if (n == 0) break;
    co_await to->write(std::string_view(buffer).substr(0, n));
  }
  co_await to->shutdown();
}

std::string failure(std::uint16_t port, const ContainerRef& pod, std::string_view why) {
  return fmt::format("error forwarding port {} to pod {}, uid {}: {}", port, pod.pod.name, pod.uid, why);
}

// What the pod says, to its end. That is the end of the connection: older clients wait for it before they close theirs.
Task<> copy_back(rt::Stream* server, rt::Stream* client, rt::Scope* scope) {
  co_await copy(server, client);
  scope->cancel();
}

// Connects and carries until the pod has said all, or one side broke off. The text says what went wrong; empty:
// nothing.
Task<std::string> carry(rt::Stream* client, std::uint16_t port, PodHost* host, ContainerRef pod) {
  std::unique_ptr<rt::Stream> server;
  try {
    auto dialling = host->dial(pod, port);
    server = co_await dialling;
  } catch (const Error& error) {
    co_return failure(port, pod, error.what());
  }
  rt::Scope scope;
  scope.spawn(copy(client, server.get()));
  scope.spawn(copy_back(server.get(), client, &scope));
  try {
    co_await scope.join();
  } catch (const Error&) {
    // one side broke off: so does the other
  }
  co_return std::string();
}

Task<> forward(Pair pair, std::uint16_t port, PodHost* host, ContainerRef pod) {
  const Pair held = std::move(pair);
  try {
    const std::string why = co_await carry(held.data.get(), port, host, std::move(pod));
    if (!why.empty()) co_await held.error->write(why);
    co_await held.error->shutdown();
    if (why.empty()) co_await held.data->shutdown();
  } catch (const Error&) {
    // the client is gone, or did not want to know
  }
}

// The older clients send no requestid: their streams come in pairs, error first.
std::string request_of(const http::SpdyStream& stream, bool is_error) {
  if (const auto id = stream.headers().get("requestid")) return std::string(*id);
  return fmt::format("#{}", is_error ? stream.id() : stream.id() - 2);
}

Task<> tunnel_in(http::WebSocket* socket, rt::Stream* stream) {
  try {
    while (auto message = co_await socket->receive()) co_await stream->write(message->data);
  } catch (const Error&) {
    // the end all the same
  }
  stream->close();
}

Task<> tunnel_out(rt::Stream* stream, http::WebSocket* socket) {
  std::string buffer(kChunk, '\0');
  try {
    for (;;) {
      const std::size_t n = co_await stream->read(buffer);
      if (n == 0) break;
      http::WsMessage message;
      message.data = buffer.substr(0, n);
      co_await socket->send(std::move(message));
    }
    co_await socket->close();
  } catch (const Error&) {
    // the client is gone
  }
}

// One port of forward_channels().
class PortChannel final : public rt::Stream {
 public:
  PortChannel(http::WebSocket& socket, rt::Semaphore& sending, std::uint8_t channel, std::uint16_t number)
      : port(number), socket_(socket), sending_(sending), channel_(channel) {
    std::tie(received, unread_) = rt::pipe(kUnread);
  }

  Task<std::size_t> read(std::span<char> into) override { return unread_->read(into); }
  Task<> write(std::string_view bytes) override { return send(channel_, bytes); }
  Task<> shutdown() override { co_return; }
  void close() noexcept override { unread_->close(); }

  // outlives: `text`, awaited at once
  Task<> send_error(std::string_view text) { return send(static_cast<std::uint8_t>(channel_ + 1), text); }

  const std::uint16_t port;
  std::unique_ptr<rt::Stream> received;

 private:
  // outlives: `bytes`, says Stream::write()
  Task<> send(std::uint8_t channel, std::string_view bytes) {
    const auto turn = co_await sending_.acquire();
    http::WsMessage message;
    message.data.push_back(static_cast<char>(channel));
    message.data += bytes;
    co_await socket_.send(std::move(message));
  }

  http::WebSocket& socket_;
  rt::Semaphore& sending_;
  const std::uint8_t channel_;
  std::unique_ptr<rt::Stream> unread_;
};

Task<> forward_channel(PortChannel* channel, PodHost* host, ContainerRef pod) {
  const std::string port{static_cast<char>(channel->port & 0xffU), static_cast<char>(channel->port >> 8U)};
  co_await channel->write(port);
  co_await channel->send_error(port);
  const std::string why = co_await carry(channel, channel->port, host, std::move(pod));
  if (!why.empty()) co_await channel->send_error(why);
}

Task<> receive_channels(http::WebSocket* socket, std::vector<std::unique_ptr<PortChannel>>* channels) {
  while (auto message = co_await socket->receive()) {
    if (message->data.empty()) continue;
    const std::size_t channel = static_cast<std::uint8_t>(message->data.front());
    if (channel % 2 != 0 || channel / 2 >= channels->size()) continue;
    try {
      co_await (*channels)[channel / 2]->received->write(std::string_view(message->data).substr(1));
    } catch (const Error&) {
      // that connection has ended
    }
  }
}

Task<> all_channels(std::vector<std::unique_ptr<PortChannel>>* channels, http::WebSocket* socket, PodHost* host,
                    ContainerRef pod) {
  rt::Scope scope;
  for (const auto& channel : *channels) scope.spawn(forward_channel(channel.get(), host, pod));
  co_await scope.join();
  co_await socket->close();  // the client answers, and so ends receive_channels()
}

}  // namespace

std::optional<std::uint16_t> port_of(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size() || port == 0) return std::nullopt;
  return port;
}

Task<> forward_spdy(std::unique_ptr<http::SpdySession> session, PodHost* host, ContainerRef pod) {
  const auto held = std::move(session);
  std::map<std::string, Pair, std::less<>> waiting;
  rt::Scope scope;
  while (auto stream = co_await held->accept()) {
    const auto port = port_of(stream->headers().get("port").value_or(""));
    const std::string_view type = stream->headers().get("streamtype").value_or("");
    if (!port || (type != "data" && type != "error")) continue;  // and is reset
    const std::string id = request_of(*stream, type == "error");
    Pair& pair = waiting[id];
    (type == "error" ? pair.error : pair.data) = std::move(stream);
    if (pair.data == nullptr || pair.error == nullptr) continue;
    Pair whole = std::move(pair);
    waiting.erase(id);
    scope.spawn(forward(std::move(whole), *port, host, pod));
  }
}

Task<> forward_tunnel(std::unique_ptr<http::WebSocket> socket, PodHost* host, ContainerRef pod) {
  const auto held = std::move(socket);
  auto [ours, theirs] = rt::pipe(kUnread);
  const auto bytes = std::move(ours);
  rt::Scope scope;
  scope.spawn(tunnel_in(held.get(), bytes.get()));
  scope.spawn(tunnel_out(bytes.get(), held.get()));
  co_await forward_spdy(std::make_unique<http::SpdySession>(std::move(theirs)), host, std::move(pod));
}

Task<> forward_channels(std::unique_ptr<http::WebSocket> socket, std::vector<std::uint16_t> ports, PodHost* host,
                        ContainerRef pod) {
  const auto held = std::move(socket);
  rt::Semaphore sending(1);
  std::vector<std::unique_ptr<PortChannel>> channels;
  for (const auto port : ports) {
    const auto number = static_cast<std::uint8_t>(2 * channels.size());
    channels.push_back(std::make_unique<PortChannel>(*held, sending, number, port));
  }
  rt::Scope scope;
  scope.spawn(all_channels(&channels, held.get(), host, std::move(pod)));
  co_await receive_channels(held.get(), &channels);
}

}  // namespace kopper::plane
