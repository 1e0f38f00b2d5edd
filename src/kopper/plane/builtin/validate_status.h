#pragma once

#include <string_view>

#include "kopper/plane/builtin/check.h"

namespace kopper::plane::builtin {

// The status of a kind, as its controllers write it: no count below zero, no part above the whole.
void check_status(Check& check, std::string_view group, std::string_view kind, const Value& status);

}  // namespace kopper::plane::builtin
