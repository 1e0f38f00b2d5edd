#include "kopper/plane/ownership.h"

#include "kopper/json/merge_patch.h"

namespace kopper::plane {

void track_update(const Resource&, const json::Value*, json::Value&, const Manager&) {}

json::Value apply_config(const Resource&, const json::Value* live, json::Value config, const Manager&, bool) {
  return live == nullptr ? std::move(config) : json::apply_merge_patch(*live, config);
}

}  // namespace kopper::plane
