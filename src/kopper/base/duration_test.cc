#include "kopper/base/duration.h"

#include <gtest/gtest.h>

namespace kopper {
namespace {

using namespace std::chrono_literals;

TEST(Duration, ReadsWhatFlagsHave) {
  EXPECT_EQ(parse_duration("15s"), 15s);
  EXPECT_EQ(parse_duration("10m"), 10min);
  EXPECT_EQ(parse_duration("1h0m0s"), 1h);
  EXPECT_EQ(parse_duration("1h30m"), 90min);
  EXPECT_EQ(parse_duration("90"), 90s);
  EXPECT_EQ(parse_duration("0"), 0s);
  for (const char* bad : {"", "s", "-5s", "5d", "1.5h", "x", "99999999999s", "5s x"})
    EXPECT_EQ(parse_duration(bad), std::nullopt) << bad;
}

}  // namespace
}  // namespace kopper
