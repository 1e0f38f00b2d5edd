#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kopper/json/value.h"

namespace kopper::json::detail {

// What a plain (unquoted, untagged) scalar means: null, a boolean, a number (which may be infinite or NaN), or a
// string.
Value resolve_plain(std::string_view text);

// False when a plain scalar would not be read back as this string, by us or by other YAML 1.1 readers, which know
// timestamps and base-60 numbers too.
bool plain_means_itself(std::string_view text);

// The text of a key that is not a string, as Go makes it. Nothing for null and containers.
std::optional<std::string> key_text(const Value& key);

// Nothing when it is not base64. Line breaks are ignored.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace kopper::json::detail
