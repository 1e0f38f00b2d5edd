#include "kopper/workloads/cron_schedule.h"

#include <gtest/gtest.h>

#include "kopper/api/time.h"

namespace kopper::workloads {
namespace {

using std::chrono::sys_seconds;

sys_seconds at(std::string_view text) { return api::Time::parse(text).value().point(); }
std::string text(std::optional<sys_seconds> time) { return time ? api::Time(*time).str() : "never"; }

std::string next(std::string_view schedule, std::string_view after, const TimeZone& zone = TimeZone()) {
  const auto parsed = CronSchedule::parse(schedule);
  return parsed ? text(parsed->next(at(after), zone)) : parsed.error().what;
}

TEST(CronSchedule, FiveFields) {
  EXPECT_EQ(next("* * * * *", "2026-03-10T10:00:00Z"), "2026-03-10T10:01:00Z");
  EXPECT_EQ(next("*/15 * * * *", "2026-03-10T10:07:31Z"), "2026-03-10T10:15:00Z");
  EXPECT_EQ(next("5,35 8-10 * * *", "2026-03-10T10:35:00Z"), "2026-03-11T08:05:00Z");
  EXPECT_EQ(next("7/20 * * * *", "2026-03-10T10:28:00Z"), "2026-03-10T10:47:00Z");
  EXPECT_EQ(next("0 0 1 JAN *", "2026-03-10T10:28:00Z"), "2027-01-01T00:00:00Z");
  EXPECT_EQ(next("30 6 * * mon-Fri", "2026-03-13T06:30:00Z"), "2026-03-16T06:30:00Z") << "after a Friday";
  EXPECT_EQ(next("0 12 29 2 *", "2026-03-10T10:28:00Z"), "2028-02-29T12:00:00Z");
  EXPECT_EQ(next("0 0 31 2 *", "2026-03-10T10:28:00Z"), "never");
  EXPECT_EQ(next("10-20/5 * * * ?", "2026-03-10T10:15:00Z"), "2026-03-10T10:20:00Z");
}

TEST(CronSchedule, EitherDayCountsWhenBothAreNamed) {
  EXPECT_EQ(next("0 0 13 * fri", "2026-03-10T00:00:00Z"), "2026-03-13T00:00:00Z");
  EXPECT_EQ(next("0 0 13 * fri", "2026-03-13T00:00:00Z"), "2026-03-20T00:00:00Z") << "a Friday";
  EXPECT_EQ(next("0 0 */2 * fri", "2026-03-13T00:00:00Z"), "2026-03-15T00:00:00Z") << "with a step it is named";
}

TEST(CronSchedule, Words) {
  EXPECT_EQ(next("@hourly", "2026-03-10T10:28:00Z"), "2026-03-10T11:00:00Z");
  EXPECT_EQ(next("@daily", "2026-03-10T10:28:00Z"), "2026-03-11T00:00:00Z");
  EXPECT_EQ(next("@weekly", "2026-03-10T10:28:00Z"), "2026-03-15T00:00:00Z");
  EXPECT_EQ(next("@monthly", "2026-03-10T10:28:00Z"), "2026-04-01T00:00:00Z");
  EXPECT_EQ(next("@yearly", "2026-03-10T10:28:00Z"), "2027-01-01T00:00:00Z");
  EXPECT_EQ(next("@every 90s", "2026-03-10T10:28:00Z"), "2026-03-10T10:29:30Z");
}

TEST(CronSchedule, NoSchedules) {
  for (const auto* bad : {"",
                          "* * * *",
                          "* * * * * *",
                          "60 * * * *",
                          "* 24 * * *",
                          "* * 0 * *",
                          "* * * 13 *",
                          "* * * * 7",
                          "5-1 * * * *",
                          "*/0 * * * *",
                          "a * * * *",
                          "1-2-3 * * * *",
                          "1/2/3 * * * *",
                          "-1 * * * *",
                          ", * * * *",
                          "@sometimes",
                          "@every",
                          "@every x",
                          "* * * * monday",
                          "*-5 * * * *",
                          "99999999999999999999 * * * *"}) {
    EXPECT_FALSE(CronSchedule::parse(bad)) << bad;
  }
}

TEST(CronSchedule, TheLastTimeThatWasMissed) {
  const auto last = [](std::string_view schedule, std::string_view from, std::string_view to) {
    return text(CronSchedule::parse(schedule)->last(at(from), at(to), TimeZone()));
  };
  EXPECT_EQ(last("* * * * *", "2020-01-01T00:00:00Z", "2026-03-10T10:00:30Z"), "2026-03-10T10:00:00Z");
  EXPECT_EQ(last("0 0 1 1 *", "2020-01-01T00:00:00Z", "2026-03-10T10:00:30Z"), "2026-01-01T00:00:00Z");
  EXPECT_EQ(last("0 9 * * *", "2026-03-10T09:00:00Z", "2026-03-10T10:00:30Z"), "never");
  EXPECT_EQ(last("0 10 * * *", "2026-03-10T09:00:00Z", "2026-03-10T10:00:00Z"), "2026-03-10T10:00:00Z");
  EXPECT_EQ(last("@every 1h", "2026-03-10T09:30:00Z", "2026-03-10T12:00:00Z"), "2026-03-10T11:30:00Z");
}

TEST(TimeZone, ByRule) {
  const auto berlin = TimeZone::parse_rule("CET-1CEST,M3.5.0,M10.5.0/3").value();
  EXPECT_EQ(berlin.offset(at("2026-01-10T00:00:00Z")).count(), 3600);
  EXPECT_EQ(berlin.offset(at("2026-03-29T00:59:59Z")).count(), 3600);
  EXPECT_EQ(berlin.offset(at("2026-03-29T01:00:00Z")).count(), 7200);
  EXPECT_EQ(berlin.offset(at("2026-10-25T00:59:59Z")).count(), 7200);
  EXPECT_EQ(berlin.offset(at("2026-10-25T01:00:00Z")).count(), 3600);
  const auto sydney = TimeZone::parse_rule("AEST-10AEDT,M10.1.0,M4.1.0/3").value();
  EXPECT_EQ(sydney.offset(at("2026-01-10T00:00:00Z")).count(), 39600) << "summer is around New Year";
  EXPECT_EQ(sydney.offset(at("2026-07-10T00:00:00Z")).count(), 36000);
  EXPECT_EQ(TimeZone::parse_rule("<+0545>-5:45").value().offset(at("2026-07-10T00:00:00Z")).count(), 20700);
  EXPECT_EQ(TimeZone::parse_rule("EST5EDT,J60/0,J300").value().offset(at("2028-03-01T05:00:00Z")).count(), -14400);
  for (const auto* bad : {"", "CET", "C1", "CET-1CEST", "CET-1CEST,M13.1.0,M1.1.0", "CET-1CEST,M3.5.0", "<>1", "<x1",
                          "CET-1CEST,M3.5.0,M10.5.0/3x", "CET-1CEST,J0,J1"}) {
    EXPECT_FALSE(TimeZone::parse_rule(bad)) << bad;
  }
}

// Two transitions, then a rule.
std::string a_file() {
  const auto number = [](std::int64_t value, int size) {
    std::string out;
    for (int shift = (size - 1) * 8; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift);
    return out;
  };
  const auto header = [&](int times, int types, int chars) {
    return "TZif2" + std::string(15, '\0') + number(0, 4) + number(0, 4) + number(0, 4) + number(times, 4) +
           number(types, 4) + number(chars, 4);
  };
  const auto type = [&](int offset) { return number(offset, 4) + std::string(2, '\0'); };
  const auto start = at("2000-01-01T00:00:00Z").time_since_epoch().count();
  return header(0, 1, 4) + type(0) + "LMT" + '\0' + header(2, 3, 4) + number(start, 8) + number(start + 1000, 8) +
         std::string("\1\2", 2) + type(-100) + type(3600) + type(7200) + std::string("ABC\0", 4) +
         "\nCET-1CEST,M3.5.0,M10.5.0/3\n";
}

TEST(TimeZone, ByFile) {
  const auto file = a_file();
  const auto zone = TimeZone::parse(file);
  ASSERT_TRUE(zone) << zone.error().str();
  EXPECT_EQ(zone->offset(at("1999-12-31T23:59:59Z")).count(), -100);
  EXPECT_EQ(zone->offset(at("2000-01-01T00:00:00Z")).count(), 3600);
  EXPECT_EQ(zone->offset(at("2026-07-01T00:00:00Z")).count(), 7200);
  EXPECT_EQ(zone->offset(at("2026-12-01T00:00:00Z")).count(), 3600);
  for (std::size_t size = 0; size < file.size() - 28; ++size) {
    EXPECT_FALSE(TimeZone::parse(file.substr(0, size))) << size;
  }
}

TEST(TimeZone, Names) {
  EXPECT_EQ(load_time_zone("Etc/UTC").offset(at("2026-07-01T00:00:00Z")).count(), 0);
  EXPECT_THROW(load_time_zone("../../etc/passwd"), Error);
  EXPECT_THROW(load_time_zone("/etc/passwd"), Error);
  EXPECT_THROW(load_time_zone("No/Where"), Error);
}

TEST(CronSchedule, KeepsToTheClockOfAPlace) {
  const auto berlin = TimeZone::parse_rule("CET-1CEST,M3.5.0,M10.5.0/3").value();
  EXPECT_EQ(next("0 6 * * *", "2026-03-28T05:00:00Z", berlin), "2026-03-29T04:00:00Z") << "summer time began";
  EXPECT_EQ(next("0 0 30 * *", "2026-03-29T12:00:00Z", berlin), "2026-03-29T22:00:00Z");
  EXPECT_EQ(next("30 2 * * *", "2026-03-28T12:00:00Z", berlin), "2026-03-30T00:30:00Z") << "that hour was left out";
  EXPECT_EQ(next("0 * * * *", "2026-10-25T00:00:00Z", berlin), "2026-10-25T01:00:00Z") << "that hour came twice";
  EXPECT_EQ(next("0 3 * * *", "2026-10-24T12:00:00Z", berlin), "2026-10-25T02:00:00Z");
}

}  // namespace
}  // namespace kopper::workloads
