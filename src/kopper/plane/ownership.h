#pragma once

#include <string>
#include <string_view>

#include "kopper/api/time.h"
#include "kopper/json/value.h"
#include "kopper/plane/resource.h"

// metadata.managedFields: who set which field.
namespace kopper::plane {

// Who writes, as managedFields name it.
struct Manager {
  std::string name;
  std::string subresource;  // "", "status", "scale"
  api::Time now;
};

// After a create, update or patch: what `next` changed now belongs to the manager. `old`: null when it is created.
void track_update(const Resource& resource, const json::Value* old, json::Value& next, const Manager& manager);

// Server-side apply: `live` (null when there is none) with `config` merged in, managedFields included. Throws Refusal
// (409) naming the conflicts unless `force`.
json::Value apply_config(const Resource& resource, const json::Value* live, const json::Value& config,
                         const Manager& manager, bool force);

}  // namespace kopper::plane
