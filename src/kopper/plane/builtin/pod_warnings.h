#pragma once

#include <string>
#include <vector>

#include "kopper/json/value.h"
#include "kopper/plane/builtin/strategy.h"

namespace kopper::plane::builtin {

// What a client is told of an object that is valid and yet not what its author meant: a variable that hides another, a
// selector that selects nothing, a fraction of a byte. Of pods when they are made, of templates when they change
// (`old`: null when it is created).
std::vector<std::string> pod_warnings(KindName kind, const json::Value& object, const json::Value* old);

}  // namespace kopper::plane::builtin
