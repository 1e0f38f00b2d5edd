#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kopper/json/value.h"
#include "kopper/plane/crd/pattern.h"
#include "kopper/plane/schema.h"

namespace kopper::plane {

namespace cel {
class Program;
}

// One entry of x-kubernetes-validations.
struct CelRule {
  std::string rule;
  std::string message;
  std::string message_expression;
  std::string reason;      // "" is FieldValueInvalid
  std::string field_path;  // ".spec.size" as written; "" when absent
  bool optional_old_self = false;

  // Both null when the rule is blank. `error` is what the server says of a rule that does not compile.
  std::shared_ptr<const cel::Program> program;
  std::shared_ptr<const cel::Program> message_program;
  std::string error;
  std::string message_error;
};

// What the schema of a custom resource asks of a value, beyond its type and members (schema.h).
struct Constraints {
  std::string type;  // as written; "" where there is none
  bool int_or_string = false;
  // Of list items and map values; that of a named member is in Member.
  std::optional<json::Value> default_value;
  std::vector<json::Value> enumeration;

  std::optional<double> minimum;
  std::optional<double> maximum;
  std::optional<double> multiple_of;
  bool exclusive_minimum = false;
  bool exclusive_maximum = false;

  std::optional<std::int64_t> min_length;
  std::optional<std::int64_t> max_length;
  std::string pattern;
  std::optional<Pattern> compiled_pattern;
  std::string pattern_error;

  std::optional<std::int64_t> min_items;
  std::optional<std::int64_t> max_items;
  bool unique_items = false;

  std::optional<std::int64_t> min_properties;
  std::optional<std::int64_t> max_properties;
  std::vector<std::string> required;
  bool closed = false;  // additionalProperties: false

  std::vector<const Schema*> all_of;
  std::vector<const Schema*> any_of;
  std::vector<const Schema*> one_of;
  const Schema* not_of = nullptr;

  std::vector<CelRule> rules;
  bool atomic_map = false;  // x-kubernetes-map-type: atomic
};

}  // namespace kopper::plane
