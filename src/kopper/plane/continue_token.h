#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kopper/plane/state.h"

namespace kopper::plane {

// Where the next page of a list begins. Opaque to clients.
struct ContinueToken {
  std::uint64_t revision = 0;  // 0: whatever is then
  Table::Place after;
};

std::string to_string(const ContinueToken& token);
// Throws Refusal (400).
ContinueToken parse_continue(std::string_view text);

}  // namespace kopper::plane
