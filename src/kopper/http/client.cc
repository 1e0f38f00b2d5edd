#include "kopper/http/client.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "kopper/base/error.h"
#include "kopper/base/log.h"
#include "kopper/http/detail/dial.h"
#include "kopper/http/detail/h1_client.h"
#include "kopper/http/websocket.h"
#include "kopper/rt/scope.h"
#include "kopper/rt/wait_list.h"

namespace kopper::http {
namespace {

constexpr std::size_t kExpectedRoom = 100;  // streams of a new connection, before its server has said
constexpr std::size_t kMaxH1Calls = 64;
constexpr auto kTrustedIdle = std::chrono::milliseconds(100);
constexpr std::size_t kUnlimited = static_cast<std::size_t>(-1);

// Connections for one sort of requests.
struct Lane {
  explicit Lane(std::size_t max) : max_sessions(max) {}

  H2Session* with_room() const {
    for (const auto& session : sessions) {
      if (session->room() > 0) return session.get();
    }
    return nullptr;
  }
  std::size_t usable() const {
    return static_cast<std::size_t>(std::ranges::count_if(sessions, [](const auto& s) { return !s->closing(); }));
  }

  const std::size_t max_sessions;
  std::vector<std::unique_ptr<H2Session>> sessions;
  std::size_t connecting = 0;
  std::size_t waiting = 0;
  rt::WaitList waiters;
  std::uint64_t failures = 0;  // of connecting
  std::optional<Error> failure;
};

class Client final : public Handler {
 public:
  explicit Client(ClientOptions options);
  ~Client() override { h1_->closed = true; }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  Task<Response> handle(Request request) override;
  Task<std::unique_ptr<WebSocket>> connect(Request request, std::vector<std::string> subprotocols) override;

 private:
  struct Connection {
    std::unique_ptr<rt::Stream> stream;
    bool h2 = false;
  };
  // Contexts are made once for as long as the options stay the same.
  struct Tls {
    rt::TlsClientOptions options;
    rt::TlsContext any;      // HTTP/2 or HTTP/1.1
    rt::TlsContext only_h1;  // WebSocket, https proxies
  };
  struct Reaper final : rt::Timer {
    explicit Reaper(Client& c) : client(c) {}
    void on_timer() override { client.reap(); }
    Client& client;
  };

  Task<H2Session*> session(Lane* lane);  // null: the server speaks HTTP/1.1
  Task<> open(Lane* lane);
  Task<Response> handle_h1(Lane* lane, const Request& request);  // outlives: handle() holds it
  Task<Connection> dial(bool allow_h2);
  Task<Connection> dial_untimed(bool allow_h2);
  void add_session(Lane* lane, std::unique_ptr<rt::Stream> stream);
  void session_changed(Lane* lane, H2Session* session);
  void reap();
  const Tls& tls();
  bool https() const { return options_.origin.scheme == "https"; }
  bool plain_proxy() const;

  // constant after construction
  const ClientOptions options_;
  const std::string prefix_;

