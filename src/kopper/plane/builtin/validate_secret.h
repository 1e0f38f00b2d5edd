#pragma once

#include "kopper/plane/builtin/check.h"

namespace kopper::plane::builtin {

void check_config_map(Check& check, const Value& object, const Value* old);
// The keys that its type needs, and what they must hold.
void check_secret(Check& check, const Value& object, const Value* old);

}  // namespace kopper::plane::builtin
