#include "kopper/runtime/rest_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/base/error.h"
#include "kopper/client/fake_server.h"
#include "kopper/rt/loop.h"

namespace kopper::runtime {
namespace {

using testing::HasSubstr;

TEST(RestMetrics, CountsEachRequest) {
  rt::Loop loop{rt::ClockMode::Manual};
  metrics::Registry metrics;
  const auto server = std::make_shared<client::FakeServer>();
  const auto handler = counted(server, metrics, "api:6443");
  server->then(200, "").then(200, "").then(409, "").then_unreachable();
  http::Request request;
  loop.run(handler->handle(request));
  loop.run(handler->handle(request));
  request.method = "PUT";
  loop.run(handler->handle(request));
  EXPECT_THROW(loop.run(handler->handle(request)), Error);
  const auto text = metrics.text();
  EXPECT_THAT(text, HasSubstr(R"(rest_client_requests_total{code="200",host="api:6443",method="GET"} 2)"));
  EXPECT_THAT(text, HasSubstr(R"(rest_client_requests_total{code="409",host="api:6443",method="PUT"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(rest_client_requests_total{code="<error>",host="api:6443",method="PUT"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(rest_client_request_duration_seconds_count{host="api:6443",verb="PUT"} 2)"));
}

}  // namespace
}  // namespace kopper::runtime
