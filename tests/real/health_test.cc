// Who may read metrics, as a real server says.
#include "kopper/runtime/health.h"

#include <gtest/gtest.h>

#include "kopper/http/client.h"
#include "kopper/http/url.h"
#include "kopper/runtime/health_guard.h"

#include "real/connect.h"

namespace kopper::testing {
namespace {

struct MetricsGuard : Real {
  int get(const std::string& token) {
    http::Request request;
    request.target = "/metrics";
    if (!token.empty()) request.headers.set("authorization", "Bearer " + token);
    http::ClientOptions options;
    options.origin = *http::parse_url("https://127.0.0.1:" + std::to_string(server.metrics_port()));
    options.tls = [] {
      rt::TlsClientOptions tls;
      tls.insecure = true;
      return tls;
    };
    const auto prometheus = http::make_client(std::move(options));
    return run(prometheus->handle(std::move(request))).status;
  }
  runtime::HealthOptions options() {
    runtime::HealthOptions made;
    made.probe_address = "0";
    made.metrics_address = "127.0.0.1:0";
    made.metrics_tls = runtime::self_made_tls();
    made.metrics_guard = client;
    return made;
  }
  runtime::HealthChecks checks;
  metrics::Registry metrics;
  runtime::HealthServer server{checks, metrics, options()};
};

TEST_F(MetricsGuard, AsksTheServer) {
  EXPECT_EQ(get(cluster().admin_token()), 200);
  EXPECT_EQ(get(cluster().nobody_token()), 403);
  EXPECT_EQ(get("no-token-of-anybody"), 401);
  EXPECT_EQ(get(""), 401);
}

}  // namespace
}  // namespace kopper::testing
