#include <utility>

#include <fmt/format.h>

#include "kopper/base/error.h"
#include "kopper/http/url.h"
#include "kopper/runtime/tracing.h"

namespace kopper::runtime {
namespace {

// "deployments/scale" of "/apis/apps/v1/namespaces/demo/deployments/web/scale": names of spans must not be many.
std::string resource_in(std::string_view path) {
  const auto parts = http::split_path(path);
  if (!parts || parts->size() < 2) return std::string(path);
  std::size_t at = parts->front() == "api" ? 2 : parts->front() == "apis" ? 3 : parts->size();
  if (at + 2 < parts->size() && (*parts)[at] == "namespaces") at += 2;
  if (at >= parts->size()) return std::string(path);
  std::string resource = (*parts)[at];
  if (at + 2 < parts->size()) resource += "/" + (*parts)[at + 2];
  return resource;
}

class TracedHandler final : public http::Handler {
 public:
  TracedHandler(std::shared_ptr<http::Handler> inner, Tracer& tracer, TraceContext parent, std::string host)
      : inner_(std::move(inner)), tracer_(tracer), parent_(parent), host_(std::move(host)) {}

  Task<http::Response> handle(http::Request request) override {
    Span span = begin(request);
    try {
      auto response = co_await inner_->handle(std::move(request));
      span.set("http.response.status_code", response.status);
      if (response.status >= 400) span.fail(fmt::format("HTTP {}", response.status));
      co_return response;
    } catch (const Error& error) {
      span.fail(error.what());
      throw;
    }
  }

  Task<std::unique_ptr<http::WebSocket>> connect(http::Request request,
                                                 std::vector<std::string> subprotocols) override {
    Span span = begin(request);
    try {
      co_return co_await inner_->connect(std::move(request), std::move(subprotocols));
    } catch (const Error& error) {
      span.fail(error.what());
      throw;
    }
  }

 private:
  Span begin(http::Request& request) {
    TraceContext parent = parent_;
    if (const auto header = request.headers.get("traceparent"))
      if (const auto given = TraceContext::parse(*header)) parent = *given;
    if (!parent || !tracer_.enabled()) return {};
    const auto path = std::string_view(request.target).substr(0, request.target.find('?'));
    Span span = tracer_.start(request.method + " " + resource_in(path), parent, SpanKind::Client);
    if (!span) return span;
    request.headers.set("traceparent", span.context().str());
    span.set("http.request.method", request.method);
    span.set("url.path", path);
    span.set("server.address", host_);
    return span;
  }

  const std::shared_ptr<http::Handler> inner_;
  Tracer& tracer_;
  const TraceContext parent_;
  const std::string host_;
};

}  // namespace

std::shared_ptr<http::Handler> traced(std::shared_ptr<http::Handler> inner, Tracer& tracer, TraceContext parent,
                                      std::string host) {
  return std::make_shared<TracedHandler>(std::move(inner), tracer, parent, std::move(host));
}

}  // namespace kopper::runtime
