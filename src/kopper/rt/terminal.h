#pragma once

#include <cstdio>

namespace kopper::rt {

// Somebody looks at it, who has lines to draw again.
bool is_terminal(std::FILE* file) noexcept;

}  // namespace kopper::rt
