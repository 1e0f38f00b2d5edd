#pragma once

#include "kopper/json/value.h"
#include "kopper/plane/schema.h"

namespace kopper::plane {

// Sets what the schema of a custom resource gives a default and the object leaves out, at every depth. A null where
// none is allowed counts as left out: it becomes the default, or goes. New members come after those that were sent.
void set_defaults(json::Value& object, const Schema& schema);

}  // namespace kopper::plane
