#pragma once

#include "kopper/plane/plane.h"

namespace kopper::plane {

// The subresources that are more than another way to write the object: scale, binding, eviction, finalize …
void serve_subresources(Plane& plane);

// These have files of their own. `scale` answers for every resource that has scale paths.
Task<http::Response> scale(Core& core, Call& call);
Task<http::Response> evict(Core& core, Call& call);

// Replaces the condition of the same type in a status.
void set_condition(json::Value& status, json::Value condition);
// What admission makes of the object that a subresource takes and that is stored nowhere. Throws Refusal.
Task<json::Value> reviewed_part(Core& core, Call& call, Attempt::Kind kind, json::Value object);
// The answer of such a subresource.
json::Value created_status();

}  // namespace kopper::plane
