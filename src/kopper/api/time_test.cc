#include "kopper/api/time.h"

#include <gtest/gtest.h>

namespace kopper::api {
namespace {

using namespace std::chrono_literals;
using std::chrono::sys_days;

std::string time(std::string_view text) {
  const auto t = Time::parse(text);
  return t ? t->str() : "error: " + t.error().what;
}
std::string micro(std::string_view text) {
  const auto t = MicroTime::parse(text);
  return t ? t->str() : "error: " + t.error().what;
}

TEST(Time, PrintsWhatItRead) {
  EXPECT_EQ(time("2026-01-31T10:00:59Z"), "2026-01-31T10:00:59Z");
  EXPECT_EQ(time("1970-01-01T00:00:00Z"), "1970-01-01T00:00:00Z");
  EXPECT_EQ(time("1969-12-31T23:59:59Z"), "1969-12-31T23:59:59Z");
  EXPECT_EQ(time("9999-12-31T23:59:59Z"), "9999-12-31T23:59:59Z");
  EXPECT_EQ(micro("2026-01-31T10:00:00.000001Z"), "2026-01-31T10:00:00.000001Z");
  EXPECT_EQ(micro("2026-01-31T10:00:00Z"), "2026-01-31T10:00:00.000000Z");
  EXPECT_EQ(micro("1969-12-31T23:59:59.5Z"), "1969-12-31T23:59:59.500000Z");
}

TEST(Time, ReadsOffsetsAndFractions) {
  EXPECT_EQ(time("2026-01-31T11:30:00+01:30"), "2026-01-31T10:00:00Z");
  EXPECT_EQ(time("2026-12-31T23:00:00-02:00"), "2027-01-01T01:00:00Z");
  EXPECT_EQ(time("2026-01-31T10:00:00.999999999Z"), "2026-01-31T10:00:00Z");
  EXPECT_EQ(micro("2026-01-31T10:00:00.123456789Z"), "2026-01-31T10:00:00.123456Z");
  EXPECT_EQ(time("2024-02-29T00:00:00Z"), "2024-02-29T00:00:00Z");
}

TEST(Time, RefusesWhatIsNotATime) {
  for (const auto* text :
       {"", "2026-01-31", "2026-01-31T10:00Z", "2026-02-30T10:00:00Z", "2025-02-29T00:00:00Z", "2026-13-01T00:00:00Z",
        "2026-01-31T24:00:00Z", "2026-01-31T10:60:00Z", "2026-01-31T10:00:60Z", "2026-01-31T10:00:00",
        "2026-01-31T10:00:00+0100", "2026-01-31T10:00:00+24:00", "2026-01-31T10:00:00.Z", "2026-01-31T10:00:00Zx",
        "x026-01-31T10:00:00Z"}) {
    EXPECT_FALSE(Time::parse(text).has_value()) << text;
  }
}

TEST(Time, UnsetIsNotTheEpoch) {
  EXPECT_FALSE(Time{}.is_set());
  EXPECT_EQ(Time{}.str(), "");
  EXPECT_TRUE(Time(std::chrono::sys_seconds{}).is_set());
  EXPECT_FALSE(*Time::parse("0001-01-01T00:00:00Z"));
  EXPECT_LT(Time{}, *Time::parse("0002-01-01T00:00:00Z"));
}

TEST(Time, ConvertsToChrono) {
  const auto t = *Time::parse("2026-01-31T10:00:00Z");
  EXPECT_EQ(t.point(), sys_days{std::chrono::year{2026} / 1 / 31} + 10h);
  EXPECT_EQ(Time(t.point() + 999ms), t);
  EXPECT_EQ(Time(std::chrono::sys_time<std::chrono::milliseconds>{-1ms}).str(), "1969-12-31T23:59:59Z");
  EXPECT_LT(t, Time(t.point() + 1s));
  EXPECT_EQ(MicroTime(t.point()).str(), "2026-01-31T10:00:00.000000Z");
}

}  // namespace
}  // namespace kopper::api
