#include "kopper/client/pod_io.h"

#include <charconv>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "kopper/client/request.h"
#include "kopper/client/status.h"
#include "kopper/json/value.h"
#include "kopper/rt/scope.h"

namespace kopper::client {
namespace {

constexpr std::string_view kV5 = "v5.channel.k8s.io";
constexpr std::string_view kV4 = "v4.channel.k8s.io";
constexpr char kCloseSignal = '\xff';

Task<std::unique_ptr<http::Body>> body_of(Client client, http::Request request) {
  auto response = co_await client.stream(std::move(request));
  co_return std::move(response.body);
}

Task<LineReader> lines_of(Client client, http::Request request) {
  co_return LineReader(co_await body_of(std::move(client), std::move(request)));
}

Task<Session> opened(Client client, http::Request request) {
  std::vector<std::string> protocols{std::string(kV5), std::string(kV4)};
  auto socket = co_await client.connect(std::move(request), std::move(protocols));
  if (socket->subprotocol() != kV5 && socket->subprotocol() != kV4) {
    throw Error(Code::Unsupported,
                fmt::format("the server speaks \"{}\", neither {} nor {}", socket->subprotocol(), kV5, kV4));
  }
  co_return Session(std::move(socket));
}

// A reader must run beside it: a command may stop reading until its output is taken.
Task<> feed(Session* session, std::string input) {
  constexpr std::size_t kPiece = std::size_t{32} << 10U;
  for (std::size_t at = 0; at < input.size(); at += kPiece) co_await session->write(input.substr(at, kPiece));
  co_await session->close_stdin();
}

// The exit code in {"reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"3"}]}}.
std::optional<int> exit_cause(const Error& error) {
  if (error.reason != "NonZeroExitCode") return std::nullopt;
  for (const auto& cause : error.causes) {
    int code = 0;
    const auto& text = cause.message;
    if (cause.reason == "ExitCode" && std::from_chars(text.data(), text.data() + text.size(), code).ec == std::errc{})
      return code;
  }
  return std::nullopt;
}

Task<> post_eviction(Client client, Key pod, DeleteOptions options) {
  try {
    co_await client.call(evict_request(pod, options));
    co_return;
  } catch (const Error& error) {
    if (error.http_status != 400 || std::string_view(error.what()).find("no kind") == std::string_view::npos) throw;
  }
  co_await client.call(evict_request(pod, options, "policy/v1beta1"));
}

Task<Eviction> evicted(Client client, Key pod, DeleteOptions options) {
  try {
    co_await post_eviction(std::move(client), std::move(pod), std::move(options));
    co_return Eviction{};
  } catch (const Error& error) {
    if (error.code == Code::NotFound) co_return Eviction{.outcome = Eviction::Outcome::Absent};
    if (error.code != Code::TooMany || error.causes.empty()) throw;
    co_return Eviction{.outcome = Eviction::Outcome::Blocked, .message = error.causes.front().message};
  }
}

}  // namespace

Task<std::unique_ptr<http::Body>> log_bytes(Client client, Key pod, LogOptions options) {
  return body_of(std::move(client), log_request(pod, options));
}

Task<LineReader> log_lines(Client client, Key pod, LogOptions options) {
  return lines_of(std::move(client), log_request(pod, options));
}

Task<Session> exec(Client client, Key pod, ExecOptions options) {
  return opened(std::move(client), exec_request(pod, options));
}

Task<Session> attach(Client client, Key pod, ExecOptions options) {
  options.command.clear();
  return opened(std::move(client), attach_request(pod, options));
}

Task<std::optional<Session::Output>> Session::read() {
  while (true) {
    std::optional<http::WsMessage> message;
    try {
      message = co_await socket_->receive();
    } catch (const Error&) {
      // Servers may drop the connection instead of closing it, once all is said.
      if (status_.empty()) throw;
    }
    if (!message) {
      if (status_.empty()) throw Error(Code::Unavailable, "the connection closed before the command ended");
      co_return std::nullopt;
    }
    if (message->data.empty()) continue;
    const auto channel = static_cast<Channel>(message->data.front());
    message->data.erase(0, 1);
    if (channel == Channel::Error) status_ += message->data;
    // The channels are opened by empty messages, and v5 has signals that only say that one is closed.
    if (channel != Channel::Stdout && channel != Channel::Stderr) continue;
    if (message->data.empty()) continue;
    co_return Output{.channel = channel, .data = std::move(message->data)};
  }
}

Task<> Session::send(Channel channel, std::string data) {
  http::WsMessage message;
  message.data = static_cast<char>(channel) + std::move(data);
  co_await socket_->send(std::move(message));
}

Task<> Session::write(std::string data) { return send(Channel::Stdin, std::move(data)); }

Task<> Session::close_stdin() {
  if (socket_->subprotocol() != kV5)
    throw Error(Code::Unsupported, "the server cannot close the command's stdin: it is older than 1.30");
  http::WsMessage message;
  message.data = {kCloseSignal, static_cast<char>(Channel::Stdin)};
  co_await socket_->send(std::move(message));
}

Task<> Session::resize(std::uint16_t width, std::uint16_t height) {
  return send(Channel::Resize, fmt::format(R"({{"Width":{},"Height":{}}})", width, height));
}

int Session::exit_code() const {
  const auto status = json::parse(status_);
  if (!status) throw_error(status.error(), "the command's status");
  if (status->text("status") == "Success") return 0;
  auto error = error_from(*status);
  if (const auto code = exit_cause(error)) return *code;
  throw error;
}

Task<ExecResult> run(Client client, Key pod, ExecOptions options, std::string input, std::size_t limit) {
  options.stdin_ = options.stdin_ || !input.empty();
  const bool feeds = options.stdin_;
  auto session = co_await exec(std::move(client), std::move(pod), std::move(options));
  rt::Scope feeding;
  if (feeds) feeding.spawn(feed(&session, std::move(input)));
  ExecResult result;
  while (auto output = co_await session.read()) {
    if (result.out.size() + result.err.size() + output->data.size() > limit) {
      throw Error(Code::Invalid, fmt::format("the command wrote more than {} bytes", limit));
    }
    (output->channel == Session::Channel::Stderr ? result.err : result.out) += output->data;
  }
  result.exit_code = session.exit_code();
  co_return result;
}

Task<Eviction> evict(Client client, Key pod, DeleteOptions options) {
  return evicted(std::move(client), std::move(pod), std::move(options));
}

}  // namespace kopper::client
