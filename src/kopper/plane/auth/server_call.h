#pragma once

#include <string>

#include "kopper/plane/core.h"

namespace kopper::plane {

// A request that the server makes of itself, as an administrator. `manager` is who managedFields name.
Call server_call(const Core& core, const char* verb, const char* group, const char* plural, std::string namespace_,
                 std::string name, const char* manager);

}  // namespace kopper::plane
