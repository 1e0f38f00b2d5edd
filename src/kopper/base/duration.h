#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace kopper {

// As flags have it: "90s", "30m", "1h30m", or seconds without a unit. Nothing when it is none of these.
std::optional<std::chrono::seconds> parse_duration(std::string_view text);

}  // namespace kopper
