#pragma once

#include <span>
#include <string_view>

namespace kopper::api {

// The OpenAPI v3 schema of a built-in type, without prose.
struct Definition {
  std::string_view name;  // "io.k8s.api.core.v1.Pod"
  std::string_view json;  // refers to others as "#/components/schemas/<name>"
};

// Of all types in gen/, without lists (PodList), and of what those refer to. Sorted by name.
std::span<const Definition> definitions();

}  // namespace kopper::api
