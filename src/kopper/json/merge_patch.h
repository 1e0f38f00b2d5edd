#pragma once

#include "kopper/json/value.h"

namespace kopper::json {

// Applies a JSON merge patch (RFC 7386): objects merge, null removes, anything else replaces. Cannot fail.
Value apply_merge_patch(Value target, const Value& patch);

// The smallest merge patch that makes `after` out of `before`: apply_merge_patch(before, merge_diff(before, after)) ==
// after, as long as no object in `after` has a null member: a merge patch cannot say that. {} when they are equal
// objects.
Value merge_diff(const Value& before, const Value& after);

}  // namespace kopper::json
