#include "kopper/app/rbac.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "kopper/app/manifests.h"

namespace kopper::app {

using api::rbacv1::PolicyRule;

namespace {

constexpr std::string_view kRbacGroup = "rbac.authorization.k8s.io";
const std::vector<std::string> kRead = {"get", "list", "watch"};

Use use_of(const Kind& kind, std::vector<std::string> verbs, std::string_view subresource = {}) {
  Use use{.group = std::string(kind.group), .resource = kind.plural_name(), .verbs = std::move(verbs)};
  use.namespaced = kind.scope == Scope::Namespaced;
  if (!subresource.empty()) use.resource.append("/").append(subresource);
  return use;
}

Use cluster_use(std::string_view group, std::string_view resource, std::vector<std::string> verbs,
                std::vector<std::string> names = {}) {
  return {.group = std::string(group),
          .resource = std::string(resource),
          .verbs = std::move(verbs),
          .namespaced = false,
          .names = std::move(names)};
}

// The order in which people list verbs; what is not here comes after, by name.
std::pair<std::size_t, std::string_view> verb_rank(std::string_view verb) {
  static constexpr std::array<std::string_view, 8> kOrder = {"get",    "list",  "watch",  "create",
                                                             "update", "patch", "delete", "deletecollection"};
  return {static_cast<std::size_t>(std::ranges::find(kOrder, verb) - kOrder.begin()), verb};
}

struct VerbLess {
  bool operator()(std::string_view a, std::string_view b) const { return verb_rank(a) < verb_rank(b); }
};
using Verbs = std::set<std::string, VerbLess>;
using Names = std::vector<std::string>;  // sorted; none: all objects

Names sorted(Names names) {
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());
  return names;
}

api::metav1::ObjectMeta named(const RbacOptions& options, std::string_view namespace_ = {}) {
  api::metav1::ObjectMeta metadata;
  metadata.name = options.name;
  metadata.namespace_ = namespace_;
  metadata.labels = options.labels;
  return metadata;
}

template <class Binding>
Binding bind(const RbacOptions& options, std::string_view role_kind, std::string_view namespace_ = {}) {
  Binding binding;
  binding.metadata = named(options, namespace_);
  binding.subjects = {{.kind = "ServiceAccount", .name = options.name, .namespace_ = options.namespace_}};
  binding.roleRef = {.apiGroup = std::string(kRbacGroup), .kind = std::string(role_kind), .name = options.name};
  return binding;
}

}  // namespace

