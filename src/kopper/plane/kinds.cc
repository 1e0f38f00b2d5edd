#include "kopper/plane/kinds.h"

#include <string_view>

#include "kopper/api/gen/admissionregistration_v1.h"
#include "kopper/api/gen/apiextensions_v1.h"
#include "kopper/api/gen/apiregistration_v1.h"
#include "kopper/api/gen/apps_v1.h"
#include "kopper/api/gen/authentication_v1.h"
#include "kopper/api/gen/authorization_v1.h"
#include "kopper/api/gen/autoscaling_v1.h"
#include "kopper/api/gen/autoscaling_v2.h"
#include "kopper/api/gen/batch_v1.h"
#include "kopper/api/gen/coordination_v1.h"
#include "kopper/api/gen/core_v1.h"
#include "kopper/api/gen/discovery_v1.h"
#include "kopper/api/gen/events_v1.h"
#include "kopper/api/gen/networking_v1.h"
#include "kopper/api/gen/policy_v1.h"
#include "kopper/api/gen/rbac_v1.h"
#include "kopper/api/gen/scheduling_v1.h"
#include "kopper/api/gen/storage_v1.h"

namespace kopper::plane {
namespace {

namespace core = api::corev1;
namespace reg = api::admissionregistrationv1;
using api::appsv1::ControllerRevision;
using api::appsv1::DaemonSet;
using api::appsv1::Deployment;
using api::appsv1::ReplicaSet;
using api::appsv1::StatefulSet;

// Words are separated by a space.
struct Row {
  const meta::Type& type;
  std::string_view short_names{};
  std::string_view categories{};
  std::string_view subresources{};
  std::uint16_t verbs = Resource::All;
  std::string_view deprecation{};
};

template <class T>
constexpr const meta::Type& of() {
  return meta::type_of<T>();
}

constexpr std::string_view kStatus = "status";
constexpr std::string_view kScaled = "scale status";
constexpr std::string_view kExtensions = "api-extensions";
constexpr std::uint16_t kReview = Resource::Create;

const std::vector<Row>& rows() {
  static const std::vector<Row> all = {
      {of<core::Binding>(), "", "", "", Resource::Create},
      {of<core::ComponentStatus>(), "cs", "", "", Resource::Get | Resource::ListVerb,
       "v1 ComponentStatus is deprecated in v1.19+"},
      {of<core::ConfigMap>(), "cm"},
      {of<core::Endpoints>(), "ep", "", "", Resource::All,
       "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"},
      {of<core::Event>(), "ev"},
      {of<core::LimitRange>(), "limits"},
      {of<core::Namespace>(), "ns", "", "finalize status", Resource::All & ~Resource::DeleteCollection},
      {of<core::Node>(), "no", "", "proxy status"},
      {of<core::PersistentVolumeClaim>(), "pvc", "", kStatus},
      {of<core::PersistentVolume>(), "pv", "", kStatus},
      {of<core::Pod>(), "po", "all",
       "attach binding ephemeralcontainers eviction exec log portforward proxy resize status"},
      {of<core::PodTemplate>()},
      {of<core::ReplicationController>(), "rc", "all", kScaled},
      {of<core::ResourceQuota>(), "quota", "", kStatus},
      {of<core::Secret>()},
      {of<core::ServiceAccount>(), "sa", "", "token"},
      {of<core::Service>(), "svc", "all", "proxy status"},

      {of<api::apiregistrationv1::APIService>(), "", kExtensions, kStatus},

      {of<ControllerRevision>()},
      {of<DaemonSet>(), "ds", "all", kStatus},
      {of<Deployment>(), "deploy", "all", kScaled},
      {of<ReplicaSet>(), "rs", "all", kScaled},
      {of<StatefulSet>(), "sts", "all", kScaled},

      {of<api::eventsv1::Event>(), "ev"},

      {of<api::authenticationv1::SelfSubjectReview>(), "", "", "", kReview},
      {of<api::authenticationv1::TokenReview>(), "", "", "", kReview},

      {of<api::authorizationv1::LocalSubjectAccessReview>(), "", "", "", kReview},
      {of<api::authorizationv1::SelfSubjectAccessReview>(), "", "", "", kReview},
      {of<api::authorizationv1::SelfSubjectRulesReview>(), "", "", "", kReview},
      {of<api::authorizationv1::SubjectAccessReview>(), "", "", "", kReview},

      {of<api::autoscalingv2::HorizontalPodAutoscaler>(), "hpa", "all", kStatus},
      {of<api::autoscalingv1::HorizontalPodAutoscaler>(), "hpa", "all", kStatus},

      {of<api::batchv1::CronJob>(), "cj", "all", kStatus},
      {of<api::batchv1::Job>(), "", "all", kStatus},

      {of<api::networkingv1::IngressClass>()},
      {of<api::networkingv1::Ingress>(), "ing", "", kStatus},
      {of<api::networkingv1::IPAddress>(), "ip"},
      {of<api::networkingv1::NetworkPolicy>(), "netpol"},
      {of<api::networkingv1::ServiceCIDR>(), "", "", kStatus},

      {of<api::policyv1::PodDisruptionBudget>(), "pdb", "", kStatus},

      {of<api::rbacv1::ClusterRoleBinding>()},
      {of<api::rbacv1::ClusterRole>()},
      {of<api::rbacv1::RoleBinding>()},
      {of<api::rbacv1::Role>()},

      {of<api::storagev1::CSIDriver>()},
      {of<api::storagev1::CSINode>(), "", "", kStatus},
      {of<api::storagev1::CSIStorageCapacity>()},
      {of<api::storagev1::StorageClass>(), "sc"},
      {of<api::storagev1::VolumeAttachment>(), "", "", kStatus},
      {of<api::storagev1::VolumeAttributesClass>(), "vac"},

      {of<reg::MutatingAdmissionPolicy>(), "", kExtensions},
      {of<reg::MutatingAdmissionPolicyBinding>(), "", kExtensions},
      {of<reg::MutatingWebhookConfiguration>(), "", kExtensions},
      {of<reg::ValidatingAdmissionPolicy>(), "", kExtensions, kStatus},
      {of<reg::ValidatingAdmissionPolicyBinding>(), "", kExtensions},
      {of<reg::ValidatingWebhookConfiguration>(), "", kExtensions},

      {of<api::apiextensionsv1::CustomResourceDefinition>(), "crd crds", kExtensions, kStatus},

      {of<api::schedulingv1::PriorityClass>(), "pc"},
      {of<api::coordinationv1::Lease>()},
      {of<api::discoveryv1::EndpointSlice>()},
  };
  return all;
}

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    out.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace

void add_builtin_kinds(Catalog& catalog) {
  for (const Row& row : rows()) {
    const Kind& kind = *row.type.kind;
    auto resource = std::make_shared<Resource>();
    resource->group = kind.group;
    resource->version = kind.version;
    resource->kind = kind.kind;
    resource->list_kind = resource->kind + "List";
    resource->plural = kind.plural_name();
    resource->singular = kind.singular_name();
    resource->namespaced = kind.scope == Scope::Namespaced;
    resource->verbs = row.verbs;
    resource->deprecation = row.deprecation;
    resource->short_names = words(row.short_names);
    resource->categories = words(row.categories);
    resource->subresources = words(row.subresources);
    resource->schema = &catalog.schemas().of(row.type);
    resource->type = &row.type;
    if (resource->has("scale")) resource->scale = ScalePaths{".spec.replicas", ".status.replicas", ".spec.selector"};
    catalog.add(std::move(resource));
  }
}

}  // namespace kopper::plane
