#include "kopper/client/retry.h"

#include <gtest/gtest.h>

namespace kopper::client {
namespace {

using namespace std::chrono_literals;

http::Request request(const char* method) {
  http::Request made;
  made.method = method;
  return made;
}

Error failure(Code code, int status, std::optional<std::chrono::milliseconds> after = {}) {
  Error error(code, "x");
  error.http_status = status;
  error.retry_after = after;
  return error;
}

TEST(BackoffTest, DoublesToItsMaximum) {
  const Backoff backoff{.initial = 800ms, .max = 30s, .jitter = 0.5};
  EXPECT_EQ(backoff.delay(1, 0), 800ms);
  EXPECT_EQ(backoff.delay(2, 0), 1600ms);
  EXPECT_EQ(backoff.delay(1, 0.5), 600ms);
  EXPECT_EQ(backoff.delay(1000, 0), 30s);
}

TEST(RetryTest, ReadsAreRepeatedAfterAnyPassingFailure) {
  EXPECT_EQ(retry_delay(request("GET"), failure(Code::Unavailable, 0), 1, 0), 100ms);
  EXPECT_EQ(retry_delay(request("GET"), failure(Code::Unavailable, 502), 2, 0), 200ms);
  EXPECT_EQ(retry_delay(request("GET"), failure(Code::Timeout, 504), 1, 0), 100ms);
  EXPECT_FALSE(retry_delay(request("GET"), failure(Code::Timeout, 0), 1, 0));
  EXPECT_FALSE(retry_delay(request("GET"), failure(Code::Forbidden, 403), 1, 0));
}

TEST(RetryTest, WritesOnlyWhenTheServerDidNotBegin) {
  for (const auto* method : {"POST", "PUT", "PATCH", "DELETE"}) {
    EXPECT_TRUE(retry_delay(request(method), failure(Code::TooMany, 429), 1, 0)) << method;
    EXPECT_TRUE(retry_delay(request(method), failure(Code::Unavailable, 503, 1s), 1, 0)) << method;
    EXPECT_FALSE(retry_delay(request(method), failure(Code::Unavailable, 503), 1, 0)) << method;
    EXPECT_FALSE(retry_delay(request(method), failure(Code::Unavailable, 500), 1, 0)) << method;
    EXPECT_FALSE(retry_delay(request(method), failure(Code::Unavailable, 0), 1, 0)) << method;
    EXPECT_FALSE(retry_delay(request(method), failure(Code::Timeout, 504), 1, 0)) << method;
  }
}

TEST(RetryTest, HonoursRetryAfterUnlessItAsksTooMuch) {
  EXPECT_EQ(retry_delay(request("GET"), failure(Code::TooMany, 429, 5s), 1, 0), 5s + 100ms);
  EXPECT_FALSE(retry_delay(request("GET"), failure(Code::TooMany, 429, 60s), 1, 0));
}

TEST(RateLimitTest, BurstThenSteady) {
  RateLimit limit(10, 2);
  EXPECT_EQ(limit.take(0s), 0s);
  EXPECT_EQ(limit.take(0s), 0s);
  EXPECT_EQ(limit.take(0s), 100ms);
  EXPECT_EQ(limit.take(0s), 200ms);
  EXPECT_EQ(limit.take(1s), 0s);
}

}  // namespace
}  // namespace kopper::client
