#pragma once

#include "kopper/meta/type.h"

namespace kopper::plane {

// Built-in types of which an object is one value wherever it stands, also as an item of a list: references. (Of a
// member, the field's own table says it.)
bool is_atomic_type(const meta::Type& type);

}  // namespace kopper::plane
