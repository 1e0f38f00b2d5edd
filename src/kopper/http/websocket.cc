#include "kopper/http/websocket.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket.hpp>
#include <fmt/format.h>

#include "kopper/base/error.h"
#include "kopper/http/detail/signal.h"
#include "kopper/http/upgrade.h"
#include "kopper/rt/scope.h"

namespace kopper::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace ws = beast::websocket;
using beast::error_code;

constexpr std::size_t kMaxRefusal = std::size_t{64} << 10U;

std::string_view to_std(beast::string_view text) { return {text.data(), text.size()}; }

// Our stream as Beast wants one. Each operation is a task of this object's scope: when it is destroyed, what is pending
// is dropped with its handler. Errors of the stream are kept, since an error_code cannot carry them. What Beast posts
// to itself runs in the loop's next turn.
class Adapter {
 public:
  using executor_type = asio::io_context::executor_type;
  using Done = std::move_only_function<void(error_code, std::size_t)>;

  Adapter(std::unique_ptr<rt::Stream> stream, std::string already_read)
      : state_(std::make_unique<State>(std::move(stream), std::move(already_read))) {}

  // Whoever asks is about to post.
  executor_type get_executor() const {
    state_->posted.defer();
    return state_->posted.io.get_executor();
  }
  void close() const noexcept { state_->stream->close(); }
  std::string failure() const { return state_->failure; }

  template <class Buffers, class Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    return asio::async_initiate<Token, void(error_code, std::size_t)>(
        [state = state_.get()](auto handler, const Buffers& into) {
          state->tasks.spawn(State::read(state, first<asio::mutable_buffer>(into), erase(std::move(handler))));
        },
        token, buffers);
  }
  template <class Buffers, class Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    return asio::async_initiate<Token, void(error_code, std::size_t)>(
        [state = state_.get()](auto handler, const Buffers& from) {
          state->tasks.spawn(State::write(state, gather(from), erase(std::move(handler))));
        },
        token, buffers);
  }

 private:
  struct Posted final : rt::Deferred {
    void run() noexcept override {
      io.restart();
      io.poll();
    }
    asio::io_context io{BOOST_ASIO_CONCURRENCY_HINT_UNSAFE};
  };

  struct State {
    State(std::unique_ptr<rt::Stream> s, std::string read_before)
        : stream(std::move(s)), rest(std::move(read_before)) {}

    static Task<> read(State* self, asio::mutable_buffer into, Done done) {
      error_code error;
      std::size_t size = 0;
      try {
        if (into.size() == 0) {
        } else if (!self->rest.empty()) {
          size = self->rest.copy(static_cast<char*>(into.data()), into.size());
          self->rest.erase(0, size);
        } else {
          size = co_await self->stream->read(std::span(static_cast<char*>(into.data()), into.size()));
          if (size == 0) error = asio::error::eof;
        }
      } catch (const Error& broken) {
        self->failure = broken.what();
        error = asio::error::connection_reset;
      }
      self->posted.defer();
      done(error, size);
    }
    static Task<> write(State* self, std::string bytes, Done done) {
      error_code error;
      try {
        co_await self->stream->write(bytes);
      } catch (const Error& broken) {
        self->failure = broken.what();
        error = asio::error::connection_reset;
      }
      self->posted.defer();
      done(error, error ? 0 : bytes.size());
    }

    std::unique_ptr<rt::Stream> stream;
    std::string rest;
    Posted posted;
    std::string failure;
    rt::Scope tasks;
  };

  template <class Buffer, class Buffers>
  static Buffer first(const Buffers& buffers) {
    for (const auto buffer : beast::buffers_range_ref(buffers)) {
      if (buffer.size() > 0) return buffer;
    }
    return {};
  }
  template <class Buffers>
  static std::string gather(const Buffers& buffers) {
    std::string bytes;
    for (const auto buffer : beast::buffers_range_ref(buffers)) {
      bytes.append(static_cast<const char*>(buffer.data()), buffer.size());
    }
    return bytes;
  }
  template <class H>
  static Done erase(H handler) {
    return
        [handler = std::move(handler)](error_code error, std::size_t size) mutable { std::move(handler)(error, size); };
  }

  std::unique_ptr<State> state_;
};

template <class H>
void async_teardown(beast::role_type /*role*/, Adapter& stream, H&& handler) {
  stream.close();
  asio::post(stream.get_executor(),
             [handler = std::forward<H>(handler)]() mutable { std::move(handler)(error_code()); });
}
void beast_close_socket(Adapter& stream) { stream.close(); }

Code code_of(int status) {
  switch (status) {
    case 401: return Code::Unauthorized;
    case 403: return Code::Forbidden;
    case 404: return Code::NotFound;
    case 429: return Code::TooMany;
    default: return status >= 500 ? Code::Unavailable : Code::Unsupported;
  }
}

