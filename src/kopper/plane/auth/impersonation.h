#pragma once

#include "kopper/http/message.h"
#include "kopper/plane/auth/authorizer.h"
#include "kopper/plane/call.h"

namespace kopper::plane {

// Whether there are Impersonate-* headers.
bool impersonates(const http::Headers& headers);

// Who the request's Impersonate-* headers say that it should count as, when `user` may do that; `user` itself when
// there are none. Throws Refusal: 400 for headers without a user, 403.
//
// Two ways to be allowed: the verb `impersonate` on users, groups, serviceaccounts, uids and userextras, for anything;
// or, for this action only, `impersonate-on:<mode>:<verb>` on what the request is about with `impersonate:<mode>` on
// who, where the mode is arbitrary-node, serviceaccount or user-info.
User impersonated(const Authorizer& authorizer, const User& user, const http::Headers& headers, const Action& action);

}  // namespace kopper::plane
