#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "kopper/json/value.h"

// How Go reads and prints what the server's messages and formats hold.
namespace kopper::plane {

// 1.5, 1e+06, 3: as %v prints it.
std::string go_float(double value);
// JSON as Go writes it into messages: members sorted, no raw <, > or &.
std::string go_json(const json::Value& value);
// "text" with Go's escapes: as %q prints it.
std::string go_quoted(std::string_view text);

// "1h2m3.5s", "-1.5h", "0": nothing when it is none or does not fit.
std::optional<std::chrono::nanoseconds> parse_go_duration(std::string_view text);
// "1h2m3.5s"
std::string go_duration(std::chrono::nanoseconds value);

// RFC 3339, with nanoseconds.
std::optional<std::chrono::sys_time<std::chrono::nanoseconds>> parse_rfc3339(std::string_view text);
std::optional<std::chrono::sys_time<std::chrono::nanoseconds>> parse_full_date(std::string_view text);
std::string rfc3339(std::chrono::sys_time<std::chrono::nanoseconds> at);

}  // namespace kopper::plane
