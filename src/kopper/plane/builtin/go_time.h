#pragma once

#include <string>
#include <string_view>

namespace kopper::plane::builtin {

// What Go's time package has against `text` as a time of the API: "" when nothing. Times take a fraction of any length
// or none, micro times exactly six digits.
std::string check_go_time(std::string_view text, bool micro);

}  // namespace kopper::plane::builtin
