#include "kopper/runtime/tracing.h"

#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/api/names.h"
#include "kopper/base/error.h"
#include "kopper/client/api.h"
#include "kopper/client/fake_server.h"
#include "kopper/http/server.h"

namespace kopper::runtime {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

// Takes exports and reads them as a collector does.
class Collector final : public http::Handler {
 public:
  Task<http::Response> handle(http::Request request) override {
    ++posts;
    last = request;
    if (away) throw Error(Code::Unavailable, "connection refused");
    if (status == 200) {
      const auto body = *json::parse(request.body);
      const auto& part = body["resourceSpans"][0];
      service = part["resource"]["attributes"][0]["value"].text("stringValue");
      for (const auto& span : *part["scopeSpans"][0]["spans"].as_array()) spans.push_back(span);
    }
    co_return http::text_response(status, "{}", "application/json");
  }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& span : spans) all.emplace_back(span.text("name"));
    return all;
  }
  static std::map<std::string, std::string> attributes(const json::Value& span) {
    std::map<std::string, std::string> all;
    for (const auto& a : *span["attributes"].as_array())
      for (const auto& [type, value] : *a["value"].as_object())
        all[std::string(a.text("key"))] = value.is_string() ? *value.as_string() : json::dump(value);
    return all;
  }

  bool away = false;
  int status = 200;
  int posts = 0;
  http::Request last;
  std::string service;
  std::vector<json::Value> spans;
};

struct TracingTest : testing::Test {
  TraceOptions options() {
    TraceOptions made;
    made.endpoint = "http://collector:4318/v1/traces";
    made.service = "memcached";
    made.headers = {{"authorization", "Bearer x"}};
    made.queue = 8;
    made.batch = 4;
    made.metrics = &metrics;
    made.collector = collector;
    return made;
  }
  rt::Loop loop{rt::ClockMode::Manual};
  metrics::Registry metrics;
  std::shared_ptr<Collector> collector = std::make_shared<Collector>();
};

