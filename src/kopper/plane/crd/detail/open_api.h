#pragma once

#include <string>

#include "kopper/json/value.h"
#include "kopper/plane/problems.h"
#include "kopper/plane/schema.h"

namespace kopper::plane::detail {

// Types, bounds, formats, required members and the logic of allOf, anyOf, oneOf and not. `path` goes before the field
// of a problem, not into its text ("status" of a status update; "" otherwise). What equals `old` is not looked at.
void check_open_api(const json::Value& value, const Schema& schema, const json::Value* old, const std::string& path,
                    Problems& problems);

}  // namespace kopper::plane::detail