Uses operator+(Uses a, const Uses& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Uses reconciles(const Kind& kind, ReconcileUse use) {
  Uses uses = {use_of(kind, kRead)};
  if (use.finalizer) uses.push_back(use_of(kind, {"patch"}));
  if (use.status) uses.push_back(use_of(kind, {"get", "patch"}, "status"));
  // Where OwnerReferencesPermissionEnforcement is on, blockOwnerDeletion asks for this.
  if (use.owns) uses.push_back(use_of(kind, {"update"}, "finalizers"));
  return uses;
}

Uses owns(const Kind& kind) { return {use_of(kind, {"get", "list", "watch", "create", "patch", "delete"})}; }

Uses watches(const Kind& kind) { return {use_of(kind, kRead)}; }

Uses does(const Kind& kind, std::vector<std::string> verbs, std::string_view subresource) {
  return {use_of(kind, std::move(verbs), subresource)};
}

Uses writes_events() {
  return {{.group = "", .resource = "events", .verbs = {"create", "patch"}},
          {.group = "events.k8s.io", .resource = "events", .verbs = {"create", "patch"}}};
}

Uses holds_lease(std::string_view name) {
  return {{.group = "coordination.k8s.io",
           .resource = "leases",
           .verbs = {"get", "list", "watch", "create", "update"},
           .where = Where::Own,
           .names = {std::string(name)}}};
}

Uses keeps_secret(std::string_view name) {
  return {{.group = "",
           .resource = "secrets",
           .verbs = {"get", "create", "update"},
           .where = Where::Own,
           .names = {std::string(name)}}};
}

Uses injects_ca(std::vector<std::string> mutating, std::vector<std::string> validating, std::vector<std::string> crds) {
  constexpr std::string_view kRegistration = "admissionregistration.k8s.io";
  Uses uses;
  if (!mutating.empty())
    uses.push_back(
        cluster_use(kRegistration, "mutatingwebhookconfigurations", {"get", "create", "patch"}, std::move(mutating)));
  if (!validating.empty())
    uses.push_back(cluster_use(kRegistration, "validatingwebhookconfigurations", {"get", "create", "patch"},
                               std::move(validating)));
  if (!crds.empty())
    uses.push_back(cluster_use("apiextensions.k8s.io", "customresourcedefinitions", {"get", "patch"}, std::move(crds)));
  return uses;
}

Uses installs_crds(std::vector<std::string> crds) {
  if (crds.empty()) return {};
  return {
      cluster_use("apiextensions.k8s.io", "customresourcedefinitions", {"get", "create", "patch"}, std::move(crds))};
}

Uses reviews_access() {
  return {cluster_use("authentication.k8s.io", "tokenreviews", {"create"}),
          cluster_use("authorization.k8s.io", "subjectaccessreviews", {"create"})};
}

std::vector<PolicyRule> policy_rules(std::span<const Use> uses) {
  // What is allowed: resource → names → verbs.
  std::map<std::pair<std::string, std::string>, std::map<Names, Verbs>> allowed;
  for (const Use& use : uses) {
    auto& resource = allowed[{use.group, use.resource}];
    for (const auto& verb : use.verbs) {
      // Each name by itself, so that one name used in two places is found again.
      if (use.names.empty() || verb == "create") {
        resource[{}].insert(verb);
      } else {
        for (const auto& name : use.names) resource[{name}].insert(verb);
      }
    }
  }
  // Back to few rules: names of the same verbs first, then resources of the same names and verbs.
  std::map<std::tuple<std::string, Names, std::vector<std::string>>, Names> rules;  // → resources
  for (auto& [resource, by_names] : allowed) {
    const Verbs for_all = by_names.contains({}) ? by_names[{}] : Verbs();
    std::map<std::vector<std::string>, Names> by_verbs;
    for (const auto& [names, verbs] : by_names) {
      std::vector<std::string> more;
      for (const auto& verb : verbs)
        if (names.empty() || !for_all.contains(verb)) more.push_back(verb);
      if (more.empty()) continue;
      if (names.empty()) {
        rules[{resource.first, {}, more}].push_back(resource.second);
      } else {
        by_verbs[more].push_back(names.front());
      }
    }
    for (auto& [verbs, names] : by_verbs) rules[{resource.first, sorted(names), verbs}].push_back(resource.second);
  }
  std::vector<PolicyRule> out;
  for (const auto& [key, resources] : rules) {
    const auto& [group, names, verbs] = key;
    out.push_back({.verbs = verbs, .apiGroups = {group}, .resources = sorted(resources), .resourceNames = names});
  }
  std::ranges::stable_sort(
      out, {}, [](const PolicyRule& rule) { return std::tie(rule.apiGroups, rule.resources, rule.resourceNames); });
  return out;
}

Rbac rbac(std::span<const Use> uses, const RbacOptions& options) {
  const auto watched = sorted(options.watched_namespaces);
  Uses cluster;
  std::map<std::string, Uses> namespaces;
  for (const Use& use : uses) {
    if (use.namespaced && use.where == Where::Own) {
      namespaces[options.namespace_].push_back(use);
    } else if (use.namespaced && !watched.empty()) {
      for (const auto& name : watched) namespaces[name].push_back(use);
    } else {
      cluster.push_back(use);
    }
  }
  Rbac out;
  if (!cluster.empty()) {
    api::rbacv1::ClusterRole role;
    role.metadata = named(options);
    role.rules = policy_rules(cluster);
    out.cluster_roles.push_back(std::move(role));
    out.cluster_role_bindings.push_back(bind<api::rbacv1::ClusterRoleBinding>(options, "ClusterRole"));
  }
  for (const auto& [name, used] : namespaces) {
    api::rbacv1::Role role;
    role.metadata = named(options, name);
    role.rules = policy_rules(used);
    out.roles.push_back(std::move(role));
    out.role_bindings.push_back(bind<api::rbacv1::RoleBinding>(options, "Role", name));
  }
  return out;
}

std::string to_yaml(const Rbac& rbac) {
  Documents out;
  for (std::size_t i = 0; i < rbac.cluster_roles.size(); ++i)
    out.add(rbac.cluster_roles[i]).add(rbac.cluster_role_bindings[i]);
  for (std::size_t i = 0; i < rbac.roles.size(); ++i) out.add(rbac.roles[i]).add(rbac.role_bindings[i]);
  return out.yaml();
}

}  // namespace kopper::app
