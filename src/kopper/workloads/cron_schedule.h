#pragma once

#include <bitset>
#include <chrono>
#include <expected>
#include <optional>
#include <string_view>

#include "kopper/base/error.h"
#include "kopper/workloads/time_zone.h"

namespace kopper::workloads {

// When a CronJob runs: "*/5 8-18 * jan,jun mon-fri", "@hourly", "@every 90s". Pure.
class CronSchedule {
 public:
  static std::expected<CronSchedule, DecodeError> parse(std::string_view text);

  // The first time after `after`; nothing when there is none in five years. Hours that a clock change leaves out are
  // left out, and those that come twice count twice.
  std::optional<std::chrono::sys_seconds> next(std::chrono::sys_seconds after, const TimeZone& zone) const;
  // The last time after `from` and not after `to`; nothing when there is none.
  std::optional<std::chrono::sys_seconds> last(std::chrono::sys_seconds from, std::chrono::sys_seconds to,
                                               const TimeZone& zone) const;

 private:
  using Field = std::bitset<60>;

  bool day_matches(std::chrono::sys_days day) const;

  Field minutes_;
  Field hours_;
  Field days_;
  Field months_;
  Field weekdays_;
  bool any_day_ = false;  // "*": only the other one of days_ and weekdays_ counts
  bool any_weekday_ = false;
  std::chrono::seconds every_{0};  // instead of all of these
};

}  // namespace kopper::workloads
