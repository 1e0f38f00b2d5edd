#pragma once

#include <memory>

#include "kopper/client/client.h"
#include "kopper/http/handler.h"
#include "kopper/rt/loop.h"

namespace kopper::runtime {

struct GuardOptions {
  rt::Duration remember_token = std::chrono::minutes(1);
  rt::Duration remember_yes = std::chrono::minutes(5);
  rt::Duration remember_no = std::chrono::seconds(30);
  std::size_t max_remembered = 1000;
};

// Lets a request through to `inner` when its bearer token is somebody (TokenReview) who may do this (a
// SubjectAccessReview of the method in lower case and the path, as a nonResourceURL). 401 without a good token, 403
// when refused, 503 when the API server does not answer. Needs create on tokenreviews and subjectaccessreviews.
std::unique_ptr<http::Handler> guarded(client::Client client, std::unique_ptr<http::Handler> inner,
                                       GuardOptions options = GuardOptions());

}  // namespace kopper::runtime
