#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kopper/json/value.h"

namespace kopper::plane::builtin {

// Whether `path` may stand in a field selector for the kind. When not, the answer is
// 400 "field label not supported: <path>" (field_not_supported).
bool has_field(std::string_view group, std::string_view kind, std::string_view path);
// The value of a selectable field, as text; nothing when the kind has no such field.
std::optional<std::string> field(std::string_view group, std::string_view kind, std::string_view path,
                                 const json::Value& object);
// The words of the server for it.
std::string field_not_supported(std::string_view group, std::string_view kind, std::string_view path);

}  // namespace kopper::plane::builtin
