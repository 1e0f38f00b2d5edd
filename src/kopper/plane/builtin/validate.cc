#include "kopper/plane/builtin/validate.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "kopper/plane/builtin/check.h"
#include "kopper/plane/builtin/validate_network.h"
#include "kopper/plane/builtin/validate_node.h"
#include "kopper/plane/builtin/validate_pod.h"
#include "kopper/plane/builtin/validate_secret.h"
#include "kopper/plane/builtin/validate_status.h"
#include "kopper/plane/builtin/validate_workloads.h"

namespace kopper::plane::builtin {
namespace {

constexpr std::string_view kRbac = "rbac.authorization.k8s.io";

void check_pod(Check& check, const Value& object, const Value* old) {
  const Path path("spec");
  check_pod_spec(check, path, object["spec"]);
  if (old != nullptr) {
    check_pod_update(check, object, *old);
  } else if (!items(object["spec"]["ephemeralContainers"]).empty()) {
    check.forbidden(path / "ephemeralContainers", "cannot be set on create");
  }
}

void check_template(Check& check, const Value& object, const Value*) {
  check_pod_template(check, Path("template"), object["template"]);
}

// ---- storage -------------------------------------------------------------------------------------------------------

void check_claim(Check& check, const Value& object, const Value* old) {
  const Path path("spec");
  check_claim_spec(check, path, object["spec"]);
  if (old == nullptr) return;
  Value now = object["spec"];
  Value before = (*old)["spec"];
  const bool bound = object["status"].text("phase") == "Bound";
  if (before.text("volumeName").empty() && before.is_object() && now.is_object()) {
    before.as_object()->erase("volumeName");
    now.as_object()->erase("volumeName");
  }
  // A claim that named no class may get the default one later.
  if (std::as_const(before)["storageClassName"].is_null() && now.is_object())
    now.as_object()->erase("storageClassName");
  if (bound && now.is_object() && before.is_object()) {
    now["resources"]["requests"]["storage"] = before["resources"]["requests"]["storage"];
    for (Value* one : {&now, &before}) one->as_object()->erase("volumeAttributesClassName");
  }
  if (now != before)
    check.forbidden(
        path,
        "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound "
        "claims\n");
  const auto size = quantity(object["spec"]["resources"]["requests"]["storage"]);
  const auto old_size = quantity((*old)["spec"]["resources"]["requests"]["storage"]);
  const auto real = quantity((*old)["status"]["capacity"]["storage"]);
  if (size && old_size && *size < *old_size && *size <= real.value_or(api::Quantity())) {
    const Path resources = path / "resources";
    const Path requests = resources / "requests";
    check.forbidden(requests / "storage", "field can not be less than status.capacity");
  }
}

void check_volume(Check& check, const Value& object, const Value* old) {
  const Path path("spec");
  const Value& spec = object["spec"];
  const Array& modes = items(spec["accessModes"]);
  if (modes.empty()) check.required(path / "accessModes");
  for (const Value& mode : modes)
    check.one_of(path / "accessModes", mode, {"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"});
  const Path capacity = path / "capacity";
  if (members(spec["capacity"]).empty()) check.required(capacity);
  if (spec["capacity"]["storage"].is_null() || members(spec["capacity"]).size() > 1)
    check.one_of(capacity, or_null(spec["capacity"]), {"storage"});
  for (const auto& [name, amount] : members(spec["capacity"]))
    if (const auto size = quantity(amount); size && size->sign() <= 0)
      check.invalid(capacity.key(name), amount, "must be greater than zero");
  check.one_of(path / "persistentVolumeReclaimPolicy", spec["persistentVolumeReclaimPolicy"],
               {"Delete", "Recycle", "Retain"});
  static constexpr std::array<std::string_view, 10> kPlain{
      "capacity",     "accessModes", "claimRef",     "persistentVolumeReclaimPolicy", "storageClassName",
      "mountOptions", "volumeMode",  "nodeAffinity", "volumeAttributesClassName",     "status"};
  std::size_t sources = 0;
  for (const auto& [member, value] : members(spec))
    if (std::ranges::find(kPlain, std::string_view(member)) == kPlain.end() && ++sources > 1)
      check.forbidden(path / member, "may not specify more than 1 volume type");
  if (sources == 0) check.required(path, "must specify a volume type");
  if (const std::string_view name = spec.text("storageClassName"); !name.empty())
    check.names(path / "storageClassName", Value(name), api::check_dns_subdomain(name));
  if (!spec["volumeMode"].is_null()) check.one_of(path / "volumeMode", spec["volumeMode"], {"Block", "Filesystem"});
  if (old != nullptr) check.immutable(path / "volumeMode", spec["volumeMode"], (*old)["spec"]["volumeMode"]);
}

void check_storage_class(Check& check, const Value& object, const Value* old) {
  if (object.text("provisioner").empty()) check.required(Path("provisioner"));
  check.one_of(Path("reclaimPolicy"), object["reclaimPolicy"], {"Delete", "Retain"});
  check.one_of(Path("volumeBindingMode"), object["volumeBindingMode"], {"Immediate", "WaitForFirstConsumer"});
  if (old == nullptr) return;
  for (const char* member : {"parameters", "volumeBindingMode"})
    if (object[member] != (*old)[member]) check.invalid(Path(member), Value(), "field is immutable");
  for (const char* member : {"provisioner", "reclaimPolicy"})
    check.immutable(Path(member), object[member], (*old)[member]);
}

// ---- who may -------------------------------------------------------------------------------------------------------

void check_rules(Check& check, const Value& object, bool namespaced) {
  const Path path("rules");
  const Array& all = items(object["rules"]);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Path one = path[i];
    const Value& rule = all[i];
    if (items(rule["verbs"]).empty()) check.required(one / "verbs");
    const bool resources =
        !items(rule["apiGroups"]).empty() || !items(rule["resources"]).empty() || !items(rule["resourceNames"]).empty();
    if (!items(rule["nonResourceURLs"]).empty()) {
      if (namespaced)
        check.invalid(one / "nonResourceURLs", rule["nonResourceURLs"],
                      "namespaced rules cannot apply to non-resource URLs");
      if (resources)
        check.invalid(one / "nonResourceURLs", rule["nonResourceURLs"],
                      "rules cannot apply to both regular resources and non-resource URLs");
      continue;
    }
    if (items(rule["apiGroups"]).empty())
      check.required(one / "apiGroups", "resource rules must supply at least one api group");
    if (items(rule["resources"]).empty())
      check.required(one / "resources", "resource rules must supply at least one resource");
  }
}

void check_role(Check& check, const Value& object, const Value*) { check_rules(check, object, true); }

void check_cluster_role(Check& check, const Value& object, const Value*) {
  check_rules(check, object, false);
  if (const Value& rule = object["aggregationRule"]; !rule.is_null() && items(rule["clusterRoleSelectors"]).empty()) {
    const Path path("aggregationRule");
    check.required(path / "clusterRoleSelectors",
                   "at least one clusterRoleSelector required if aggregationRule is non-nil");
  }
}

void check_subject(Check& check, const Path& path, const Value& subject, bool namespaced) {
  const std::string_view kind = subject.text("kind");
  const std::string_view name = subject.text("name");
  if (name.empty()) check.required(path / "name");
  if (kind == "ServiceAccount") {
    if (!name.empty()) check.names(path / "name", Value(name), api::check_dns_subdomain(name));
    if (!subject.text("apiGroup").empty()) check.one_of(path / "apiGroup", subject["apiGroup"], {""});
    if (!namespaced && subject.text("namespace").empty()) check.required(path / "namespace");
  } else if (kind == "User" || kind == "Group") {
    check.one_of(path / "apiGroup", subject["apiGroup"], {kRbac});
  } else {
    check.one_of(path / "kind", Value(kind), {"ServiceAccount", "User", "Group"});
  }
}

void check_binding_of(Check& check, const Value& object, const Value* old, bool namespaced) {
  const Path role("roleRef");
  const Value& ref = object["roleRef"];
  check.one_of(role / "apiGroup", ref["apiGroup"], {kRbac});
  if (namespaced) {
    check.one_of(role / "kind", ref["kind"], {"Role", "ClusterRole"});
  } else {
    check.one_of(role / "kind", ref["kind"], {"ClusterRole"});
  }
  if (ref.text("name").empty()) check.required(role / "name");
  const Path subjects("subjects");
  const Array& all = items(object["subjects"]);
  for (std::size_t i = 0; i < all.size(); ++i) check_subject(check, subjects[i], all[i], namespaced);
  if (old != nullptr && ref != (*old)["roleRef"])
    check.invalid(role, Object{{"APIGroup", ref["apiGroup"]}, {"Kind", ref["kind"]}, {"Name", ref["name"]}},
                  "field is immutable");
}

void check_role_binding(Check& check, const Value& object, const Value* old) {
  check_binding_of(check, object, old, true);
}

void check_cluster_role_binding(Check& check, const Value& object, const Value* old) {
  check_binding_of(check, object, old, false);
}

// ---- the rest ------------------------------------------------------------------------------------------------------

void check_budget(Check& check, const Value& object, const Value*) {
  const Path path("spec");
  const Value& spec = object["spec"];
  if (!spec["minAvailable"].is_null() && !spec["maxUnavailable"].is_null())
    check.invalid(path,
                  Object{{"MinAvailable", spec["minAvailable"]},
                         {"Selector", spec["selector"]},
                         {"MaxUnavailable", spec["maxUnavailable"]},
                         {"UnhealthyPodEvictionPolicy", spec["unhealthyPodEvictionPolicy"]}},
                  "minAvailable and maxUnavailable cannot be both set");
  for (const char* member : {"minAvailable", "maxUnavailable"}) {
    if (spec[member].is_null()) continue;
    check.percent_or_number(path / member, spec[member]);
    check.at_most_100_percent(path / member, spec[member]);
  }
  check.label_selector(path / "selector", spec["selector"]);
  if (const Value& policy = spec["unhealthyPodEvictionPolicy"]; !policy.is_null())
    check.one_of(path / "unhealthyPodEvictionPolicy", policy, {"AlwaysAllow", "IfHealthyBudget"});
}

void check_autoscaler(Check& check, const Value& object, const Value*) {
  const Path path("spec");
  const Value& spec = object["spec"];
  const std::int64_t most = number(spec["maxReplicas"]);
  if (number(spec["minReplicas"]) < 0)
    check.invalid(path / "minReplicas", spec["minReplicas"], "must be greater than or equal to 0");
  if (most < 0) check.invalid(path / "maxReplicas", most, "must be greater than or equal to 1");
  if (!spec["minReplicas"].is_null() && most < number(spec["minReplicas"]))
    check.invalid(path / "maxReplicas", most, "must be greater than or equal to `minReplicas`");
  const Path target = path / "scaleTargetRef";
  const Value& ref = spec["scaleTargetRef"];
  for (const char* member : {"kind", "name"})
    if (ref.text(member).empty()) check.required(target / member);
  if (ref.text("apiVersion").find('/') == std::string_view::npos && ref.text("kind") != "ReplicationController")
    check.invalid(target / "apiVersion", Value(ref.text("apiVersion")), "apiVersion must specify API group");
  const auto scales_from_zero = [](const Value& metric) {
    return metric.text("type") == "Object" || metric.text("type") == "External";
  };
  if (spec["minReplicas"] == Value(0) && std::ranges::none_of(items(spec["metrics"]), scales_from_zero))
    check.forbidden(path / "metrics",
                    "must specify at least one Object or External metric to support scaling to zero replicas");
  if (most == 0) check.required(path / "maxReplicas");
}

void check_lease(Check& check, const Value& object, const Value*) {
  const Path path("spec");
  const Value& spec = object["spec"];
  if (const Value& duration = spec["leaseDurationSeconds"]; !duration.is_null() && number(duration) <= 0)
    check.invalid(path / "leaseDurationSeconds", duration, "must be greater than 0");
  check.non_negative(path / "leaseTransitions", spec["leaseTransitions"]);
  if (!spec.text("preferredHolder").empty() && spec.text("strategy").empty())
    check.forbidden(path / "preferredHolder", "may only be specified if `strategy` is defined");
}

void check_revision(Check& check, const Value& object, const Value* old) {
  check.non_negative(Path("revision"), object["revision"]);
  const Path data("data");
  if (object["data"].is_null()) {
    check.required(data, "data is mandatory");
  } else if (!object["data"].is_object()) {
    check.required(data, "data must be a valid JSON object");
  }
  if (old != nullptr) check.immutable(data, object["data"], (*old)["data"]);
}

void check_event_place(Check& check, const Value& object, const char* regarding) {
  const std::string_view about = object[regarding].text("namespace");
  const std::string_view own = object["metadata"].text("namespace");
  const Path path("involvedObject");
  if (about.empty() ? own != "default" && !own.empty() && own != "kube-system" : about != own)
    check.invalid(path / "namespace", Value(about), "does not match event.namespace");
}

// An event with a time of its own says who reports it, and what was done.
void check_reporter(Check& check, const Value& object, const char* controller) {
  if (object.text("eventTime").empty()) return;
  for (const char* member : {controller, "reportingInstance", "action", "reason"})
    if (object.text(member).empty()) check.required(Path(member));
}

void check_event(Check& check, const Value& object, const Value*) {
  check_event_place(check, object, "involvedObject");
  check_reporter(check, object, "reportingComponent");
}

void check_new_event(Check& check, const Value& object, const Value* old) {
  check_event_place(check, object, "regarding");
  if (old == nullptr && object.text("eventTime").empty()) check.required(Path("eventTime"));
  check_reporter(check, object, "reportingController");
  const std::string_view type = object.text("type");
  if (type != "Normal" && type != "Warning")
    check.invalid(Path("type"), Value(type), fmt::format("has invalid value: {}", type));
}

// Scopes are of pods: what counts anything else has none.
void check_scopes(Check& check, const Value& spec) {
  const Path path("spec");
  const Path scopes = path / "scopes";
  const auto is_of_pods = [](std::string_view name) {
    return name == "pods" || name == "cpu" || name == "memory" || name == "ephemeral-storage" ||
           name.starts_with("requests.") || name.starts_with("limits.");
  };
  if (items(spec["scopes"]).empty()) return;
  for (const auto& [name, amount] : members(spec["hard"]))
    if (!is_of_pods(name) || name == "requests.storage")
      return check.invalid(scopes, spec["scopes"], "unsupported scope applied to resource");
}

void check_quota(Check& check, const Value& object, const Value*) {
  const Path spec("spec");
  const Path hard = spec / "hard";
  for (const auto& [name, amount] : members(object["spec"]["hard"])) {
    const std::size_t before = check.count();
    check_resource_name(check, hard.key(name), name);
    if (check.count() != before) check.invalid(hard.key(name), name, "must be a standard resource for quota");
    check_amount(check, hard.key(name), name, amount);
  }
  check_scopes(check, object["spec"]);
}

void check_limit_range(Check& check, const Value& object, const Value*) {
  const Path spec("spec");
  const Path limits = spec / "limits";
  std::set<std::string_view> types;
  const Array& all = items(object["spec"]["limits"]);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Path one = limits[i];
    const Value& item = all[i];
    const std::string_view type = item.text("type");
    if (!types.insert(type).second) check.duplicate(one / "type", Value(type));
    std::set<std::string> names;
    for (const char* member : {"max", "min", "default", "defaultRequest"})
      for (const auto& [name, amount] : members(item[member])) names.insert(name);
    for (const std::string& name : names) {
      const auto least = quantity(item["min"][name]);
      const auto most = quantity(item["max"][name]);
      const auto request = quantity(item["defaultRequest"][name]);
      const auto limit = quantity(item["default"][name]);
      const auto above = [&](const char* member, const Value& shown, const char* words, const auto& a, const char* than,
                             const auto& b) {
        const Path at = one / member;
        if (a && b && *a > *b)
          check.invalid(at.key(name), shown,
                        fmt::format("{} {} is greater than {} {}", words, a->str(), than, b->str()));
      };
      above("min", item["min"][name], "min value", least, "max value", most);
      above("defaultRequest", item["defaultRequest"][name], "min value", least, "default request value", request);
      above("defaultRequest", item["defaultRequest"][name], "default request value", request, "max value", most);
      above("defaultRequest", item["defaultRequest"][name], "default request value", request, "default limit value",
            limit);
      above("default", item["min"][name], "min value", least, "default value", limit);
      above("default", item["max"][name], "default value", limit, "max value", most);
    }
  }
}

