#include "kopper/runtime/backoff.h"

#include <gtest/gtest.h>

namespace kopper::runtime {
namespace {

using namespace std::chrono_literals;

TEST(Backoff, DoublesFromFiveMillisecondsToAThousandSeconds) {
  const Backoff backoff;
  EXPECT_EQ(backoff.delay(0), 5ms);
  EXPECT_EQ(backoff.delay(1), 10ms);
  EXPECT_EQ(backoff.delay(17), 655360ms);
  EXPECT_EQ(backoff.delay(18), 1000s);
  EXPECT_EQ(backoff.delay(4'000'000'000U), 1000s);
}

TEST(Backoff, JitterOnlyAddsAlsoAtTheCap) {
  const Backoff backoff{.jitter = 0.5};
  EXPECT_EQ(backoff.delay(0, 0), 5ms);
  EXPECT_EQ(backoff.delay(1, 0.5), 12500us);
  EXPECT_EQ(backoff.delay(100, 0.5), 1250s);
}

}  // namespace
}  // namespace kopper::runtime
