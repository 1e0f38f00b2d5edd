#include <cstdint>
#include <string_view>

#include "kopper/api/gen/apps_v1.h"
#include "kopper/api/gen/autoscaling_v2.h"
#include "kopper/api/gen/batch_v1.h"
#include "kopper/api/gen/core_v1.h"
#include "kopper/api/gen/networking_v1.h"
#include "kopper/api/gen/policy_v1.h"
#include "kopper/api/gen/rbac_v1.h"
#include "kopper/plane/builtin/conform.h"
#include "kopper/plane/builtin/defaults.h"
#include "kopper/plane/builtin/fields.h"
#include "kopper/plane/builtin/strategy.h"
#include "kopper/plane/builtin/validate.h"
#include "kopper/plane/table/table.h"

#include "require.h"

// Any JSON through everything that a request for a built-in kind goes through. The first byte picks the kind.

namespace {

using namespace kopper;
using namespace kopper::plane;
using kopper::fuzz::require;

struct Candidate {
  const meta::Type* type;
  std::string_view resource;
};

const Candidate kKinds[] = {
    {&meta::type_of<api::corev1::Pod>(), "pods"},
    {&meta::type_of<api::corev1::Service>(), "services"},
    {&meta::type_of<api::corev1::Secret>(), "secrets"},
    {&meta::type_of<api::corev1::Node>(), "nodes"},
    {&meta::type_of<api::corev1::Event>(), "events"},
    {&meta::type_of<api::corev1::PersistentVolumeClaim>(), "persistentvolumeclaims"},
    {&meta::type_of<api::appsv1::Deployment>(), "deployments"},
    {&meta::type_of<api::appsv1::StatefulSet>(), "statefulsets"},
    {&meta::type_of<api::batchv1::Job>(), "jobs"},
    {&meta::type_of<api::batchv1::CronJob>(), "cronjobs"},
    {&meta::type_of<api::networkingv1::Ingress>(), "ingresses"},
    {&meta::type_of<api::rbacv1::RoleBinding>(), "rolebindings"},
    {&meta::type_of<api::policyv1::PodDisruptionBudget>(), "poddisruptionbudgets"},
    {&meta::type_of<api::autoscalingv2::HorizontalPodAutoscaler>(), "horizontalpodautoscalers"},
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static BuiltinSchemas schemas;
  if (size == 0) return 0;
  const Candidate& one = kKinds[data[0] % std::size(kKinds)];
  const auto parsed = json::parse({reinterpret_cast<const char*>(data) + 1, size - 1});
  if (!parsed) return 0;
  const Kind& kind = *one.type->kind;
  const builtin::KindName name{kind.group, kind.version, kind.kind};
  const Schema& schema = schemas.of(*one.type);

  // What is printed may be an object of any shape.
  require(table::cells(kind.group, one.resource, *parsed, {}).size() == table::columns(kind.group, one.resource).size(),
          "a cell for each column");

  json::Value value = *parsed;
  if (!builtin::conform(value, schema).error.empty()) return 0;
  json::Value again = value;
  require(builtin::conform(again, schema).error.empty(), "conforms again");
  require(json::dump(again) == json::dump(value), "conform is idempotent");

  builtin::set_defaults(kind.group, kind.version, kind.kind, value);
  builtin::admit_create(name, value);
  builtin::prepare_create(name, value);
  require(builtin::conform(value, schema).error.empty(), "conforms again");
  Problems problems;
  builtin::validate(kind.group, kind.version, kind.kind, value, nullptr, problems);
  require(table::cells(kind.group, one.resource, value, {}).size() == table::columns(kind.group, one.resource).size(),
          "a cell for each column");
  builtin::field(kind.group, kind.kind, "status.phase", value);

  json::Value next = value;
  builtin::prepare_update(name, next, again);
  require(builtin::conform(next, schema).error.empty(), "conforms again");
  builtin::validate(kind.group, kind.version, kind.kind, next, &again, problems);
  builtin::prepare_status_update(name, next, value);
  require(builtin::conform(next, schema).error.empty(), "conforms again");
  return 0;
}
