#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kopper/plane/crd/columns.h"
#include "kopper/plane/crd/crd_schema.h"
#include "kopper/plane/resource.h"

namespace kopper::plane {

// One version of a custom resource: what its definition says, ready for use.
struct CustomKind final : Custom {
  // `builtins` outlives this.
  CustomKind(json::Value definition, std::string version, BuiltinSchemas& builtins);

  CrdSchema schema;
  std::vector<CustomColumn> columns;
  std::vector<std::string> selectable;  // JSON paths, ".spec.color"
  json::Value scale;                    // subresources.scale; null when there is none
  bool has_status = false;
};

// The resources of a definition that is established: one a served version, in no particular order.
std::vector<ResourceRef> resources_of(const json::Value& definition, BuiltinSchemas& builtins);

// Null for built-in kinds.
inline const CustomKind* custom_kind(const Resource& resource) {
  return static_cast<const CustomKind*>(resource.custom.get());
}

}  // namespace kopper::plane
