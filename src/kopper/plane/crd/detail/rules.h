#pragma once

#include "kopper/json/value.h"
#include "kopper/plane/problems.h"
#include "kopper/plane/schema.h"

namespace kopper::plane::detail {

// Evaluates x-kubernetes-validations of a value and all below it. `path`: where the value stands, "" is the root.
void check_rules(const json::Value& value, const Schema& schema, const json::Value* old, const std::string& path,
                 Problems& problems);

}  // namespace kopper::plane::detail
