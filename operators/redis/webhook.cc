#include "webhook.h"

#include <chrono>

#include "kopper/meta/reflect.h"

#include "validate.h"

namespace redis {

namespace {

using kopper::runtime::Admission;
using kopper::runtime::Verdict;

// What does not touch the spec is let through: labels, and finalizers of one that is on its way out.
Verdict review(const Admission<RedisCluster>& request) {
  Verdict verdict;
  if (request.old && request.old->spec == request.object.spec) return verdict;
  for (const auto& cause : validate(request.object, request.old ? &*request.old : nullptr)) {
    verdict.refuse(cause.field, cause.message);
  }
  return verdict;
}

}  // namespace

void add_webhooks(kopper::runtime::Webhooks& to) {
  kopper::runtime::HookOptions options;
  options.fail_closed = false;
  options.timeout = std::chrono::seconds(5);
  to.validating<RedisCluster>(review, options);
}

}  // namespace redis
