#pragma once

#include <expected>
#include <string>

#include "kopper/json/value.h"
#include "kopper/plane/apply/field_set.h"
#include "kopper/plane/schema.h"

namespace kopper::plane {

// What is wrong with a configuration that somebody applies, in the server's words: `.spec.replicas: expected numeric
// (int or float), got string`, `.spec.ports: duplicate entries for key [port=80,protocol="TCP"]`. "" when nothing is.
std::string check_config(const json::Value& config, const Schema& schema);

// `live` with all that `config` says. Objects merge member by member, sets and map lists item by item: items that are
// only in `live` keep their place, the others come in the order of `config`. Atomic objects and lists are replaced.
// Nothing is removed. The error is the server's text.
std::expected<json::Value, std::string> merge(json::Value live, const json::Value& config, const Schema& schema);

// `value` without the members and items that are in `fields`.
json::Value without(json::Value value, const FieldSet& fields, const Schema& schema);

}  // namespace kopper::plane
