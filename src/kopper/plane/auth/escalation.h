#pragma once

#include "kopper/plane/admission.h"
#include "kopper/plane/auth/authorizer.h"
#include "kopper/plane/call.h"

namespace kopper::plane {

// Nobody gives away more than they have: who writes a role, or binds one, must be allowed all that it allows, or have
// the verb `escalate` (roles) or `bind` (bindings) on it. Throws Refusal (403). Other kinds pass.
void forbid_escalation(const Authorizer& authorizer, const Call& call, const Attempt& attempt);

}  // namespace kopper::plane
