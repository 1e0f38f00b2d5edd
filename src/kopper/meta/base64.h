#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kopper::meta {

// RFC 4648 standard alphabet with padding, as JSON carries binary data.
void append_base64(std::string& out, std::string_view bytes);
// Line breaks are skipped, as Go does. Nothing when it is not base64.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace kopper::meta
