#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "kopper/plane/schema.h"

namespace kopper::plane::detail {

struct FieldPath {
  std::string str;                 // "spec.size", "labels[app]"
  const Schema* schema = nullptr;  // of what it names
  std::string root;                // the first member
};

// ".spec.size", ".labels['app']": the members a path names, when the schema has them. The error is the server's.
std::expected<FieldPath, std::string> parse_field_path(std::string_view text, const Schema& schema,
                                                       bool brackets = true);

}  // namespace kopper::plane::detail