TEST(TraceContext, ReadsWhatItWrites) {
  constexpr std::string_view kHeader = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  const auto context = TraceContext::parse(kHeader);
  ASSERT_TRUE(context);
  EXPECT_TRUE(context->sampled);
  EXPECT_EQ(context->str(), kHeader);
  EXPECT_FALSE(TraceContext::parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00")->sampled);
  EXPECT_TRUE(TraceContext::parse("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what-the-future-brings"));
  for (const auto* bad : {"", "00", "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                          "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
                          "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
                          "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
                          "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
                          "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01more",
                          "00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01"})
    EXPECT_FALSE(TraceContext::parse(bad)) << bad;
}

TEST(TraceOptions, ComeFromTheEnvironment) {
  std::map<std::string, std::string, std::less<>> set;
  const auto env = [&](std::string_view name) {
    const auto found = set.find(name);
    return found == set.end() ? std::string() : found->second;
  };
  EXPECT_EQ(trace_options(env).endpoint, "");
  set["OTEL_EXPORTER_OTLP_ENDPOINT"] = "http://c:4318";
  set["OTEL_EXPORTER_OTLP_HEADERS"] = "a=1, b=x%20y,bad";
  set["OTEL_SERVICE_NAME"] = "web";
  set["OTEL_TRACES_SAMPLER_ARG"] = "0.25";
  const auto options = trace_options(env);
  EXPECT_EQ(options.endpoint, "http://c:4318/v1/traces");
  EXPECT_THAT(options.headers, ElementsAre(testing::Pair("a", "1"), testing::Pair("b", "x y")));
  EXPECT_EQ(options.service, "web");
  EXPECT_EQ(options.sample, 0.25);
  set["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] = "http://d/x";
  EXPECT_EQ(trace_options(env).endpoint, "http://d/x");
  set["OTEL_SDK_DISABLED"] = "true";
  EXPECT_EQ(trace_options(env).endpoint, "");
}

TEST_F(TracingTest, WithoutAnEndpointThereIsNothing) {
  Tracer tracer;
  EXPECT_FALSE(tracer.enabled());
  auto span = tracer.start("reconcile");
  span.set("a", 1);
  span.fail("x");
  EXPECT_FALSE(span);
  EXPECT_FALSE(span.context());
  EXPECT_EQ(loop.next_timer(), rt::TimePoint::max());
  loop.run(tracer.stop());
  EXPECT_THROW(Tracer(TraceOptions{.endpoint = "collector:4318"}), Error);
}

TEST_F(TracingTest, ParentsAndChildren) {
  Tracer tracer(options());
  {
    auto run = tracer.start("reconcile");
    run.set("key", "demo/web");
    run.set("tries", 3);
    run.set("first", true);
    run.set("share", 0.5);
    loop.advance(10ms);
    auto child = tracer.start("apply", run.context());
    child.fail("conflict");
    loop.advance(5ms);
    child.end();
    child.end();  // once is enough
    const auto waited = tracer.start("queue", run.context(), SpanKind::Internal, 12ms);
  }
  EXPECT_EQ(collector->posts, 0) << "in batches, not one by one";
  loop.advance(5s);
  EXPECT_EQ(collector->posts, 1);
  EXPECT_EQ(collector->service, "memcached");
  EXPECT_EQ(collector->last.target, "/v1/traces");
  EXPECT_EQ(collector->last.headers.get("content-type"), "application/json");
  EXPECT_EQ(collector->last.headers.get("authorization"), "Bearer x");
  ASSERT_THAT(collector->names(), ElementsAre("apply", "queue", "reconcile"));
  const auto& [apply, queue, run] = std::tie(collector->spans[0], collector->spans[1], collector->spans[2]);
  EXPECT_EQ(apply.text("traceId"), run.text("traceId"));
  EXPECT_EQ(apply.text("traceId").size(), 32U);
  EXPECT_EQ(apply.text("parentSpanId"), run.text("spanId"));
  EXPECT_TRUE(run["parentSpanId"].is_null());
  EXPECT_EQ(apply["status"]["code"], json::Value(2));
  EXPECT_EQ(apply["status"].text("message"), "conflict");
  EXPECT_TRUE(run["status"].is_null());
  EXPECT_EQ(run["kind"], json::Value(1));
  EXPECT_THAT(Collector::attributes(run), ElementsAre(testing::Pair("first", "true"), testing::Pair("key", "demo/web"),
                                                      testing::Pair("share", "0.5"), testing::Pair("tries", "3")));
  const auto begin = std::stoull(std::string(run.text("startTimeUnixNano")));
  EXPECT_EQ(begin, 1767225600000000000U);  // 2026-01-01
  EXPECT_EQ(std::stoull(std::string(apply.text("startTimeUnixNano"))), begin + 10'000'000);
  EXPECT_EQ(std::stoull(std::string(apply.text("endTimeUnixNano"))), begin + 15'000'000);
  EXPECT_EQ(std::stoull(std::string(queue.text("startTimeUnixNano"))), begin + 3'000'000);
  EXPECT_THAT(metrics.text(), HasSubstr("kopper_trace_spans_total{result=\"exported\"} 3\n"));
}

TEST_F(TracingTest, AFullBatchIsSentAtOnce) {
  Tracer tracer(options());
  loop.poll();
  for (int i = 0; i < 4; ++i) tracer.start("x").end();
  loop.poll();
  EXPECT_EQ(collector->spans.size(), 4U);
}

TEST_F(TracingTest, ACollectorThatComesBackGetsWhatWaited) {
  Tracer tracer(options());
  collector->away = true;
  tracer.start("a").end();
  loop.advance(20s);
  EXPECT_EQ(collector->posts, 4) << "tried once an interval";
  collector->away = false;
  tracer.start("b").end();
  loop.advance(5s);
  EXPECT_THAT(collector->names(), ElementsAre("a", "b"));
}

TEST_F(TracingTest, WhatDoesNotFitIsDroppedAndCounted) {
  Tracer tracer(options());
  collector->away = true;
  for (int i = 0; i < 20; ++i) {
    tracer.start("x").end();
    loop.advance(1s);
  }
  collector->away = false;
  loop.advance(15s);
  EXPECT_EQ(collector->spans.size(), 8U);
  EXPECT_THAT(metrics.text(), HasSubstr("kopper_trace_spans_total{result=\"dropped\"} 12\n"));
}

TEST_F(TracingTest, WhatIsRefusedIsNotSentAgain) {
  Tracer tracer(options());
  collector->status = 400;
  tracer.start("x").end();
  loop.advance(20s);
  EXPECT_EQ(collector->posts, 1);
  EXPECT_THAT(metrics.text(), HasSubstr("kopper_trace_spans_total{result=\"dropped\"} 1\n"));
}

TEST_F(TracingTest, StoppingSendsWhatIsLeft) {
  Tracer tracer(options());
  for (int i = 0; i < 6; ++i) tracer.start("x").end();
  loop.run(tracer.stop());
  EXPECT_EQ(collector->spans.size(), 6U);
  EXPECT_FALSE(tracer.start("late"));
}

TEST_F(TracingTest, StoppingWithoutACollectorEnds) {
  Tracer tracer(options());
  collector->away = true;
  tracer.start("x").end();
  loop.run(tracer.stop());
  EXPECT_EQ(collector->posts, 1);
}

TEST_F(TracingTest, AShareOfTheTraces) {
  auto some = options();
  some.sample = 0.3;
  some.queue = 10'000;
  some.batch = 10'000;
  Tracer tracer(some);
  int made = 0;
  for (int i = 0; i < 1000; ++i) {
    const auto root = tracer.start("x");
    if (root) ++made;
  }
  EXPECT_GT(made, 200);
  EXPECT_LT(made, 400);
  TraceContext theirs = *TraceContext::parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(tracer.start("x", theirs)) << "others decided";
  theirs.sampled = false;
  EXPECT_FALSE(tracer.start("x", theirs));
}

TEST_F(TracingTest, ApiCallsAreClientSpans) {
  Tracer tracer(options());
  const auto server = std::make_shared<client::FakeServer>();
  server->then(200, R"({"metadata":{"name":"web"}})").then(404, client::status_json(404, "NotFound", "no"));
  std::string parent;
  {
    const auto run = tracer.start("reconcile");
    parent = run.context().str();
    const client::Client client(traced(server, tracer, run.context(), "api:6443"));
    loop.run(client.of<Deployment>().get(Key("demo", "web")));
    EXPECT_FALSE(loop.run(client.of<Pod>().find(Key("demo", "web"))));
  }
  loop.run(tracer.stop());
  ASSERT_THAT(collector->names(), ElementsAre("GET deployments", "GET pods", "reconcile"));
  const auto& call = collector->spans[0];
  EXPECT_EQ(call["kind"], json::Value(3));
  EXPECT_THAT(std::string(*server->seen[0].headers.get("traceparent")),
              "00-" + std::string(call.text("traceId")) + "-" + std::string(call.text("spanId")) + "-01");
  EXPECT_THAT(parent, HasSubstr(std::string(call.text("parentSpanId"))));
  const auto attributes = Collector::attributes(call);
  EXPECT_EQ(attributes.at("http.request.method"), "GET");
  EXPECT_EQ(attributes.at("url.path"), "/apis/apps/v1/namespaces/demo/deployments/web");
  EXPECT_EQ(attributes.at("http.response.status_code"), "200");
  EXPECT_EQ(attributes.at("server.address"), "api:6443");
  EXPECT_EQ(collector->spans[1]["status"].text("message"), "HTTP 404");
}

TEST_F(TracingTest, NamesOfCallsAreFew) {
  Tracer tracer(options());
  const auto server = std::make_shared<client::FakeServer>();
  const auto run = tracer.start("reconcile");
  const auto handler = traced(server, tracer, run.context(), "api");
  std::vector<std::string> names;
  for (const auto* target : {"/api/v1/namespaces/demo/pods?limit=5", "/api/v1/namespaces", "/api/v1/namespaces/demo",
                             "/apis/apps/v1/namespaces/demo/deployments/web/scale", "/version", "/apis"}) {
    server->then(200, "");
    http::Request request;
    request.target = target;
    loop.run(handler->handle(std::move(request)));
  }
  loop.advance(10s);
  EXPECT_THAT(collector->names(), ElementsAre("GET pods", "GET namespaces", "GET namespaces", "GET deployments/scale",
                                              "GET /version", "GET /apis"));
}

TEST_F(TracingTest, CallsOfNobodyAreNotTraced) {
  Tracer tracer(options());
  const auto server = std::make_shared<client::FakeServer>();
  const auto handler = traced(server, tracer, TraceContext(), "api");
  server->then(200, "").then(200, "").then_unreachable();
  http::Request request;
  loop.run(handler->handle(request));
  EXPECT_FALSE(server->seen[0].headers.get("traceparent"));
  request.headers.set("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
  loop.run(handler->handle(request));
  EXPECT_THAT(std::string(*server->seen[1].headers.get("traceparent")),
              StartsWith("00-4bf92f3577b34da6a3ce929d0e0e4736-"));
  EXPECT_THROW(loop.run(handler->handle(request)), Error);
  loop.run(tracer.stop());
  ASSERT_EQ(collector->spans.size(), 2U);
  EXPECT_EQ(collector->spans[0].text("parentSpanId"), "00f067aa0ba902b7");
  EXPECT_THAT(std::string(collector->spans[1]["status"].text("message")), HasSubstr("connection refused"));
}

// Over a socket, as it is in a cluster.
TEST(Tracing, ToACollectorOnLoopback) {
  rt::Loop loop;
  Collector collector;
  http::Server server(rt::Listener::tcp(), collector);
  TraceOptions options;
  options.endpoint = "http://127.0.0.1:" + std::to_string(server.port()) + "/v1/traces";
  Tracer tracer(options);
  tracer.start("x").end();
  loop.run(tracer.stop());
  EXPECT_THAT(collector.names(), ElementsAre("x"));
  EXPECT_EQ(collector.last.target, "/v1/traces");
}

}  // namespace
}  // namespace kopper::runtime
