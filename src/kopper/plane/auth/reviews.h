#pragma once

#include <optional>

#include "kopper/plane/auth/auth.h"
#include "kopper/plane/plane.h"

namespace kopper::plane {

// The kinds that only answer questions about access, and serviceaccounts/token. Both outlive the plane's requests.
void serve_reviews(Plane& plane, Auth& auth);

// What the issuer of service account tokens publishes; nothing for any other path.
std::optional<http::Response> issuer_document(Auth& auth, const Call& call);

}  // namespace kopper::plane
