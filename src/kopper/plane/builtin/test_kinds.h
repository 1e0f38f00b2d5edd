#pragma once

#include <span>
#include <string_view>

#include "kopper/meta/type.h"

namespace kopper::plane::builtin {

// The tables of the kinds that the goldens are about.
std::span<const meta::Type* const> test_kinds();
const meta::Type& test_kind(std::string_view group, std::string_view version, std::string_view kind);

}  // namespace kopper::plane::builtin