// A WebSocket over Beast, whose operations cannot be cancelled one by one: they belong to the socket and not to those
// who wait: a cancelled receive() or send() leaves the operation under way, and the next call finds its outcome.
class Socket final : public WebSocket {
 public:
  Socket(std::unique_ptr<rt::Stream> stream, std::string already_read, WebSocketOptions options)
      : options_(options), core_(std::make_shared<Core>(Adapter(std::move(stream), std::move(already_read)))) {
    core_->ws.read_message_max(options.max_message);
    core_->ws.binary(true);
    core_->ws.control_callback([core = core_.get()](ws::frame_type, beast::string_view) { ++core->frames; });
  }

  Task<> handshake(std::string authority, Request request, std::vector<std::string> subprotocols) {
    core_->ws.set_option(ws::stream_base::decorator([&](ws::request_type& out) {
      for (const auto& [name, value] : request.headers) out.insert(name, value);
      if (!subprotocols.empty()) {
        out.set(beast::http::field::sec_websocket_protocol, fmt::format("{}", fmt::join(subprotocols, ", ")));
      }
    }));
    const std::string host(request.headers.get("host").value_or(authority));
    request.headers.remove("host");
    request.headers.remove("connection");
    request.headers.remove("upgrade");
    ws::response_type answer;
    error_code error = co_await run([&](auto done) { core_->ws.async_handshake(answer, host, request.target, done); });
    if (error == ws::error::upgrade_declined) throw refused(answer);
    if (error) throw broken(error);
    subprotocol_ = to_std(answer[beast::http::field::sec_websocket_protocol]);
    start();
  }

  Task<> accept(Request request, std::string subprotocol) {
    beast::http::request<beast::http::empty_body> asked(beast::http::verb::get, request.target, 11);
    for (const auto& [name, value] : request.headers) asked.insert(name, value);
    subprotocol_ = std::move(subprotocol);
    core_->ws.set_option(ws::stream_base::decorator([this](ws::response_type& out) {
      if (!subprotocol_.empty()) out.set(beast::http::field::sec_websocket_protocol, subprotocol_);
    }));
    const error_code error = co_await run([&](auto done) { core_->ws.async_accept(asked, done); });
    if (error) throw broken(error);
    start();
  }

  std::string_view subprotocol() const override { return subprotocol_; }

  Task<std::optional<WsMessage>> receive() override {
    while (!core_->received) {
      if (core_->read_error == ws::error::closed) co_return std::nullopt;
      if (core_->read_error) throw broken(core_->read_error);
      read();
      co_await core_->readable.wait();
    }
    co_return std::exchange(core_->received, std::nullopt);
  }

  Task<> send(WsMessage message) override {
    while (core_->writing) co_await core_->writable.wait();  // one that was cancelled
    if (core_->closing) throw Error(Code::Unavailable, "the WebSocket is closed");
    core_->sending = std::move(message.data);
    core_->ws.binary(message.binary);
    core_->writing = true;
    core_->ws.async_write(asio::buffer(core_->sending), [weak = std::weak_ptr(core_)](error_code error, std::size_t) {
      if (const auto core = weak.lock()) core->written(error);
    });
    while (core_->writing) co_await core_->writable.wait();
    if (core_->write_error) throw broken(core_->write_error);
  }

  Task<> close() override {
    while (core_->writing) co_await core_->writable.wait();
    if (std::exchange(core_->closing, true) || core_->read_error) co_return;
    try {
      auto closing = run([core = core_.get()](auto done) { core->ws.async_close(ws::close_code::normal, done); });
      co_await rt::timeout(options_.ping_timeout, std::move(closing));
    } catch (const Error&) {
      core_->ws.next_layer().close();  // the peer did not answer
    }
  }

 private:
  struct Core {
    explicit Core(Adapter adapter) : ws(std::move(adapter)) {}

    void written(error_code error) {
      writing = false;
      write_error = error;
      writable.notify();
    }
    void read_done(error_code error) {
      reading = false;
      ++frames;
      if (error) {
        read_error = error;
      } else {
        received.emplace(ws.got_binary(), beast::buffers_to_string(buffer.data()));
      }
      buffer.clear();
      readable.notify();
    }

    ws::stream<Adapter, false> ws;
    beast::flat_buffer buffer;
    std::optional<WsMessage> received;
    std::string sending;
    error_code read_error;
    error_code write_error;
    bool reading = false;
    bool writing = false;
    bool closing = false;
    std::uint64_t frames = 0;
    detail::Signal readable;
    detail::Signal writable;
  };

  void start() { tasks_.spawn(keepalive()); }

