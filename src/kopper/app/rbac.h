#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kopper/api/gen/rbac_v1.h"
#include "kopper/api/labels.h"
#include "kopper/meta/kind.h"

// From what a program does to the least that it must be allowed. Pure: the same uses give the same bytes.
//
//   app::Uses uses = app::reconciles(Memcached::kind) + app::owns(Deployment::kind) + app::writes_events();
//   fmt::print("{}", app::to_yaml(app::rbac(uses, {.name = "memcached", .namespace_ = "memcached-system"})));
namespace kopper::app {

// Where a program uses objects of a namespaced kind.
enum class Where : std::uint8_t {
  Watched,  // in the namespaces that it watches
  Own,      // in the one that it runs in
};

// One thing that a program does with one resource.
struct Use {
  std::string group;     // "" for core
  std::string resource;  // the plural, "deployments", or with its subresource, "deployments/scale"
  std::vector<std::string> verbs;
  bool namespaced = true;
  Where where = Where::Watched;    // of what is namespaced
  std::vector<std::string> names;  // only these objects; none: all of them

  friend bool operator==(const Use&, const Use&) = default;
};

using Uses = std::vector<Use>;
Uses operator+(Uses a, const Uses& b);

struct ReconcileUse {
  bool status = true;      // sets the status
  bool finalizer = false;  // adds and removes a finalizer
  bool owns = true;        // makes children that block their owner's deletion
};
// For: the kind that a controller is for.
Uses reconciles(const Kind& kind, ReconcileUse use = {});
// Owns: children, made by server-side apply and removed when no longer wanted.
Uses owns(const Kind& kind);
// Watches: only looked at.
Uses watches(const Kind& kind);
// These verbs on the kind, or on a subresource of it.
Uses does(const Kind& kind, std::vector<std::string> verbs, std::string_view subresource = {});
// events.k8s.io, or core/v1 on servers without it.
Uses writes_events();
// Leader election by the Lease of that name, in the own namespace; a standby watches that one.
Uses holds_lease(std::string_view name);
// The Secret of that name, in the own namespace, made and rewritten by the program.
Uses keeps_secret(std::string_view name);
// The caBundle of the webhook configurations of these names, and of the CRDs of these ("memcacheds.cache.example.com").
Uses injects_ca(std::vector<std::string> mutating, std::vector<std::string> validating, std::vector<std::string> crds);
// --install-crds.
Uses installs_crds(std::vector<std::string> crds);
// Asks the API server who may read the metrics: TokenReview and SubjectAccessReview.
Uses reviews_access();

// The rules of a role that allow these uses, whatever their scope, and nothing more. Merged, and sorted by group,
// resources and names; a verb that is allowed for all objects is not allowed again for some. `create` is never limited
// to names: a server knows the name of a new object too late.
std::vector<api::rbacv1::PolicyRule> policy_rules(std::span<const Use> uses);

struct RbacOptions {
  std::string name = "operator-manager";             // of the ServiceAccount, the roles and the bindings
  std::string namespace_ = "operator-system";        // where the program runs
  std::vector<std::string> watched_namespaces = {};  // none: all, and one ClusterRole will do
  api::Labels labels = {};
};

struct Rbac {
  std::vector<api::rbacv1::ClusterRole> cluster_roles;  // one at most, as of its binding
  std::vector<api::rbacv1::ClusterRoleBinding> cluster_role_bindings;
  std::vector<api::rbacv1::Role> roles;  // by namespace, each with its binding
  std::vector<api::rbacv1::RoleBinding> role_bindings;
};
// A ClusterRole for what is cluster-scoped or used in all namespaces, a Role for the own namespace and for each watched
// one. Empty roles are left out.
Rbac rbac(std::span<const Use> uses, const RbacOptions& options);

// The objects, each role followed by its binding, as YAML documents.
std::string to_yaml(const Rbac& rbac);

}  // namespace kopper::app
