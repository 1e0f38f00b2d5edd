#include "conformance/local.h"

#include "kopper/plane/plane.h"

namespace kopper::conformance {

Task<Target> make_local() {
  plane::PlaneOptions options;
  options.controllers = false;
  options.auth.required = true;
  options.auth.anonymous = true;
  options.auth.default_service_accounts = false;
  options.auth.tokens = "admin,token-admin,1,\"system:masters\"\nnobody,nobody,3\n";
  auto plane = std::make_shared<plane::Plane>(options);
  plane->core().too_large_wait = std::chrono::seconds(0);
  co_await plane->start();
  Target target;
  target.handler = plane;
  target.admin_token = "admin";
  target.nobody_token = "nobody";
  target.patience = std::chrono::seconds(10);
  co_return target;
}

}  // namespace kopper::conformance
