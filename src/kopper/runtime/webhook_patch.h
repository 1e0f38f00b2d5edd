#pragma once

#include "kopper/json/value.h"

namespace kopper::runtime {

// The JSON patch (RFC 6902) that does to `raw` what a function did to its typed view. `before` and `after` are that
// view as JSON, `raw` is what the server sent: the view may have more (defaults of the type) or less. Only what differs
// between before and after is touched, so that what raw alone has stays. Empty when nothing differs.
json::Array patch_of(const json::Value& raw, const json::Value& before, const json::Value& after);

}  // namespace kopper::runtime
