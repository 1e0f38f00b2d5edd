#pragma once

#include "kopper/plane/builtin/check.h"

namespace kopper::plane::builtin {

// Its taints, and on update what a node keeps: its addresses and who provides it.
void check_node(Check& check, const Value& object, const Value* old);

}  // namespace kopper::plane::builtin
