#pragma once

#include <map>
#include <string>

#include "kopper/json/value.h"
#include "kopper/plane/resource.h"

namespace kopper::plane::openapi {

// Definitions by name, in the form of OpenAPI v3, as JSON.
using Schemas = std::map<std::string, std::string, std::less<>>;

// Adds those of a version's resources, their lists, and all that these refer to.
void add_schemas(const Catalog::Version& version, Schemas& out);

// The same definition for OpenAPI v2, which knows neither alternatives nor null nor defaults beside a reference.
json::Value to_v2(const json::Value& schema);

}  // namespace kopper::plane::openapi
