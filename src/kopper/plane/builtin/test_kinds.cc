#include "kopper/plane/builtin/test_kinds.h"

#include <stdexcept>

#include <fmt/format.h>

#include "kopper/api/gen/admissionregistration_v1.h"
#include "kopper/api/gen/apps_v1.h"
#include "kopper/api/gen/autoscaling_v2.h"
#include "kopper/api/gen/batch_v1.h"
#include "kopper/api/gen/coordination_v1.h"
#include "kopper/api/gen/core_v1.h"
#include "kopper/api/gen/discovery_v1.h"
#include "kopper/api/gen/events_v1.h"
#include "kopper/api/gen/networking_v1.h"
#include "kopper/api/gen/policy_v1.h"
#include "kopper/api/gen/rbac_v1.h"
#include "kopper/api/gen/storage_v1.h"

namespace kopper::plane::builtin {

using meta::type_of;

std::span<const meta::Type* const> test_kinds() {
  static constexpr const meta::Type* kTypes[] = {
      &type_of<api::corev1::Pod>(),
      &type_of<api::corev1::PodTemplate>(),
      &type_of<api::corev1::ReplicationController>(),
      &type_of<api::corev1::Service>(),
      &type_of<api::corev1::ConfigMap>(),
      &type_of<api::corev1::Secret>(),
      &type_of<api::corev1::Namespace>(),
      &type_of<api::corev1::Node>(),
      &type_of<api::corev1::ServiceAccount>(),
      &type_of<api::corev1::PersistentVolume>(),
      &type_of<api::corev1::PersistentVolumeClaim>(),
      &type_of<api::corev1::Endpoints>(),
      &type_of<api::corev1::Event>(),
      &type_of<api::corev1::ResourceQuota>(),
      &type_of<api::corev1::LimitRange>(),
      &type_of<api::appsv1::Deployment>(),
      &type_of<api::appsv1::ReplicaSet>(),
      &type_of<api::appsv1::StatefulSet>(),
      &type_of<api::appsv1::DaemonSet>(),
      &type_of<api::appsv1::ControllerRevision>(),
      &type_of<api::batchv1::Job>(),
      &type_of<api::batchv1::CronJob>(),
      &type_of<api::discoveryv1::EndpointSlice>(),
      &type_of<api::networkingv1::Ingress>(),
      &type_of<api::networkingv1::IngressClass>(),
      &type_of<api::networkingv1::NetworkPolicy>(),
      &type_of<api::rbacv1::Role>(),
      &type_of<api::rbacv1::RoleBinding>(),
      &type_of<api::rbacv1::ClusterRole>(),
      &type_of<api::rbacv1::ClusterRoleBinding>(),
      &type_of<api::policyv1::PodDisruptionBudget>(),
      &type_of<api::autoscalingv2::HorizontalPodAutoscaler>(),
      &type_of<api::coordinationv1::Lease>(),
      &type_of<api::eventsv1::Event>(),
      &type_of<api::storagev1::StorageClass>(),
      &type_of<api::admissionregistrationv1::ValidatingWebhookConfiguration>(),
      &type_of<api::admissionregistrationv1::MutatingWebhookConfiguration>(),
  };
  return kTypes;
}

const meta::Type& test_kind(std::string_view group, std::string_view version, std::string_view kind) {
  for (const meta::Type* type : test_kinds())
    if (*type->kind == Kind{.group = group, .version = version, .kind = kind}) return *type;
  throw std::runtime_error(fmt::format("no kind {}/{} {}", group, version, kind));
}

}  // namespace kopper::plane::builtin
