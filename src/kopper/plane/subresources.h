#pragma once

#include "kopper/plane/plane.h"

namespace kopper::plane {

// The subresources that are more than another way to write the object: scale, binding, eviction, finalize …
void serve_subresources(Plane& plane);

// scale has files of its own. Answers for every resource that has scale paths.
Task<http::Response> scale(Core& core, Call& call);

}  // namespace kopper::plane
