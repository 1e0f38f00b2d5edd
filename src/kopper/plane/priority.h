#pragma once

#include "kopper/plane/admission.h"
#include "kopper/plane/core.h"

namespace kopper::plane {

// What the server's own admission does about priorities: a new pod gets the number of its class, or of the one that is
// the default for all; there is one such default. Throws Refusal (403).
void admit_priority(Core& core, Attempt& attempt);

}  // namespace kopper::plane
