#include "kopper/runtime/health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/base/error.h"
#include "kopper/client/fake_server.h"
#include "kopper/http/client.h"
#include "kopper/http/url.h"

namespace kopper::runtime {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

struct Answer {
  int status = 0;
  std::string body;
  std::string type;
};

Task<Answer> ask(http::Handler* handler, std::string target, std::string method = "GET") {
  http::Request request;
  request.method = std::move(method);
  request.target = std::move(target);
  auto response = co_await handler->handle(std::move(request));
  Answer answer;
  answer.status = response.status;
  answer.type = response.headers.get("content-type").value_or("");
  answer.body = co_await http::read_all(*response.body);
  co_return answer;
}

struct ChecksTest : testing::Test {
  Answer get(std::string target, std::string method = "GET") {
    return loop.run(ask(handler.get(), std::move(target), std::move(method)));
  }
  rt::Loop loop{rt::ClockMode::Manual};
  HealthChecks checks;
  std::unique_ptr<http::Handler> handler = probe_handler(checks);
};

TEST_F(ChecksTest, WithoutChecksAllIsWell) {
  for (const auto* path : {"/healthz", "/livez", "/readyz", "/readyz/", "/healthz/ping"}) {
    EXPECT_EQ(get(path).status, 200) << path;
    EXPECT_EQ(get(path).body, "ok") << path;
  }
  EXPECT_EQ(get("/healthz?verbose").body, "[+]ping ok\nhealthz check passed\n");
}

TEST_F(ChecksTest, OneThatFailsFailsAll) {
  std::string problem = "the secret is hunter2";
  checks.ready("cache", [&] { return problem; });
  checks.ready("queue", [] { return std::string(); });
  const auto answer = get("/readyz");
  EXPECT_EQ(answer.status, 500);
  EXPECT_EQ(answer.body, "[-]cache failed: reason withheld\n[+]queue ok\nreadyz check failed\n");
  EXPECT_EQ(get("/livez").status, 200);
  EXPECT_EQ(get("/readyz/cache").status, 500);
  EXPECT_EQ(get("/readyz/queue").body, "ok");
  EXPECT_EQ(get("/readyz/none").status, 404);
  EXPECT_EQ(get("/readyz?exclude=cache").body, "ok");
  EXPECT_EQ(get("/readyz?exclude=cache&verbose=1").body, "[+]cache excluded: ok\n[+]queue ok\nreadyz check passed\n");
  EXPECT_THAT(get("/readyz?exclude=cache&exclude=x&verbose").body, HasSubstr("no check \"x\" to exclude"));
  problem = "";
  EXPECT_EQ(get("/readyz?verbose").body, "[+]cache ok\n[+]queue ok\nreadyz check passed\n");
}

TEST_F(ChecksTest, OneThatThrowsFails) {
  checks.live("odd", []() -> std::string { throw Error(Code::Internal, "oh"); });
  EXPECT_EQ(get("/livez").status, 500);
  EXPECT_EQ(get("/healthz/odd").status, 500);
}

TEST_F(ChecksTest, OtherRequestsAreRefused) {
  EXPECT_EQ(get("/").status, 404);
  EXPECT_EQ(get("/healthzz").status, 404);
  EXPECT_EQ(get("/healthz", "POST").status, 405);
  EXPECT_EQ(get("/healthz?exclude=%zz").status, 400);
}

TEST(Metrics, AreServedAsText) {
  rt::Loop loop{rt::ClockMode::Manual};
  metrics::Registry metrics;
  metrics.counter("things_total", "Things.").inc();
  const auto handler = metrics_handler(metrics);
  const auto answer = loop.run(ask(handler.get(), "/metrics"));
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(answer.body, HasSubstr("things_total 1\n"));
  EXPECT_EQ(answer.type, "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_EQ(loop.run(ask(handler.get(), "/metricsx")).status, 404);
  EXPECT_EQ(loop.run(ask(handler.get(), "/metrics", "DELETE")).status, 405);
}

TEST(BindAddress, IsReadFromAFlag) {
  EXPECT_EQ(parse_bind_address("0"), std::nullopt);
  EXPECT_EQ(parse_bind_address(""), std::nullopt);
  EXPECT_EQ(parse_bind_address(":8081"), (BindAddress{"", 8081}));
  EXPECT_EQ(parse_bind_address("127.0.0.1:0"), (BindAddress{"127.0.0.1", 0}));
  EXPECT_EQ(parse_bind_address("localhost:1"), (BindAddress{"127.0.0.1", 1}));
  EXPECT_EQ(parse_bind_address("[::1]:80"), (BindAddress{"::1", 80}));
  for (const auto* bad : {"8081", "a:", "a:b", "a:99999", "::1:80", ":80x"})
    EXPECT_THROW(parse_bind_address(bad), Error) << bad;
}

// On sockets of loopback.
struct ServerTest : testing::Test {
  Answer get(std::string scheme, std::uint16_t port, std::string target, std::string host = "127.0.0.1") {
    http::ClientOptions options;
    options.origin = *http::parse_url(scheme + "://" + host + ":" + std::to_string(port));
    options.tls = [] {
      rt::TlsClientOptions tls;
      tls.insecure = true;
      return tls;
    };
    const auto client = http::make_client(std::move(options));
    return loop.run(ask(client.get(), std::move(target)));
  }
  static HealthOptions any_port() {
    HealthOptions options;
    options.probe_address = "127.0.0.2:0";
    options.metrics_address = "127.0.0.1:0";
    return options;
  }
  rt::Loop loop;
  HealthChecks checks;
  metrics::Registry metrics;
};

TEST_F(ServerTest, TwoAddresses) {
  HealthServer server(checks, metrics, any_port());
  EXPECT_EQ(get("http", server.probe_port(), "/healthz", "127.0.0.2").body, "ok");
  EXPECT_EQ(get("http", server.probe_port(), "/metrics", "127.0.0.2").status, 404);
  EXPECT_EQ(get("http", server.metrics_port(), "/metrics").status, 200);
  EXPECT_EQ(get("http", server.metrics_port(), "/healthz").status, 404);
  loop.run(server.stop(1s));
}

TEST_F(ServerTest, OneAddress) {
  auto options = any_port();
  options.probe_address = options.metrics_address;
  HealthServer server(checks, metrics, options);
  EXPECT_EQ(server.probe_port(), server.metrics_port());
  EXPECT_EQ(get("http", server.metrics_port(), "/healthz").body, "ok");
  EXPECT_EQ(get("http", server.metrics_port(), "/metrics").status, 200);
}

TEST_F(ServerTest, OffAndAll) {
  auto options = any_port();
  options.probe_address = "0";
  options.metrics_address = ":0";
  HealthServer server(checks, metrics, options);
  EXPECT_EQ(server.probe_port(), 0);
  EXPECT_EQ(get("http", server.metrics_port(), "/metrics").status, 200);
}

TEST_F(ServerTest, MetricsOverTls) {
  auto options = any_port();
  options.metrics_tls = self_made_tls();
  HealthServer server(checks, metrics, options);
  EXPECT_EQ(get("https", server.metrics_port(), "/metrics").status, 200);
  EXPECT_EQ(get("http", server.probe_port(), "/readyz", "127.0.0.2").status, 200) << "a kubelet asks without TLS";
}

TEST_F(ServerTest, ProfilesOnlyWhenAskedFor) {
  HealthServer without(checks, metrics, any_port());
  EXPECT_EQ(get("http", without.metrics_port(), "/debug/pprof/heap").status, 404);
  auto options = any_port();
  options.profiling = true;
  HealthServer with(checks, metrics, options);
  EXPECT_EQ(get("http", with.metrics_port(), "/debug/pprof/heap").status, 200);
  EXPECT_EQ(get("http", with.metrics_port(), "/metrics").status, 200);
  options.metrics_guard = client::Client(std::make_shared<client::FakeServer>());
  HealthServer guarded(checks, metrics, options);
  EXPECT_EQ(get("http", guarded.metrics_port(), "/debug/pprof/heap").status, 401);
}

TEST_F(ServerTest, GuardedMetrics) {
  auto options = any_port();
  options.metrics_guard = client::Client(std::make_shared<client::FakeServer>());
  HealthServer server(checks, metrics, options);
  EXPECT_EQ(get("http", server.metrics_port(), "/metrics").status, 401);
  EXPECT_EQ(get("http", server.probe_port(), "/readyz", "127.0.0.2").status, 200);
}

}  // namespace
}  // namespace kopper::runtime
