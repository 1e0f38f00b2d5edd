#pragma once

#include <string>
#include <string_view>

#include "kopper/plane/core.h"

namespace kopper::plane {

// Deletes an object as a controller of the cluster would: admission is asked, finalizers are waited for. An object that
// is gone already, or is another by now, is none of its business.
Task<> remove_as_system(Core& core, Table& table, StoredRef object, json::Value options,
                        std::string user);  // the table outlives it

// On behalf of a request that admission has agreed to already. Returns the object as it is then, or was last.
Task<json::Value> remove_reviewed(Core& core, Call& call, StoredRef object, json::Value options);

bool has_finalizer(const json::Value& metadata, std::string_view name);
bool has_finalizer(const Stored& object, std::string_view name);
void set_finalizer(json::Value& metadata, std::string_view name, bool wanted);

}  // namespace kopper::plane