  void read() {
    if (std::exchange(core_->reading, true)) return;
    core_->ws.async_read(core_->buffer, [weak = std::weak_ptr(core_)](error_code error, std::size_t) {
      if (const auto core = weak.lock()) core->read_done(error);
    });
  }

  // Waits for an operation whose arguments live in the awaiting frame: on cancellation the connection goes with it.
  template <class Start>
  Task<error_code> run(Start start_operation) {
    struct Outcome {
      std::optional<error_code> error;
      detail::Signal done;
    };
    const auto outcome = std::make_shared<Outcome>();
    start_operation([weak = std::weak_ptr(outcome)](error_code error) {
      if (const auto waiting = weak.lock()) {
        waiting->error = error;
        waiting->done.notify();
      }
    });
    while (!outcome->error) co_await outcome->done.wait();
    co_return *outcome->error;
  }

  Task<> keepalive() {
    for (;;) {
      const auto before = core_->frames;
      co_await rt::sleep(options_.ping_after);
      if (core_->frames != before || !core_->reading || core_->closing) continue;
      core_->ws.async_ping({}, [](error_code) {});
      co_await rt::sleep(options_.ping_timeout);
      if (core_->frames == before && core_->reading) core_->ws.next_layer().close();
    }
  }

  Error broken(error_code error) const {
    const std::string failure = core_->ws.next_layer().failure();
    return {Code::Unavailable, "WebSocket: " + (failure.empty() ? error.message() : failure)};
  }

  static Error refused(const ws::response_type& answer) {
    const auto status = static_cast<int>(answer.result_int());
    std::string text = answer.body().substr(0, kMaxRefusal);
    if (text.empty()) text = fmt::format("the server refused the WebSocket with status {}", status);
    Error error(code_of(status), std::move(text));
    error.http_status = status;
    return error;
  }

  const WebSocketOptions options_;
  std::string subprotocol_;
  std::shared_ptr<Core> core_;  // Beast's handlers hold weak ones
  rt::Scope tasks_;
};

Task<> pump(WebSocket* from, WebSocket* to, rt::Scope* scope) {
  try {
    while (auto message = co_await from->receive()) {
      auto sending = to->send(std::move(*message));
      co_await sending;
    }
    co_await to->close();
  } catch (const Error&) {
    scope->cancel();  // one side broke: what cannot be delivered is dropped, and the other side is broken off
  }
}

bool has_token(std::string_view list, std::string_view wanted) {
  return std::ranges::any_of(beast::http::token_list(beast::string_view(list.data(), list.size())),
                             [wanted](const auto& token) { return same_name(to_std(token), wanted); });
}

}  // namespace

Task<std::unique_ptr<WebSocket>> websocket_connect(std::unique_ptr<rt::Stream> stream, std::string authority,
                                                   Request request, std::vector<std::string> subprotocols,
                                                   WebSocketOptions options) {
  auto socket = std::make_unique<Socket>(std::move(stream), std::string(), options);
  auto handshake = socket->handshake(std::move(authority), std::move(request), std::move(subprotocols));
  co_await handshake;
  co_return socket;
}

bool wants_websocket(const Request& request) {
  const auto connection = request.headers.get("connection").value_or("");
  const auto upgrade = request.headers.get("upgrade").value_or("");
  return request.method == "GET" && has_token(connection, "upgrade") && has_token(upgrade, "websocket");
}

bool wants_upgrade(const Request& request, std::string_view protocol) {
  const auto connection = request.headers.get("connection").value_or("");
  const auto upgrade = request.headers.get("upgrade").value_or("");
  const bool has_body = request.headers.get("content-length").value_or("0") != "0" ||
                        request.headers.get("transfer-encoding").has_value();
  return has_token(connection, "upgrade") && same_name(upgrade, protocol) && !has_body;
}

std::vector<std::string> offered_subprotocols(const Request& request) {
  std::vector<std::string> offered;
  for (const auto list : request.headers.all("sec-websocket-protocol")) {
    for (const auto& token : beast::http::token_list(beast::string_view(list.data(), list.size()))) {
      offered.emplace_back(to_std(token));
    }
  }
  return offered;
}

Task<std::unique_ptr<WebSocket>> websocket_accept(std::unique_ptr<rt::Stream> stream, std::string already_read,
                                                  Request request, std::string subprotocol, WebSocketOptions options) {
  auto socket = std::make_unique<Socket>(std::move(stream), std::move(already_read), options);
  auto accepting = socket->accept(std::move(request), std::move(subprotocol));
  co_await accepting;
  co_return socket;
}

Task<> websocket_bridge(WebSocket& one, WebSocket& other) {
  rt::Scope scope;
  scope.spawn(pump(&one, &other, &scope));
  scope.spawn(pump(&other, &one, &scope));
  co_await scope.join();
}

}  // namespace kopper::http
