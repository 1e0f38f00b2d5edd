#pragma once

#include <optional>
#include <string>

#include "kopper/json/value.h"
#include "kopper/plane/problems.h"

namespace kopper::plane::detail {

// The first keyword in a schema that no structural schema has, at any depth: "OpenAPIV3Schema 'items' must be …".
std::optional<std::string> unsupported_keyword(const json::Value& schema);

// Whether a schema is structural: every value has a type, and what is under allOf, anyOf, oneOf and not only restricts.
void check_structural(const json::Value& schema, const std::string& path, Problems& problems);

}  // namespace kopper::plane::detail
