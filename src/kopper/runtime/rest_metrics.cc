#include "kopper/runtime/rest_metrics.h"

#include <chrono>
#include <map>
#include <utility>
#include <vector>

#include "kopper/rt/loop.h"

namespace kopper::runtime {
namespace {

const std::vector<double> kSeconds{0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60};

class CountedHandler final : public http::Handler {
 public:
  CountedHandler(std::shared_ptr<http::Handler> inner, metrics::Registry& metrics, std::string host)
      : inner_(std::move(inner)), metrics_(metrics), host_(std::move(host)) {}

  Task<http::Response> handle(http::Request request) override {
    Call call(*this, request.method);
    auto response = co_await inner_->handle(std::move(request));
    call.answered(std::to_string(response.status));
    co_return response;
  }

  Task<std::unique_ptr<http::WebSocket>> connect(http::Request request,
                                                 std::vector<std::string> subprotocols) override {
    Call call(*this, request.method);
    auto socket = co_await inner_->connect(std::move(request), std::move(subprotocols));
    call.answered("101");
    co_return socket;
  }

 private:
  // One request: counted when it ends, however it does.
  class Call {
   public:
    Call(CountedHandler& by, std::string method)
        : by_(by), method_(std::move(method)), began_(rt::Loop::current().now()) {}
    ~Call() { by_.count(method_, code_, rt::Loop::current().now() - began_); }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    void answered(std::string code) { code_ = std::move(code); }

   private:
    CountedHandler& by_;
    std::string method_;
    std::string code_ = "<error>";
    rt::TimePoint began_;
  };

  void count(const std::string& method, const std::string& code, rt::Duration took) {
    auto& series = series_[{method, code}];
    if (series.total == nullptr) {
      series.total = &metrics_.counter("rest_client_requests_total", "Requests to the API server.",
                                       {{"code", code}, {"method", method}, {"host", host_}});
      series.seconds =
          &metrics_.histogram("rest_client_request_duration_seconds", "How long the API server took to answer.",
                              kSeconds, {{"verb", method}, {"host", host_}});
    }
    series.total->inc();
    series.seconds->observe(std::chrono::duration<double>(took).count());
  }

  struct Series {
    metrics::Counter* total = nullptr;
    metrics::Histogram* seconds = nullptr;
  };

  const std::shared_ptr<http::Handler> inner_;
  metrics::Registry& metrics_;
  const std::string host_;
  std::map<std::pair<std::string, std::string>, Series> series_;  // looked up once
};

}  // namespace

std::shared_ptr<http::Handler> counted(std::shared_ptr<http::Handler> inner, metrics::Registry& metrics,
                                       std::string host) {
  return std::make_shared<CountedHandler>(std::move(inner), metrics, std::move(host));
}

}  // namespace kopper::runtime
