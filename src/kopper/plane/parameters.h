#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "kopper/plane/request_info.h"

namespace kopper::plane {

// A parameter of a query that must be a number; nothing when it is absent. Throws Refusal (400).
std::optional<std::int64_t> number(const RequestInfo& info, std::string_view parameter);

}  // namespace kopper::plane
