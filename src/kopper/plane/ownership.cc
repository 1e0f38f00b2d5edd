#include "kopper/plane/ownership.h"

#include <optional>

#include "kopper/plane/apply/managers.h"
#include "kopper/plane/crd/convert.h"
#include "kopper/plane/crd/prune.h"
#include "kopper/plane/custom.h"
#include "kopper/plane/reading.h"

namespace kopper::plane {
namespace {

const json::Value kNothing;

bool is_served(const json::Value& definition, std::string_view api_version) {
  for (const json::Value& version : items(definition["spec"]["versions"]))
    if (version.text("name") == api_version.substr(api_version.find('/') + 1)) return is_true(version["served"]);
  return false;
}

// The other versions of a custom resource. A webhook is not asked here: where one converts, all versions count as
// alike. The resource outlives the result.
std::optional<VersionLookup> versions_of(const Resource& resource) {
  const CustomKind* kind = custom_kind(resource);
  if (kind == nullptr || kind->schemas->size() < 2 || webhook_conversion_of(kind->definition)) return std::nullopt;
  return VersionLookup{.schema = [kind](std::string_view version) -> const Schema* {
                         return is_served(kind->definition, version) ? kind->schema_of(version) : nullptr;
                       },
                       .convert =
                           [kind](const json::Value& object, std::string_view version) {
                             json::Value out = object;
                             if (!out.is_object()) return out;
                             convert_by_name(out, std::string(version));
                             if (const Schema* schema = kind->schema_of(version)) prune(out, *schema);
                             return out;
                           }};
}

FieldWrite write_of(const Resource& resource, const std::string& api_version, const Manager& manager,
                    const std::optional<VersionLookup>& versions) {
  const FieldFilter filter = resource.custom ? custom_field_filter(resource.has("status"), manager.subresource)
                                             : field_filter(resource.group, resource.plural, manager.subresource);
  return {.schema = *resource.schema,
          .manager = manager.name,
          .api_version = api_version,
          .kind = resource.kind,
          .subresource = manager.subresource,
          .now = manager.now,
          .filter = filter,
          .versions = versions ? &*versions : nullptr};
}

}  // namespace

void track_update(const Resource& resource, const json::Value* old, json::Value& next, const Manager& manager) {
  const std::string version = resource.api_version();
  const std::optional<VersionLookup> versions = versions_of(resource);
  update_managers(old == nullptr ? kNothing : *old, next, write_of(resource, version, manager, versions));
}

json::Value apply_config(const Resource& resource, const json::Value* live, const json::Value& config,
                         const Manager& manager, bool force) {
  const std::string version = resource.api_version();
  const std::optional<VersionLookup> versions = versions_of(resource);
  Applied applied =
      apply_config(live == nullptr ? kNothing : *live, config, write_of(resource, version, manager, versions), force);
  if (!applied.conflicts.empty()) throw apply_conflict(applied.conflicts);
  return std::move(applied.object);
}

}  // namespace kopper::plane
