#include "kopper/runtime/tracing.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include <fmt/format.h>

#include "kopper/base/error.h"
#include "kopper/base/log.h"
#include "kopper/http/client.h"
#include "kopper/http/url.h"
#include "kopper/json/writer.h"

namespace kopper::runtime {
namespace {

constexpr std::size_t kMaxAttributes = 64;
constexpr std::size_t kMaxText = 4096;
constexpr std::size_t kMaxAnswer = std::size_t{1} << 20U;

template <std::size_t N>
std::string hex(const std::array<std::uint8_t, N>& bytes) {
  return fmt::format("{:02x}", fmt::join(bytes, ""));
}

template <std::size_t N>
void fill(std::array<std::uint8_t, N>& bytes, std::mt19937_64& random) {
  for (std::size_t i = 0; i < N; i += 8) {
    auto bits = random() | 1U;  // never all zero: that would mean "none"
    for (std::size_t j = i; j < std::min(i + 8, N); ++j, bits >>= 8U) bytes[j] = static_cast<std::uint8_t>(bits);
  }
}

void write_value(json::Writer& out, const json::Value& value) {
  out.begin_object();
  if (const auto* flag = value.as_bool()) {
    out.key("boolValue").value(*flag);
  } else if (const auto* number = value.as_int()) {
    out.key("intValue").value(std::to_string(*number));  // 64 bits are text in protobuf's JSON
  } else if (const auto* real = value.as_double()) {
    out.key("doubleValue").value(*real);
  } else if (const auto* text = value.as_string()) {
    out.key("stringValue").value(*text);
  } else {
    out.key("stringValue").value(json::dump(value));
  }
  out.end_object();
}

void write_attribute(json::Writer& out, std::string_view key, const json::Value& value) {
  out.begin_object().key("key").value(key).key("value");
  write_value(out, value);
  out.end_object();
}

void write_span(json::Writer& out, const SpanRecord& span) {
  const auto nanos = [](rt::WallTime time) { return std::to_string(time.time_since_epoch().count()); };
  out.begin_object();
  out.key("traceId").value(hex(span.context.trace_id)).key("spanId").value(hex(span.context.span_id));
  if (span.parent != decltype(span.parent)()) out.key("parentSpanId").value(hex(span.parent));
  out.key("name").value(span.name).key("kind").value(static_cast<int>(span.kind));
  out.key("startTimeUnixNano").value(nanos(span.start)).key("endTimeUnixNano").value(nanos(span.end));
  out.key("attributes").begin_array();
  for (const auto& [key, value] : span.attributes) write_attribute(out, key, value);
  out.end_array();
  if (span.failed)
    out.key("status").begin_object().key("code").value(2).key("message").value(span.message).end_object();
  out.end_object();
}

// "a=1,b=x%20y"
std::vector<std::pair<std::string, std::string>> parse_headers(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> headers;
  while (!text.empty()) {
    const auto comma = std::min(text.find(','), text.size());
    const auto pair = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    const auto equals = pair.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    const auto value = http::unescape(pair.substr(equals + 1));
    if (!value) continue;
    auto name = pair.substr(0, equals);
    name.remove_prefix(std::min(name.find_first_not_of(' '), name.size()));
    headers.emplace_back(name, *value);
  }
  return headers;
}

}  // namespace

TraceOptions trace_options(const std::function<std::string(std::string_view)>& env) {
  TraceOptions options;
  if (env("OTEL_SDK_DISABLED") == "true") return options;
  options.endpoint = env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
  if (options.endpoint.empty()) {
    options.endpoint = env("OTEL_EXPORTER_OTLP_ENDPOINT");
    if (!options.endpoint.empty()) options.endpoint += options.endpoint.ends_with('/') ? "v1/traces" : "/v1/traces";
  }
  options.headers = parse_headers(env("OTEL_EXPORTER_OTLP_HEADERS"));
  if (auto name = env("OTEL_SERVICE_NAME"); !name.empty()) options.service = std::move(name);
  const auto share = env("OTEL_TRACES_SAMPLER_ARG");
  double value = 1;
  if (std::from_chars(share.data(), share.data() + share.size(), value).ec == std::errc() && value >= 0 && value <= 1)
    options.sample = value;
  return options;
}

std::string otlp_json(const std::string& service, const std::vector<SpanRecord>& spans) {
  std::string json;
  json::Writer out(json);
  out.begin_object().key("resourceSpans").begin_array().begin_object();
  out.key("resource").begin_object().key("attributes").begin_array();
  write_attribute(out, "service.name", service);
  out.end_array().end_object();
  out.key("scopeSpans").begin_array().begin_object();
  out.key("scope").begin_object().key("name").value("kopper").end_object();
  out.key("spans").begin_array();
  for (const auto& span : spans) write_span(out, span);
  out.end_array().end_object().end_array();
  out.end_object().end_array().end_object();
  return json;
}

Span& Span::operator=(Span&& other) noexcept {
  end();
  open_ = std::move(other.open_);
  return *this;
}

void Span::set(std::string_view key, json::Value value) {
  if (!open_ || open_->record.attributes.size() >= kMaxAttributes) return;
  if (auto* text = value.as_string(); text != nullptr && text->size() > kMaxText) text->resize(kMaxText);
  open_->record.attributes.emplace_back(key, std::move(value));
}

void Span::fail(std::string_view why) {
  if (!open_) return;
  open_->record.failed = true;
  open_->record.message = why.substr(0, kMaxText);
}

void Span::end() {
  if (!open_) return;
  const auto open = std::move(open_);
  open->record.end = open->record.start + (rt::Loop::current().now() - open->began);
  open->tracer.record(std::move(open->record));
}

Tracer::Tracer(TraceOptions options) : options_(std::move(options)) {
  if (options_.endpoint.empty()) return;
  const auto url = http::parse_url(options_.endpoint);
  if (!url || (url->scheme != "http" && url->scheme != "https"))
    throw Error(Code::Invalid, fmt::format("tracing: {}: not an http or https URL", options_.endpoint));
  target_ = url->target();
  collector_ = options_.collector;
  if (!collector_) {
    http::ClientOptions client;
    client.origin = *url;
    client.origin.path.clear();
    client.origin.query.clear();
    client.tls = [] { return rt::TlsClientOptions(); };
    client.max_connections = 1;
    collector_ = http::make_client(std::move(client));
  }
  if (options_.metrics != nullptr) {
    constexpr std::string_view kName = "kopper_trace_spans_total";
    exported_ = &options_.metrics->counter(kName, "Spans by what became of them.", {{"result", "exported"}});
    dropped_ = &options_.metrics->counter(kName, "", {{"result", "dropped"}});
  }
  random_.seed((static_cast<std::uint64_t>(std::random_device()()) << 32U) ^ std::random_device()());
  tasks_.spawn(run());
}

Tracer::~Tracer() = default;

Span Tracer::start(std::string_view name, const TraceContext& parent, SpanKind kind, rt::Duration ago) {
  if (!enabled() || stopping_) return {};
  if (parent ? !parent.sampled : std::generate_canonical<double, 32>(random_) >= options_.sample) return {};
  auto& loop = rt::Loop::current();
  auto open = std::make_unique<Span::Open>(Span::Open{.tracer = *this, .began = loop.now() - ago, .record = {}});
  auto& record = open->record;
  record.name = name;
  record.kind = kind;
  record.start = loop.wall_now() - ago;
  record.context.sampled = true;
  record.context.trace_id = parent.trace_id;
  record.parent = parent.span_id;
  if (!parent) fill(record.context.trace_id, random_);
  fill(record.context.span_id, random_);
  return Span(std::move(open));
}

void Tracer::record(SpanRecord record) {
  if (ended_.size() >= options_.queue) {
    if (dropped_ != nullptr) dropped_->inc();
    return;
  }
  ended_.push_back(std::move(record));
  if (ended_.size() >= options_.batch) wake_.set();
}

Task<> Tracer::run() {
  while (!stopping_ || !ended_.empty()) {
    // After a failure the collector is left alone for an interval, however much waits.
    wake_.reset();
    if (!stopping_ && (ended_.size() < options_.batch || !problem_.empty())) {
      try {
        co_await rt::timeout(options_.interval, wake_.wait());
      } catch (const Error& error) {
        if (error.code != Code::Timeout) throw;
      }
    }
    if (!ended_.empty()) co_await send();
    if (stopping_ && !problem_.empty()) co_return;
  }
}

// One batch. What the collector cannot take now stays in the queue; what it refuses does not.
Task<> Tracer::send() {
  const auto count = std::min(ended_.size(), options_.batch);
  std::vector<SpanRecord> spans(std::make_move_iterator(ended_.begin()),
                                std::make_move_iterator(ended_.begin() + static_cast<std::ptrdiff_t>(count)));
  ended_.erase(ended_.begin(), ended_.begin() + static_cast<std::ptrdiff_t>(count));
  std::string problem;
  bool later = false;
  try {
    const int status = co_await rt::timeout(options_.timeout, post(otlp_json(options_.service, spans)));
    if (status >= 300) problem = fmt::format("the collector answers {}", status);
    later = status == 429 || status >= 500;
  } catch (const Error& error) {
    problem = error.what();
    later = true;
  }
  if (!problem.empty() && problem_.empty())
    log::warn("spans are not exported", {{"endpoint", options_.endpoint}, {"error", problem}});
  problem_ = std::move(problem);
  if (problem_.empty()) {
    if (exported_ != nullptr) exported_->inc(static_cast<double>(count));
    co_return;
  }
  std::size_t kept = 0;
  if (later) {
    kept = std::min(count, options_.queue - std::min(options_.queue, ended_.size()));
    ended_.insert(ended_.begin(), std::make_move_iterator(spans.end() - static_cast<std::ptrdiff_t>(kept)),
                  std::make_move_iterator(spans.end()));
  }
  if (dropped_ != nullptr) dropped_->inc(static_cast<double>(count - kept));
}

Task<int> Tracer::post(std::string body) {
  http::Request request;
  request.method = "POST";
  request.target = target_;
  request.headers.set("content-type", "application/json");
  for (const auto& [name, value] : options_.headers) request.headers.set(name, value);
  request.body = std::move(body);
  auto response = co_await collector_->handle(std::move(request));
  co_await http::read_all(*response.body, kMaxAnswer);
  co_return response.status;
}

Task<> Tracer::stop(rt::Duration limit) {
  if (!enabled() || stopping_) co_return;
  stopping_ = true;
  wake_.set();
  try {
    co_await rt::timeout(limit, tasks_.join());
  } catch (const Error& error) {
    log::warn("spans are lost", {{"count", ended_.size()}, {"error", error.what()}});
  }
}

}  // namespace kopper::runtime
