#pragma once

#include <string_view>

namespace kopper::cmd {

inline constexpr std::string_view kVersion = KOPPER_VERSION;  // from project() of CMake

}  // namespace kopper::cmd
