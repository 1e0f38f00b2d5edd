#include "kopper/plane/auth/bootstrap.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "kopper/plane/auth/rbac.h"
#include "kopper/plane/auth/server_call.h"
#include "kopper/plane/save.h"

namespace kopper::plane {
namespace {

constexpr const char* kGroup = "rbac.authorization.k8s.io";
constexpr const char* kAutoUpdate = "rbac.authorization.kubernetes.io/autoupdate";
constexpr std::string_view kAggregateTo = "rbac.authorization.k8s.io/aggregate-to-";

// Words are separated by a space; the group "" is written core.
struct RuleRow {
  std::string_view verbs;
  std::string_view groups;
  std::string_view resources;
  std::string_view names{};
  std::string_view urls{};
};

struct RoleRow {
  std::string_view name;
  std::string_view part_of;     // the role that takes its rules
  std::string_view aggregates;  // whose parts it takes: the rules are then made, not given
  std::vector<RuleRow> rules;
};

struct BindingRow {
  std::string_view role;
  std::string_view kind;      // of the subjects
  std::string_view subjects;  // may be none
};

// clang-format off
const std::vector<RoleRow>& roles() {
  static const std::vector<RoleRow> all = {
    {"cluster-admin", "", "", {
      {"*", "*", "*"},
      {"*", "", "", "", "*"},
    }},
    {"admin", "", "admin", {
    }},
    {"edit", "admin", "edit", {
    }},
    {"view", "edit", "view", {
    }},
    {"system:aggregate-to-admin", "admin", "", {
      {"create", "authorization.k8s.io", "localsubjectaccessreviews"},
      {"create delete deletecollection get list patch update watch", "rbac.authorization.k8s.io", "rolebindings roles"},
    }},
    {"system:aggregate-to-edit", "edit", "", {
      {"get list watch", "core", "pods/attach pods/exec pods/portforward pods/proxy secrets services/proxy"},
      {"impersonate", "core", "serviceaccounts"},
      {"create delete deletecollection patch update", "core", "pods pods/attach pods/exec pods/portforward pods/proxy"},
      {"create", "core", "pods/eviction"},
      {"create delete deletecollection patch update", "core", "configmaps persistentvolumeclaims replicationcontrollers replicationcontrollers/scale secrets serviceaccounts services services/proxy"},
      {"create", "core", "serviceaccounts/token"},
      {"create delete deletecollection patch update", "core events.k8s.io", "events"},
      {"create delete deletecollection patch update", "apps", "daemonsets deployments deployments/rollback deployments/scale replicasets replicasets/scale statefulsets statefulsets/scale"},
      {"create delete deletecollection patch update", "autoscaling", "horizontalpodautoscalers"},
      {"create delete deletecollection patch update", "batch", "cronjobs jobs"},
      {"create delete deletecollection patch update", "extensions", "daemonsets deployments deployments/rollback deployments/scale ingresses networkpolicies replicasets replicasets/scale replicationcontrollers/scale"},
      {"create delete deletecollection patch update", "policy", "poddisruptionbudgets"},
      {"create delete deletecollection patch update", "networking.k8s.io", "ingresses networkpolicies"},
      {"create delete deletecollection get list patch update watch", "coordination.k8s.io", "leases"},
      {"create delete deletecollection patch update", "resource.k8s.io", "resourceclaims resourceclaimtemplates"},
    }},
    {"system:aggregate-to-view", "view", "", {
      {"get list watch", "core", "configmaps endpoints persistentvolumeclaims persistentvolumeclaims/status pods replicationcontrollers replicationcontrollers/scale serviceaccounts services services/status"},
      {"get list watch", "core", "bindings limitranges namespaces/status pods/log pods/status replicationcontrollers/status resourcequotas resourcequotas/status"},
      {"get list watch", "core", "namespaces"},
      {"get list watch", "core events.k8s.io", "events"},
      {"get list watch", "discovery.k8s.io", "endpointslices"},
      {"get list watch", "apps", "controllerrevisions daemonsets daemonsets/status deployments deployments/scale deployments/status replicasets replicasets/scale replicasets/status statefulsets statefulsets/scale statefulsets/status"},
      {"get list watch", "autoscaling", "horizontalpodautoscalers horizontalpodautoscalers/status"},
      {"get list watch", "batch", "cronjobs cronjobs/status jobs jobs/status"},
      {"get list watch", "extensions", "daemonsets daemonsets/status deployments deployments/scale deployments/status ingresses ingresses/status networkpolicies replicasets replicasets/scale replicasets/status replicationcontrollers/scale"},
      {"get list watch", "policy", "poddisruptionbudgets poddisruptionbudgets/status"},
      {"get list watch", "networking.k8s.io", "ingresses ingresses/status networkpolicies"},
      {"get list watch", "resource.k8s.io", "resourceclaims resourceclaims/status resourceclaimtemplates"},
    }},
    {"system:discovery", "", "", {
      {"get", "", "", "", "/api /api/* /apis /apis/* /healthz /livez /openapi /openapi/* /readyz /version /version/"},
    }},
    {"system:basic-user", "", "", {
      {"create", "authorization.k8s.io", "selfsubjectaccessreviews selfsubjectrulesreviews"},
      {"create", "authentication.k8s.io", "selfsubjectreviews"},
    }},
    {"system:public-info-viewer", "", "", {
      {"get", "", "", "", "/healthz /livez /readyz /version /version/"},
    }},
    {"system:service-account-issuer-discovery", "", "", {
      {"get", "", "", "", "/.well-known/openid-configuration /.well-known/openid-configuration/ /openid/v1/jwks /openid/v1/jwks/"},
    }},
    {"system:auth-delegator", "", "", {
      {"create", "authentication.k8s.io", "tokenreviews"},
      {"create", "authorization.k8s.io", "subjectaccessreviews"},
    }},
    {"system:monitoring", "", "", {
      {"get", "", "", "", "/flagz /healthz /healthz/* /livez /livez/* /metrics /metrics/slis /readyz /readyz/* /statusz"},
      {"get", "core", "nodes/metrics"},
    }},
    {"system:kube-controller-manager", "", "", {
      {"create patch update", "core events.k8s.io", "events"},
      {"create", "coordination.k8s.io", "leases"},
      {"get update", "coordination.k8s.io", "leases", "kube-controller-manager"},
      {"create", "core", "secrets serviceaccounts"},
      {"delete", "core", "secrets"},
      {"get", "core", "configmaps namespaces secrets serviceaccounts"},
      {"update", "core", "secrets serviceaccounts"},
      {"create", "authentication.k8s.io", "tokenreviews"},
      {"create", "authorization.k8s.io", "subjectaccessreviews"},
      {"list watch", "*", "*"},
      {"create", "core", "serviceaccounts/token"},
    }},
    {"system:kube-scheduler", "", "", {
      {"create patch update", "core events.k8s.io", "events"},
      {"create", "coordination.k8s.io", "leases"},
      {"get list update watch", "coordination.k8s.io", "leases", "kube-scheduler"},
      {"create delete deletecollection get list patch update watch", "coordination.k8s.io", "leasecandidates"},
      {"get list watch", "core", "nodes"},
      {"delete get list watch", "core", "pods"},
      {"create", "core", "bindings pods/binding"},
      {"patch update", "core", "pods/status"},
      {"get list watch", "core", "replicationcontrollers services"},
      {"get list watch", "apps extensions", "replicasets"},
      {"get list watch", "apps", "statefulsets"},
      {"get list watch", "policy", "poddisruptionbudgets"},
      {"get list watch", "core", "persistentvolumeclaims persistentvolumes"},
      {"create", "authentication.k8s.io", "tokenreviews"},
      {"create", "authorization.k8s.io", "subjectaccessreviews"},
      {"get list watch", "storage.k8s.io", "csinodes"},
      {"get list watch", "storage.k8s.io", "volumeattachments"},
      {"get list watch", "core", "namespaces"},
      {"get list watch", "storage.k8s.io", "csidrivers"},
      {"get list watch", "storage.k8s.io", "csistoragecapacities"},
      {"get list watch", "resource.k8s.io", "deviceclasses"},
      {"get list patch update watch", "resource.k8s.io", "resourceclaims"},
      {"get list patch update watch", "resource.k8s.io", "resourceclaims/status"},
      {"update", "core", "pods/finalizers"},
      {"get list watch", "resource.k8s.io", "resourceslices"},
      {"create delete", "resource.k8s.io", "resourceclaims"},
      {"get list watch", "resource.k8s.io", "devicetaintrules"},
      {"patch update", "resource.k8s.io", "resourceclaims/binding"},
    }},
    {"system:node", "", "", {
      {"create", "authentication.k8s.io", "tokenreviews"},
      {"create", "authorization.k8s.io", "localsubjectaccessreviews subjectaccessreviews"},
      {"get list watch", "core", "services"},
      {"create get list watch", "core", "nodes"},
      {"patch update", "core", "nodes/status"},
      {"patch update", "core", "nodes"},
      {"create patch update", "core events.k8s.io", "events"},
      {"get list watch", "core", "pods"},
      {"create delete", "core", "pods"},
      {"patch update", "core", "pods/status"},
      {"create", "core", "pods/eviction"},
      {"get list watch", "core", "configmaps secrets"},
      {"get", "core", "persistentvolumeclaims persistentvolumes"},
      {"get", "core", "endpoints"},
      {"create get list watch", "certificates.k8s.io", "certificatesigningrequests"},
      {"create delete get patch update", "coordination.k8s.io", "leases"},
      {"get", "storage.k8s.io", "volumeattachments"},
      {"create", "core", "serviceaccounts/token"},
      {"get patch update", "core", "persistentvolumeclaims/status"},
      {"get list watch", "storage.k8s.io", "csidrivers"},
      {"create delete get patch update", "storage.k8s.io", "csinodes"},
      {"get list watch", "node.k8s.io", "runtimeclasses"},
      {"get", "resource.k8s.io", "resourceclaims"},
      {"deletecollection", "resource.k8s.io", "resourceslices"},
      {"get list watch", "certificates.k8s.io", "clustertrustbundles"},
      {"get", "core", "serviceaccounts"},
      {"create get list watch", "certificates.k8s.io", "podcertificaterequests"},
    }},
  };
  return all;
}
// clang-format on

const BindingRow kBindings[] = {
    {"cluster-admin", "Group", "system:masters"},
    {"system:discovery", "Group", "system:authenticated"},
    {"system:basic-user", "Group", "system:authenticated"},
    {"system:public-info-viewer", "Group", "system:authenticated system:unauthenticated"},
    {"system:service-account-issuer-discovery", "Group", "system:serviceaccounts"},
    {"system:monitoring", "Group", "system:monitoring"},
    {"system:kube-controller-manager", "User", "system:kube-controller-manager"},
    {"system:kube-scheduler", "User", "system:kube-scheduler"},
    {"system:node", "User", ""},
};

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    out.emplace_back(word == "core" ? "" : word);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

json::Array rules_json(const std::vector<RuleRow>& rows) {
  json::Array out;
  for (const RuleRow& row : rows)
    out.push_back(to_json({.verbs = words(row.verbs),
                           .groups = words(row.groups),
                           .resources = words(row.resources),
                           .names = words(row.names),
                           .urls = words(row.urls)}));
  return out;
}

json::Object metadata(std::string_view name) {
  return {{"name", name},
          {"labels", json::Object{{"kubernetes.io/bootstrapping", "rbac-defaults"}}},
          {"annotations", json::Object{{kAutoUpdate, "true"}}}};
}

json::Value role_object(const RoleRow& row) {
  json::Object about = metadata(row.name);
  if (!row.part_of.empty()) about["labels"][std::string(kAggregateTo) + std::string(row.part_of)] = "true";
  json::Value out{json::Object{{"metadata", std::move(about)}}};
  out["rules"] = rules_json(row.rules);
  if (!row.aggregates.empty()) {
    const json::Object labels{{std::string(kAggregateTo) + std::string(row.aggregates), "true"}};
    out["aggregationRule"]["clusterRoleSelectors"] = json::Array{json::Object{{"matchLabels", labels}}};
  }
  return out;
}

json::Value binding_object(std::string_view name, const char* role_kind, const BindingRow& row) {
  json::Value out{json::Object{{"metadata", metadata(name)}}};
  json::Array subjects;
  for (const std::string& subject : words(row.subjects))
    subjects.push_back(json::Object{{"kind", row.kind}, {"apiGroup", kGroup}, {"name", subject}});
  if (!subjects.empty()) out["subjects"] = std::move(subjects);
  out["roleRef"] = json::Object{{"apiGroup", kGroup}, {"kind", role_kind}, {"name", row.role}};
  return out;
}

// What `wanted` has and the live object lacks; false when it lacks nothing.
bool add_missing(const json::Value& wanted, json::Value& live) {
  bool changed = false;
  if (const json::Array* rules = wanted["rules"].as_array(); rules != nullptr && !rules->empty()) {
    const std::vector<PolicyRule> owned = rules_of(std::as_const(live)["rules"]);
    for (const json::Value& rule : *rules) {
      if (missing(owned, rules_of(json::Array{rule})).empty()) continue;
      if (!live["rules"].is_array()) live["rules"] = json::Array();
      live["rules"].as_array()->push_back(rule);
      changed = true;
    }
  }
  if (const json::Array* subjects = wanted["subjects"].as_array())
    for (const json::Value& subject : *subjects) {
      if (!live["subjects"].is_array()) live["subjects"] = json::Array();
      json::Array& all = *live["subjects"].as_array();
      if (std::ranges::find(all, subject) != all.end()) continue;
      all.push_back(subject);
      changed = true;
    }
  return changed;
}

Task<> ensure(Core& core, const char* plural, std::string namespace_, json::Value object) {
  const std::string name(object["metadata"].text("name"));
  Table& table = core.state.table(std::string(plural) + "." + kGroup);
  const StoredRef present = table.find(namespace_, name);
  Call call = server_call(core, present ? "update" : "create", kGroup, plural, namespace_, present ? name : "",
                          "kube-apiserver");
  if (!present) {
    put_type_first(object, *call.resource);
    co_await save_new(core, call, std::move(object));
    co_return;
  }
  json::Value live = present->value();
  if (live["metadata"]["annotations"].text(kAutoUpdate) == "false" || !add_missing(object, live)) co_return;
  const Edit edit = [&live](const json::Value*) { return live; };
  SaveOptions options;
  co_await save(core, call, edit, options);
}

}  // namespace

Task<> make_bootstrap_roles(Core& core) {
  for (const RoleRow& row : roles()) {
    json::Value object = role_object(row);
    co_await ensure(core, "clusterroles", "", std::move(object));
  }
  for (const BindingRow& row : kBindings) {
    json::Value object = binding_object(row.role, "ClusterRole", row);
    co_await ensure(core, "clusterrolebindings", "", std::move(object));
  }
  // Servers of extensions read here whom to trust.
  const RoleRow reader{"extension-apiserver-authentication-reader",
                       "",
                       "",
                       {{"get list watch", "core", "configmaps", "extension-apiserver-authentication"}}};
  const BindingRow readers{reader.name, "User", "system:kube-controller-manager system:kube-scheduler"};
  json::Value role = role_object(reader);
  co_await ensure(core, "roles", "kube-system", std::move(role));
  json::Value binding = binding_object("system::extension-apiserver-authentication-reader", "Role", readers);
  co_await ensure(core, "rolebindings", "kube-system", std::move(binding));
}

}  // namespace kopper::plane
