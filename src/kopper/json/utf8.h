#pragma once

#include <string>
#include <string_view>

namespace kopper::json {

// The length of the well-formed UTF-8 sequence at the start of `text`, or 0.
std::size_t utf8_sequence(std::string_view text);
bool valid_utf8(std::string_view text);
// Each byte that is in no well-formed sequence becomes U+FFFD.
std::string repaired_utf8(std::string_view text);

}  // namespace kopper::json
