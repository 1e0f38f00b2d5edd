#pragma once

#include <string_view>

namespace kopper::plane {

// Whether the server checks `format` on a value of `type` ("" is any); it ignores the others.
bool known_format(std::string_view type, std::string_view format);

// Whether a text has a format that is known of strings: "date-time", "ipv4", "uuid", "duration" …
bool has_format(std::string_view format, std::string_view text);

}  // namespace kopper::plane
