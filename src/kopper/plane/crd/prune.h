#pragma once

#include <string>
#include <vector>

#include "kopper/json/value.h"
#include "kopper/plane/schema.h"

namespace kopper::plane {

// Removes every member of a custom resource that its schema does not name. What is left keeps its order.
void prune(json::Value& object, const Schema& schema);

// The paths that prune() would remove, those in metadata first, then sorted: "metadata.baz", "spec.foo",
// "spec.list[0].b". What fieldValidation=Strict and Warn tell of: unknown field "spec.foo".
std::vector<std::string> unknown_fields(const json::Value& object, const Schema& schema);

}  // namespace kopper::plane
