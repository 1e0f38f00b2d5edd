#pragma once

#include "kopper/plane/admission.h"
#include "kopper/plane/core.h"

namespace kopper::plane {

// What the admission plugin ServiceAccount does: a pod that is created gets the service account `default` unless it
// names another, which must exist, that account's pull secrets, and unless one of the two says no, a token of it in a
// volume kube-api-access-xxxxx. Throws Refusal (403).
void give_pod_account(Core& core, Attempt& attempt);

}  // namespace kopper::plane
