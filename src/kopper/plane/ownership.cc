#include "kopper/plane/ownership.h"

#include "kopper/plane/apply/managers.h"

namespace kopper::plane {
namespace {

const json::Value kNothing;

FieldWrite write_of(const Resource& resource, const std::string& api_version, const Manager& manager) {
  const FieldFilter filter = resource.custom ? custom_field_filter(resource.has("status"), manager.subresource)
                                             : field_filter(resource.group, resource.plural, manager.subresource);
  return {.schema = *resource.schema,
          .manager = manager.name,
          .api_version = api_version,
          .kind = resource.kind,
          .subresource = manager.subresource,
          .now = manager.now,
          .filter = filter,
          .versions = nullptr};
}

}  // namespace

void track_update(const Resource& resource, const json::Value* old, json::Value& next, const Manager& manager) {
  const std::string version = resource.api_version();
  update_managers(old == nullptr ? kNothing : *old, next, write_of(resource, version, manager));
}

json::Value apply_config(const Resource& resource, const json::Value* live, const json::Value& config,
                         const Manager& manager, bool force) {
  const std::string version = resource.api_version();
  Applied applied =
      apply_config(live == nullptr ? kNothing : *live, config, write_of(resource, version, manager), force);
  if (!applied.conflicts.empty()) throw apply_conflict(applied.conflicts);
  return std::move(applied.object);
}

}  // namespace kopper::plane
