#include "kopper/client/client.h"

#include <optional>
#include <random>
#include <set>
#include <type_traits>
#include <utility>

#include "kopper/base/error.h"
#include "kopper/base/log.h"
#include "kopper/client/retry.h"
#include "kopper/client/status.h"
#include "kopper/rt/loop.h"
#include "kopper/rt/scope.h"

namespace kopper::client {
namespace {

constexpr std::size_t kMaxErrorBody = std::size_t{1} << 20U;
constexpr std::size_t kMaxWarningsRemembered = 1000;

template <class T>
Task<T> limited(std::chrono::milliseconds limit, Task<T> task) {
  if (limit.count() <= 0) return task;
  return rt::timeout(limit, std::move(task));
}

}  // namespace

struct Client::State {
  State(std::shared_ptr<http::Handler> t, ClientOptions o) : transport(std::move(t)), options(std::move(o)) {
    if (options.qps > 0) rate.emplace(options.qps, options.burst > 0 ? options.burst : 2 * options.qps);
  }

  void surface(const http::Headers& headers) {
    for (const auto& text : warnings(headers)) {
      if (warned.size() >= kMaxWarningsRemembered) warned.clear();
      if (!warned.insert(text).second) continue;
      if (options.on_warning)
        options.on_warning(text);
      else
        log::warn("the API server warns", {{"warning", text}});
    }
  }

  double random() { return std::uniform_real_distribution<double>(0, 1)(engine); }

  // Waits for its turn.
  Task<> admit() {
    if (!rate) co_return;
    const auto wait = rate->take(rt::Loop::current().now().time_since_epoch());
    if (wait.count() > 0) co_await rt::sleep(wait);
  }

  std::shared_ptr<http::Handler> transport;
  ClientOptions options;
  std::optional<RateLimit> rate;
  std::set<std::string, std::less<>> warned;
  std::minstd_rand engine{std::random_device{}()};
};

Client::Client(std::shared_ptr<http::Handler> transport, ClientOptions options)
    : state_(std::make_shared<State>(std::move(transport), std::move(options))) {}

const ClientOptions& Client::options() const { return state_->options; }

double Client::random() const { return state_->random(); }

// One try. Throws what the server, or the lack of one, says.
Task<http::Response> Client::attempt(std::shared_ptr<State> state, http::Request request) {
  co_await state->admit();
  auto response = co_await state->transport->handle(std::move(request));
  state->surface(response.headers);
  // A redirect is no answer either: API servers send none, login pages of proxies do.
  if (response.status < 300) co_return response;
  auto body = co_await http::read_all(*response.body, kMaxErrorBody);
  throw error_from(response.status, response.headers, body);
}

template <class Result>
Task<Result> Client::retried(std::shared_ptr<State> state, http::Request request) {
  for (int failures = 1;; ++failures) {
    std::chrono::milliseconds delay{};
    try {
      http::Request copy = request;
      auto response = co_await attempt(state, std::move(copy));
      if constexpr (std::is_same_v<Result, std::string>)
        co_return co_await http::read_all(*response.body);
      else
        co_return response;
    } catch (const Error& error) {
      const auto wait = retry_delay(request, error, failures, state->random());
      if (!wait || failures > state->options.max_retries) throw;
      delay = *wait;
      log::debug("a call is retried", {{"method", request.method},
                                       {"target", request.target},
                                       {"after_ms", delay.count()},
                                       {"error", error.what()}});
    }
    co_await rt::sleep(delay);
  }
}

Task<std::string> Client::call(http::Request request) const {
  request.headers.set("user-agent", state_->options.user_agent);
  return limited(state_->options.timeout, retried<std::string>(state_, std::move(request)));
}

Task<http::Response> Client::stream(http::Request request) const {
  request.headers.set("user-agent", state_->options.user_agent);
  return limited(state_->options.timeout, retried<http::Response>(state_, std::move(request)));
}

Task<std::unique_ptr<http::WebSocket>> Client::connected(std::shared_ptr<State> state, http::Request request,
                                                         std::vector<std::string> subprotocols) {
  co_await state->admit();
  try {
    co_return co_await state->transport->connect(std::move(request), std::move(subprotocols));
  } catch (const Error& refused) {
    // The transport hands the answer's body on as the message.
    if (refused.http_status < 400) throw;
    throw error_from(refused.http_status, {}, refused.message);
  }
}

Task<std::unique_ptr<http::WebSocket>> Client::connect(http::Request request,
                                                       std::vector<std::string> subprotocols) const {
  request.headers.set("user-agent", state_->options.user_agent);
  return limited(state_->options.timeout, connected(state_, std::move(request), std::move(subprotocols)));
}

}  // namespace kopper::client
