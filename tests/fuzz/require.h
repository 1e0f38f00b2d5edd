#pragma once

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace kopper::fuzz {

// A property that holds for every input. A fuzzer that finds otherwise stops here.
inline void require(bool holds, std::string_view property) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %.*s\n", static_cast<int>(property.size()), property.data());
  std::abort();
}

}  // namespace kopper::fuzz
