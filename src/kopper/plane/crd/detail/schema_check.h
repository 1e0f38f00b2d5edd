#pragma once

#include <string>

#include "kopper/json/value.h"
#include "kopper/plane/problems.h"
#include "kopper/plane/schema.h"

namespace kopper::plane::detail {

// What is wrong with the `openAPIV3Schema` of a version. `path` is where it stands.
void check_schema(const json::Value& schema, bool has_status, const std::string& path, BuiltinSchemas& builtins,
                  Problems& problems);

}  // namespace kopper::plane::detail
