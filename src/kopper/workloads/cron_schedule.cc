#include "kopper/workloads/cron_schedule.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "kopper/base/duration.h"

namespace kopper::workloads {

using namespace std::chrono;

namespace {

constexpr std::array<std::string_view, 12> kMonths{"jan", "feb", "mar", "apr", "may", "jun",
                                                   "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::array<std::string_view, 7> kWeekdays{"sun", "mon", "tue", "wed", "thu", "fri", "sat"};

struct Bounds {
  unsigned low;
  unsigned high;
  std::span<const std::string_view> names{};  // from `low` on
};

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> out;
  for (;;) {
    const auto end = text.find(at);
    out.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return out;
    text.remove_prefix(end + 1);
  }
}

std::optional<unsigned> number(std::string_view text, const Bounds& bounds) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
  const auto named = std::ranges::find(bounds.names, std::string_view(lower));
  if (named != bounds.names.end()) return bounds.low + static_cast<unsigned>(named - bounds.names.begin());
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Sets what one of "*", "3", "1-5", "*/2", "10-30/5" and "7/2" means; false when it means nothing.
bool add_range(std::string_view text, const Bounds& bounds, std::bitset<60>& field, bool& any) {
  const auto parts = split(text, '/');
  const auto ends = split(parts[0], '-');
  if (parts.size() > 2 || ends.size() > 2) return false;
  const bool all = parts[0] == "*" || parts[0] == "?";
  const auto first = all ? bounds.low : number(ends[0], bounds);
  const auto last = all                 ? bounds.high
                    : ends.size() == 2  ? number(ends[1], bounds)
                    : parts.size() == 2 ? std::optional(bounds.high)
                                        : first;
  const auto step = parts.size() == 2 ? number(parts[1], {0, 0}) : 1U;
  if (!first || !last || !step || *step == 0) return false;
  if (*first < bounds.low || *last > bounds.high || *first > *last) return false;
  for (auto i = *first; i <= *last; i += std::min(*step, 60U)) field.set(i);
  any = any || (all && *step == 1);
  return true;
}

bool read_field(std::string_view text, const Bounds& bounds, std::bitset<60>& field, bool& any) {
  for (const auto& range : split(text, ',')) {
    if (!range.empty() && !add_range(range, bounds, field, any)) return false;
  }
  return field.any();
}

// What "@daily" and its like stand for; "" when it is none of them.
std::string_view spelled_out(std::string_view text) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kWords{{
      {"@yearly", "0 0 1 1 *"},
      {"@annually", "0 0 1 1 *"},
      {"@monthly", "0 0 1 * *"},
      {"@weekly", "0 0 * * 0"},
      {"@daily", "0 0 * * *"},
      {"@midnight", "0 0 * * *"},
      {"@hourly", "0 * * * *"},
  }};
  const auto found = std::ranges::find(kWords, text, &std::pair<std::string_view, std::string_view>::first);
  return found == kWords.end() ? "" : found->second;
}

std::unexpected<DecodeError> wrong(std::string what) {
  return std::unexpected(DecodeError{.what = std::move(what), .path = "", .offset = 0});
}

}  // namespace

std::expected<CronSchedule, DecodeError> CronSchedule::parse(std::string_view text) {
  CronSchedule out;
  if (text.starts_with("@every ")) {
    const auto every = parse_duration(text.substr(7));
    if (!every) return wrong(fmt::format("no duration: {}", text));
    out.every_ = std::clamp<seconds>(floor<seconds>(*every), seconds(1), days(366));
    return out;
  }
  if (text.starts_with('@')) {
    const auto fields = spelled_out(text);
    if (fields.empty()) return wrong(fmt::format("unrecognized descriptor: {}", text));
    text = fields;
  }
  std::vector<std::string_view> fields;
  for (const auto& one : split(text, ' ')) {
    if (!one.empty()) fields.push_back(one);
  }
  if (fields.size() != 5) return wrong(fmt::format("expected exactly 5 fields, found {}", fields.size()));
  bool any = false;
  const bool right = read_field(fields[0], {0, 59}, out.minutes_, any) &&
                     read_field(fields[1], {0, 23}, out.hours_, any) &&
                     read_field(fields[2], {1, 31}, out.days_, out.any_day_) &&
                     read_field(fields[3], {1, 12, kMonths}, out.months_, any) &&
                     read_field(fields[4], {0, 6, kWeekdays}, out.weekdays_, out.any_weekday_);
  if (!right) return wrong(fmt::format("no schedule: {}", text));
  return out;
}

bool CronSchedule::day_matches(sys_days day) const {
  const year_month_day date(day);
  if (!months_[static_cast<unsigned>(date.month())]) return false;
  const bool by_date = days_[static_cast<unsigned>(date.day())];
  const bool by_weekday = weekdays_[weekday(day).c_encoding()];
  return any_day_ || any_weekday_ ? by_date && by_weekday : by_date || by_weekday;
}

std::optional<sys_seconds> CronSchedule::next(sys_seconds after, const TimeZone& zone) const {
  if (every_ > seconds(0)) return after + every_;
  const auto end = after + days(5 * 366);
  sys_seconds at = floor<minutes>(after) + minutes(1);
  while (at <= end) {
    const auto local = at + zone.offset(at);
    const auto day = floor<days>(local);
    const auto hour = floor<hours>(local - day);
    const auto minute = floor<minutes>(local - day - hour);
    const auto to_next_hour = hours(1) - (local - day - hour);
    if (!day_matches(day)) {
      // Not up to midnight at once: the day may be shorter than it seems.
      const auto left = days(1) - (local - day);
      at += left > hours(5) ? floor<minutes>(left - hours(4)) : floor<minutes>(to_next_hour + seconds(59));
    } else if (!hours_[static_cast<std::size_t>(hour.count())]) {
      at += floor<minutes>(to_next_hour + seconds(59));
    } else if (!minutes_[static_cast<std::size_t>(minute.count())]) {
      at += minutes(1);
    } else {
      return at;
    }
  }
  return std::nullopt;
}

std::optional<sys_seconds> CronSchedule::last(sys_seconds from, sys_seconds to, const TimeZone& zone) const {
  if (every_ > seconds(0)) {
    const auto times = (to - from) / every_;
    return times > 0 ? std::optional(from + times * every_) : std::nullopt;
  }
  // From near to far, so that what is seldom is not counted through minute by minute, nor what is often for years.
  for (const auto window : {seconds(hours(2)), seconds(days(2)), seconds(days(60)), seconds(days(5 * 366))}) {
    std::optional<sys_seconds> found;
    for (auto at = next(std::max(from, to - window), zone); at && *at <= to; at = next(*at, zone)) found = at;
    if (found || to - window <= from) return found;
  }
  return std::nullopt;
}

}  // namespace kopper::workloads
