#include "kopper/http/detail/h1_client.h"

#include <utility>

namespace kopper::http::detail {
namespace {

constexpr std::string_view kStale = "StaleConnection";

bool idempotent(std::string_view method) {
  return method == "GET" || method == "HEAD" || method == "PUT" || method == "DELETE" || method == "OPTIONS";
}

class H1Body final : public Body {
 public:
  H1Body(H1Lease lease, bool keep_alive) : lease_(std::move(lease)), keep_alive_(keep_alive) { finish_if_done(); }

  Task<std::optional<std::string_view>> read() override {
    if (lease_.connection == nullptr) co_return std::nullopt;
    const auto piece = co_await lease_.connection->reader.body();
    if (!piece) finish_if_done();  // not earlier: the piece is in the connection's buffer
    co_return piece;
  }

 private:
  void finish_if_done() {
    if (!lease_.connection->reader.done()) return;
    if (keep_alive_) {
      lease_.give_back();
    } else {
      lease_.end();
    }
  }

  H1Lease lease_;
  bool keep_alive_;
};

}  // namespace

bool stale(const Error& error) { return error.reason == kStale; }

std::unique_ptr<H1Connection> H1Pool::take_idle() {
  if (idle.empty()) return nullptr;
  auto connection = std::move(idle.back());  // the one used last is the least likely to be closed by the server
  idle.pop_back();
  connection->reused = true;
  return connection;
}

void H1Lease::give_back() {
  connection->idle_since = rt::Loop::current().now();
  if (!pool_->closed) pool_->idle.push_back(std::move(connection));
  end();
}

void H1Lease::end() {
  connection.reset();
  const auto pool = std::move(pool_);
  if (pool == nullptr) return;
  --pool->open;
  pool->waiting.wake_one();
}

Task<Response> exchange(H1Lease lease, const Request& request, std::string target, std::string authority) {
  auto& connection = *lease.connection;
  std::optional<H1Head> head;
  try {
    std::string out = request_head(request, target, authority);
    out += request.body;
    co_await connection.stream->write(out);
    do {
      head = co_await connection.reader.head(request.method == "HEAD");
      if (!head) throw Error(Code::Unavailable, "the peer closed the connection");
    } while (head->status < 200 && head->status != 101);
  } catch (const Error& error) {
    if (!connection.reused || !connection.reader.untouched() || !idempotent(request.method)) throw;
    Error marked = error;
    marked.reason = kStale;
    throw marked;
  }
  Response response;
  response.status = head->status;
  response.headers = std::move(head->headers);
  response.body = std::make_unique<H1Body>(std::move(lease), head->keep_alive);
  co_return response;
}

}  // namespace kopper::http::detail