void check_priority_class(Check& check, const Value& object, const Value* old) {
  constexpr std::int64_t kHighest = 1'000'000'000;
  const Path metadata("metadata");
  const std::string_view name = object["metadata"].text("name");
  const std::int64_t value = number(object["value"]);
  if (old != nullptr) {
    if (object["value"] != (*old)["value"]) check.forbidden(Path("value"), "may not be changed in an update.");
    return check.immutable(Path("preemptionPolicy"), object["preemptionPolicy"], (*old)["preemptionPolicy"]);
  }
  const bool known = (name == "system-node-critical" && value == 2'000'001'000) ||
                     (name == "system-cluster-critical" && value == 2'000'000'000);
  if (name.starts_with("system-") && !known) {
    check.forbidden(
        metadata / "name",
        fmt::format("priority class names with 'system-' prefix are reserved for system use only. error: {} "
                    "is not a known system priority class",
                    name));
  } else if (!known && value > kHighest) {
    check.forbidden(Path("value"), "maximum allowed value of a user defined priority is 1000000000");
  }
  check.one_of(Path("preemptionPolicy"), object["preemptionPolicy"], {"PreemptLowerPriority", "Never"});
}

void check_webhooks(Check& check, const Value& object, const Value*) {
  const Path path("webhooks");
  const Array& all = items(object["webhooks"]);
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Path one = path[i];
    const Value& hook = all[i];
    const std::string_view name = hook.text("name");
    if (name.empty()) {
      check.required(one / "name");
    } else {
      const std::size_t before = check.count();
      check.names(one / "name", Value(name), api::check_dns_subdomain(name));
      if (check.count() == before && std::ranges::count(name, '.') < 2)
        check.invalid(one / "name", Value(name), "should be a domain with at least three segments separated by dots");
      if (!names.insert(name).second) check.duplicate(one / "name", Value(name));
    }
    const Path rules = one / "rules";
    const Array& every = items(hook["rules"]);
    for (std::size_t r = 0; r < every.size(); ++r) {
      const Path rule = rules[r];
      for (const char* member : {"operations", "apiGroups", "apiVersions", "resources"})
        if (items(every[r][member]).empty()) check.required(rule / member);
    }
    check.one_of(one / "failurePolicy", hook["failurePolicy"], {"Fail", "Ignore"});
    check.one_of(one / "matchPolicy", hook["matchPolicy"], {"Equivalent", "Exact"});
    if (hook["sideEffects"].is_null()) {
      check.required(one / "sideEffects", "must specify one of None, NoneOnDryRun");
    } else {
      check.one_of(one / "sideEffects", hook["sideEffects"], {"None", "NoneOnDryRun"});
    }
    if (const std::int64_t seconds = number(hook["timeoutSeconds"]); seconds < 1 || seconds > 30)
      check.invalid(one / "timeoutSeconds", seconds, "the timeout value must be between 1 and 30 seconds");
    check.label_selector(one / "namespaceSelector", hook["namespaceSelector"]);
    check.label_selector(one / "objectSelector", hook["objectSelector"]);
    const Path client = one / "clientConfig";
    const std::string_view url = hook["clientConfig"].text("url");
    if (hook["clientConfig"]["url"].is_null() == hook["clientConfig"]["service"].is_null()) {
      check.required(client, "exactly one of url or service is required");
    } else if (!hook["clientConfig"]["url"].is_null() && !url.starts_with("https://")) {
      check.invalid(client / "url", Value(url.substr(0, url.find("://"))),
                    "'https' is the only allowed URL scheme; desired format: https://host[/path]");
    }
    const Array& versions = items(hook["admissionReviewVersions"]);
    if (versions.empty()) {
      check.required(one / "admissionReviewVersions", "must specify one of v1, v1beta1");
    } else if (std::ranges::find(versions, Value("v1")) == versions.end() &&
               std::ranges::find(versions, Value("v1beta1")) == versions.end()) {
      check.invalid(one / "admissionReviewVersions", hook["admissionReviewVersions"],
                    "must include at least one of v1, v1beta1");
    }
  }
}

struct KindCheck {
  std::string_view group;
  std::string_view kind;
  NameRule name = NameRule::Subdomain;
  void (*check)(Check&, const Value&, const Value*) = nullptr;
};

constexpr std::string_view kAdmission = "admissionregistration.k8s.io";
constexpr std::string_view kNetwork = "networking.k8s.io";

constexpr std::array kChecks = std::to_array<KindCheck>({
    {"", "Pod", NameRule::Subdomain, check_pod},
    {"", "PodTemplate", NameRule::Subdomain, check_template},
    {"", "ReplicationController", NameRule::Subdomain, check_replication_controller},
    {"", "Service", NameRule::Label, check_service},
    {"", "ConfigMap", NameRule::Subdomain, check_config_map},
    {"", "Secret", NameRule::Subdomain, check_secret},
    {"", "Namespace", NameRule::Label},
    {"", "Node", NameRule::Subdomain, check_node},
    {"", "PersistentVolume", NameRule::Subdomain, check_volume},
    {"", "PersistentVolumeClaim", NameRule::Subdomain, check_claim},
    {"", "Endpoints", NameRule::Subdomain, check_endpoints},
    {"", "Event", NameRule::Subdomain, check_event},
    {"events.k8s.io", "Event", NameRule::Subdomain, check_new_event},
    {"", "ResourceQuota", NameRule::Subdomain, check_quota},
    {"", "LimitRange", NameRule::Subdomain, check_limit_range},
    {"apps", "Deployment", NameRule::Subdomain, check_deployment},
    {"apps", "ReplicaSet", NameRule::Subdomain, check_replica_set},
    {"apps", "StatefulSet", NameRule::Label, check_stateful_set},
    {"apps", "DaemonSet", NameRule::Subdomain, check_daemon_set},
    {"apps", "ControllerRevision", NameRule::Subdomain, check_revision},
    {"batch", "Job", NameRule::Subdomain, check_job},
    {"batch", "CronJob", NameRule::Subdomain, check_cron_job},
    {"discovery.k8s.io", "EndpointSlice", NameRule::Subdomain, check_endpoint_slice},
    {kNetwork, "Ingress", NameRule::Subdomain, check_ingress},
    {kNetwork, "IngressClass", NameRule::Subdomain, check_ingress_class},
    {kNetwork, "NetworkPolicy", NameRule::Subdomain, check_network_policy},
    {kRbac, "Role", NameRule::Path, check_role},
    {kRbac, "ClusterRole", NameRule::Path, check_cluster_role},
    {kRbac, "RoleBinding", NameRule::Path, check_role_binding},
    {kRbac, "ClusterRoleBinding", NameRule::Path, check_cluster_role_binding},
    {"policy", "PodDisruptionBudget", NameRule::Subdomain, check_budget},
    {"autoscaling", "HorizontalPodAutoscaler", NameRule::Subdomain, check_autoscaler},
    {"coordination.k8s.io", "Lease", NameRule::Subdomain, check_lease},
    {"scheduling.k8s.io", "PriorityClass", NameRule::Subdomain, check_priority_class},
    {"storage.k8s.io", "StorageClass", NameRule::Subdomain, check_storage_class},
    {kAdmission, "ValidatingWebhookConfiguration", NameRule::Subdomain, check_webhooks},
    {kAdmission, "MutatingWebhookConfiguration", NameRule::Subdomain, check_webhooks},
});

}  // namespace

void validate(std::string_view group, std::string_view /*version*/, std::string_view kind, const Value& object,
              const Value* old, Problems& problems, std::string_view subresource) {
  const auto* at =
      std::ranges::find_if(kChecks, [&](const KindCheck& one) { return one.kind == kind && one.group == group; });
  const KindCheck known = at == kChecks.end() ? KindCheck() : *at;
  validate_metadata(object, old, known.name, problems);
  Check check(problems);
  if (subresource == "status") return check_status(check, group, kind, object["status"]);
  if (subresource == "ephemeralcontainers") return check_ephemeral_containers(check, object, *old);
  if (known.check != nullptr) known.check(check, object, old);
}

}  // namespace kopper::plane::builtin
