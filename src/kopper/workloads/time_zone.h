#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kopper/base/error.h"

namespace kopper::workloads {

// When a place's clocks differ from UTC by how much: a file of the tz database (RFC 9636). Default constructed it is
// UTC. Pure.
class TimeZone {
 public:
  TimeZone() = default;
  // The bytes of a file, and the rule at its end for the years to come.
  static std::expected<TimeZone, DecodeError> parse(std::string_view bytes);
  // "CET-1CEST,M3.5.0,M10.5.0/3" or "UTC0".
  static std::expected<TimeZone, DecodeError> parse_rule(std::string_view text);

  std::chrono::seconds offset(std::chrono::sys_seconds at) const;

 private:
  using Seconds = std::chrono::seconds;

  struct Transition {
    std::int64_t at = 0;  // seconds since 1970
    Seconds offset{};     // from then on
  };
  // A day of the year, and the second of it.
  struct Turn {
    enum class Kind : std::uint8_t { Julian, Day, Week };
    Kind kind = Kind::Day;
    unsigned month = 1;
    unsigned week = 1;  // 5: the last
    unsigned day = 0;
    Seconds time{7200};
  };
  struct Rule {
    Seconds standard{};
    Seconds summer{};
    std::optional<Turn> begin;  // of summer time; none: it never is
    Turn end;
  };
  friend class RuleReader;

  static std::chrono::sys_seconds turn_of(const Turn& turn, std::chrono::year year);
  Seconds by_rule(std::chrono::sys_seconds at) const;

  Seconds first_{};
  std::vector<Transition> transitions_;
  std::optional<Rule> rule_;
};

// The zone of this name ("Europe/Berlin") from the system's database. Throws Error{NotFound} when there is none, and
// Error{Invalid} when its file cannot be read.
TimeZone load_time_zone(std::string_view name);

}  // namespace kopper::workloads
