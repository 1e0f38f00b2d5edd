#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kopper/plane/crd/columns.h"
#include "kopper/plane/crd/crd_schema.h"
#include "kopper/plane/resource.h"

namespace kopper::plane {

// The schemas of all versions of a definition, served or not.
using CustomSchemas = std::map<std::string, CrdSchema, std::less<>>;

// One version of a custom resource: what its definition says, ready for use.
struct CustomKind final : Custom {
  CustomKind(json::Value definition, const std::string& version, std::shared_ptr<const CustomSchemas> schemas);

  // Of an object in any version of the definition; null when there is no such version (any more).
  const Schema* schema_of(std::string_view api_version) const;

  std::shared_ptr<const CustomSchemas> schemas;
  const CrdSchema& schema;  // of this version
  std::uint64_t since = 0;  // objects of this revision and older were written under another schema
  std::vector<CustomColumn> columns;
  std::vector<std::string> selectable;  // JSON paths, ".spec.color"
  json::Value scale;                    // subresources.scale; null when there is none
  bool has_status = false;
};

// The resources of a definition that is established: one a served version, in no particular order. `since`: the
// revision at which its schemas became what they are. `builtins` outlives them.
std::vector<ResourceRef> resources_of(const json::Value& definition, BuiltinSchemas& builtins, std::uint64_t since = 0);

// Null for built-in kinds.
inline const CustomKind* custom_kind(const Resource& resource) {
  return static_cast<const CustomKind*>(resource.custom.get());
}

}  // namespace kopper::plane