  // this loop only
  std::optional<Tls> tls_;
  bool speaks_h1_;
  Lane calls_;
  Lane watches_{kUnlimited};
  std::shared_ptr<detail::H1Pool> h1_ = std::make_shared<detail::H1Pool>();
  Reaper reaper_{*this};
  rt::Scope tasks_;
};

std::string path_prefix(const Url& origin) {
  std::string path = origin.path;
  while (path.ends_with('/')) path.pop_back();
  return path;
}

Client::Client(ClientOptions options)
    : options_(std::move(options)),
      prefix_(path_prefix(options_.origin)),
      speaks_h1_(!https()),
      calls_(std::max<std::size_t>(options_.max_connections, 1)) {
  if (!https() && options_.origin.scheme != "http") {
    throw Error(Code::Invalid, fmt::format("{}: expected http or https", options_.origin.str()));
  }
  if (!options_.proxy) return;
  const auto& scheme = options_.proxy->scheme;
  if (scheme != "http" && scheme != "https" && scheme != "socks5" && scheme != "socks5h") {
    throw Error(Code::Invalid, fmt::format("proxy {}: expected http, https or socks5", options_.proxy->str()));
  }
}

// A proxy that is spoken to in HTTP itself: it takes whole URLs as targets.
bool Client::plain_proxy() const { return !https() && options_.proxy && !options_.proxy->scheme.starts_with("socks"); }

Task<Response> Client::handle(Request request) {
  if (!prefix_.empty()) request.target.insert(0, prefix_);
  Lane* lane = request.long_running ? &watches_ : &calls_;
  for (bool retried = false;; retried = true) {
    try {
      H2Session* found = lane->with_room();
      // A loop that was blocked, or a machine that slept, has not heard yet that the peer is gone: let it listen first.
      if (found != nullptr && found->open_streams() == 0 &&
          found->idle_since() + kTrustedIdle < rt::Loop::current().now()) {
        co_await rt::yield();  // twice: the first may come before the loop looks at its sockets
        co_await rt::yield();
        found = lane->with_room();
      }
      if (found == nullptr) found = co_await session(lane);
      if (found != nullptr) co_return co_await found->request(request);
      co_return co_await handle_h1(lane, request);
    } catch (const Error& error) {
      if (retried || !(not_processed(error) || detail::stale(error))) throw;
      if (detail::stale(error)) h1_->idle.clear();  // what closed one has likely closed all
    }
  }
}

// Those who wait share connections: another one is opened only when those on their way cannot take all of them.
Task<H2Session*> Client::session(Lane* lane) {
  const auto failures = lane->failures;
  for (;;) {
    if (auto* found = lane->with_room()) co_return found;
    if (speaks_h1_) co_return nullptr;
    if (lane->failures != failures && lane->usable() == 0) throw Error(*lane->failure);
    if (lane->waiting >= lane->connecting * kExpectedRoom && lane->usable() + lane->connecting < lane->max_sessions) {
      ++lane->connecting;
      tasks_.spawn(open(lane));
    }
    struct Waiting {
      explicit Waiting(std::size_t& c) : count(c) { ++count; }
      ~Waiting() { --count; }
      Waiting(const Waiting&) = delete;
      Waiting& operator=(const Waiting&) = delete;
      std::size_t& count;
    } waiting(lane->waiting);
    co_await rt::Waiter(lane->waiters);
  }
}

Task<> Client::open(Lane* lane) {
  try {
    auto connection = co_await dial(true);
    if (connection.h2) {
      add_session(lane, std::move(connection.stream));
    } else {
      speaks_h1_ = true;
      h1_->idle.push_back(
          std::make_unique<detail::H1Connection>(std::move(connection.stream), options_.h2.max_header_bytes));
      h1_->idle.back()->idle_since = rt::Loop::current().now();
    }
  } catch (const Error& error) {
    lane->failure = error;
    ++lane->failures;
  }
  --lane->connecting;
  lane->waiters.wake_all();
}

void Client::add_session(Lane* lane, std::unique_ptr<rt::Stream> stream) {
  H2Client role{options_.origin.scheme, options_.origin.authority()};
  auto& added =
      lane->sessions.emplace_back(std::make_unique<H2Session>(std::move(stream), std::move(role), options_.h2));
  added->on_change([this, lane, session = added.get()] { session_changed(lane, session); });
}

void Client::session_changed(Lane* lane, H2Session* session) {
  if (session->closed()) {
    std::erase_if(lane->sessions, [session](const auto& s) { return s.get() == session; });
    lane->waiters.wake_all();  // one of them opens the next
    return;
  }
  if (session->closing()) lane->waiters.wake_all();
  const std::size_t room = std::min(session->room(), lane->waiting);
  for (std::size_t i = 0; i < room; ++i) lane->waiters.wake_one();
  if (session->open_streams() == 0 && !reaper_.armed()) reaper_.arm_in(options_.idle_timeout);
}

void Client::reap() {
  const auto now = rt::Loop::current().now();
  auto next = rt::TimePoint::max();
  const auto expired = [&](rt::TimePoint idle_since) {
    if (idle_since + options_.idle_timeout <= now) return true;
    next = std::min(next, idle_since + options_.idle_timeout);
    return false;
  };
  for (Lane* lane : {&calls_, &watches_}) {
    for (const auto& session : lane->sessions) {
      if (session->open_streams() == 0 && !session->closing() && expired(session->idle_since())) session->goaway();
    }
  }
  std::erase_if(h1_->idle, [&](const auto& connection) { return expired(connection->idle_since); });
  if (next != rt::TimePoint::max()) reaper_.arm(next);
}

Task<Response> Client::handle_h1(Lane* lane, const Request& request) {
  while (lane == &calls_ && h1_->open >= kMaxH1Calls) co_await rt::Waiter(h1_->waiting);
  detail::H1Lease lease(h1_);
  lease.connection = h1_->take_idle();
  if (!reaper_.armed()) reaper_.arm_in(options_.idle_timeout);
  if (lease.connection == nullptr) {
    auto connection = co_await dial(true);
    if (connection.h2) {  // the server has learned it since
      speaks_h1_ = false;
      add_session(lane, std::move(connection.stream));
      co_return co_await lane->sessions.back()->request(request);
    }
    lease.connection =
        std::make_unique<detail::H1Connection>(std::move(connection.stream), options_.h2.max_header_bytes);
  }
  const auto& origin = options_.origin;
  if (!plain_proxy()) {
    auto direct = exchange(std::move(lease), request, request.target, origin.authority());
    co_return co_await direct;
  }
  Request proxied = request;
  if (const auto auth = detail::basic_auth(*options_.proxy)) proxied.headers.set("Proxy-Authorization", *auth);
  auto through =
      exchange(std::move(lease), proxied, "http://" + origin.authority() + request.target, origin.authority());
  co_return co_await through;
}

const Client::Tls& Client::tls() {
  auto options = options_.tls ? options_.tls() : rt::TlsClientOptions();
  if (tls_ && tls_->options.ca_pem == options.ca_pem && tls_->options.cert_pem == options.cert_pem &&
      tls_->options.key_pem == options.key_pem && tls_->options.insecure == options.insecure) {
    return *tls_;
  }
  options.alpn = {"h2", "http/1.1"};
  auto any = rt::TlsContext::client(options);
  auto only_h1 = any.offering({"http/1.1"});
  tls_.emplace(std::move(options), std::move(any), std::move(only_h1));
  return *tls_;
}

Task<Client::Connection> Client::dial(bool allow_h2) {
  try {
    co_return co_await rt::timeout(options_.connect_timeout, dial_untimed(allow_h2));
  } catch (const Error& error) {
    Error named = error;
    if (error.code == Code::Timeout) named.code = Code::Unavailable;
    named.with("connect to " + options_.origin.str());
    throw named;
  }
}

Task<Client::Connection> Client::dial_untimed(bool allow_h2) {
  const auto& origin = options_.origin;
  Connection connection;
  if (options_.proxy) {
    std::optional<rt::TlsContext> proxy_tls;
    if (options_.proxy->scheme == "https") proxy_tls = tls().only_h1;
    const bool tunnel = !plain_proxy() || !allow_h2;
    connection.stream = co_await detail::dial_proxy(*options_.proxy, proxy_tls, tunnel, origin.host, origin.port);
  } else {
    connection.stream = co_await rt::connect_tcp(origin.host, origin.port);
  }
  if (https()) {
    rt::TlsContext context = allow_h2 ? tls().any : tls().only_h1;
    const std::string& name = options_.server_name.empty() ? origin.host : options_.server_name;
    auto secured = co_await rt::TlsStream::client(std::move(connection.stream), std::move(context), name);
    connection.h2 = secured->alpn() == "h2";
    connection.stream = std::move(secured);
  }
  co_return connection;
}

Task<std::unique_ptr<WebSocket>> Client::connect(Request request, std::vector<std::string> subprotocols) {
  if (!prefix_.empty()) request.target.insert(0, prefix_);
  auto connection = co_await dial(false);
  WebSocketOptions options;
  options.max_message = options_.max_websocket_message;
  options.ping_after = options_.h2.ping_after;
  options.ping_timeout = options_.h2.ping_timeout;
  auto upgrading = websocket_connect(std::move(connection.stream), options_.origin.authority(), std::move(request),
                                     std::move(subprotocols), options);
  co_return co_await rt::timeout(options_.connect_timeout, std::move(upgrading));
}

}  // namespace

std::unique_ptr<Handler> make_client(ClientOptions options) { return std::make_unique<Client>(std::move(options)); }

}  // namespace kopper::http
