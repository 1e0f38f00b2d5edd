#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kopper/http/handler.h"
#include "kopper/json/value.h"
#include "kopper/metrics/metrics.h"
#include "kopper/rt/channel.h"
#include "kopper/rt/loop.h"
#include "kopper/rt/scope.h"
#include "kopper/runtime/trace_context.h"

// Spans of what happens, sent to a collector of OpenTelemetry (OTLP over HTTP, as JSON). Contexts are handed on by
// hand:
//
//   Span run = tracer.start("reconcile", parent);
//   run.set("k8s.object", "demo/web");
//   client::Client client(traced(transport, tracer, run.context(), "api:6443"));     // its calls are children
//
// Without a collector's address nothing is made and nothing is sent: a Span is then a null pointer.
namespace kopper::runtime {

enum class SpanKind : std::uint8_t { Internal = 1, Server = 2, Client = 3 };

// A span that has ended.
struct SpanRecord {
  TraceContext context;
  std::array<std::uint8_t, 8> parent{};
  std::string name;
  SpanKind kind = SpanKind::Internal;
  rt::WallTime start;
  rt::WallTime end;
  std::vector<std::pair<std::string, json::Value>> attributes;
  bool failed = false;
  std::string message;  // why
};

struct TraceOptions {
  std::string endpoint;                                      // where spans are posted; empty: no tracing
  std::vector<std::pair<std::string, std::string>> headers;  // sent along: credentials
  std::string service = "kopper";
  double sample = 1.0;  // share of the traces that begin here; what others began is as they decided
  std::size_t queue = 2048;
  std::size_t batch = 512;
  rt::Duration interval = std::chrono::seconds(5);
  rt::Duration timeout = std::chrono::seconds(10);
  metrics::Registry* metrics = nullptr;      // kopper_trace_spans_total{result}; outlives the tracer
  std::shared_ptr<http::Handler> collector;  // instead of a connection to the endpoint's host
};

// OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, or OTEL_EXPORTER_OTLP_ENDPOINT and "/v1/traces"; OTEL_EXPORTER_OTLP_HEADERS,
// OTEL_SERVICE_NAME, OTEL_TRACES_SAMPLER_ARG; nothing with OTEL_SDK_DISABLED=true. `env` gives "" for what is not set.
TraceOptions trace_options(const std::function<std::string(std::string_view)>& env);

class Tracer;

// Something that takes time; ends when destroyed. A default one records nothing. The tracer outlives it.
class [[nodiscard]] Span {
 public:
  Span() = default;
  Span(Span&&) noexcept = default;
  Span& operator=(Span&& other) noexcept;
  ~Span() { end(); }

  // Text, number or bool.
  void set(std::string_view key, json::Value value);
  // It did not work out.
  void fail(std::string_view why);
  void end();

  // Of its children; empty when nothing is recorded.
  TraceContext context() const { return open_ ? open_->record.context : TraceContext(); }
  explicit operator bool() const { return open_ != nullptr; }

 private:
  friend class Tracer;
  struct Open {
    Tracer& tracer;
    rt::TimePoint began;
    SpanRecord record;
  };
  explicit Span(std::unique_ptr<Open> open) : open_(std::move(open)) {}
  std::unique_ptr<Open> open_;
};

// Makes spans and sends them in batches, in the background. While the collector is away they wait, `queue` of them; the
// rest is dropped and counted. Loop-confined.
class Tracer {
 public:
  // Throws Error{Invalid} for an endpoint that is no http or https URL.
  explicit Tracer(TraceOptions options = TraceOptions());
  ~Tracer();
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  bool enabled() const { return collector_ != nullptr; }

  // A child of `parent`, or the first of a new trace when that is empty. Began `ago`: for what is known only
  // afterwards, such as the time in a queue.
  Span start(std::string_view name, const TraceContext& parent = TraceContext(), SpanKind kind = SpanKind::Internal,
             rt::Duration ago = rt::Duration::zero());

  // Sends what is left, for `limit` at most. Never throws Error.
  Task<> stop(rt::Duration limit = std::chrono::seconds(5));

 private:
  friend class Span;
  void record(SpanRecord record);
  Task<> run();
  Task<> send();
  Task<int> post(std::string body);

  // constant after construction
  TraceOptions options_;
  std::string target_;
  std::shared_ptr<http::Handler> collector_;

  // this loop only
  std::mt19937_64 random_;
  std::deque<SpanRecord> ended_;
  bool stopping_ = false;
  std::string problem_;
  rt::Event wake_;
  metrics::Counter* exported_ = nullptr;
  metrics::Counter* dropped_ = nullptr;
  rt::Scope tasks_;
};

// The body of an export. Pure.
std::string otlp_json(const std::string& service, const std::vector<SpanRecord>& spans);

// A transport whose requests are client spans below `parent` and carry its `traceparent`. A request that has a
// `traceparent` already is below that instead; one without either makes no span. `tracer` outlives it.
std::shared_ptr<http::Handler> traced(std::shared_ptr<http::Handler> inner, Tracer& tracer, TraceContext parent,
                                      std::string host);

}  // namespace kopper::runtime
