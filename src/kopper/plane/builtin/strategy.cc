#include "kopper/plane/builtin/strategy.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "kopper/api/quantity.h"
#include "kopper/plane/reading.h"

namespace kopper::plane::builtin {
namespace {

using json::Array;
using json::Object;
using json::Value;

struct Strategy {
  std::string_view group;
  std::string_view kind;
  bool status = false;            // has the status path
  std::string_view counted = {};  // whose change moves metadata.generation; "": the kind has none
};

constexpr std::array kStrategies = std::to_array<Strategy>({
    {"", "Pod", true, "spec"},
    {"", "PodTemplate", false, "template"},
    {"", "ReplicationController", true, "spec"},
    {"", "Service", true},
    {"", "Namespace", true},
    {"", "Node", true},
    {"", "PersistentVolume", true},
    {"", "PersistentVolumeClaim", true},
    {"", "ResourceQuota", true},
    {"apps", "Deployment", true, "spec"},
    {"apps", "ReplicaSet", true, "spec"},
    {"apps", "StatefulSet", true, "spec"},
    {"apps", "DaemonSet", true, "spec"},
    {"batch", "Job", true, "spec"},
    {"batch", "CronJob", true, "spec"},
    {"networking.k8s.io", "Ingress", true, "spec"},
    {"networking.k8s.io", "NetworkPolicy", false, "spec"},
    {"networking.k8s.io", "IngressClass", false, "spec"},
    {"networking.k8s.io", "ServiceCIDR", true},
    {"policy", "PodDisruptionBudget", true, "spec"},
    {"autoscaling", "HorizontalPodAutoscaler", true, "spec"},
    {"discovery.k8s.io", "EndpointSlice", false, "*"},
    {"scheduling.k8s.io", "PriorityClass", false, "value"},  // which never changes
    {"storage.k8s.io", "VolumeAttachment", true},
    {"apiextensions.k8s.io", "CustomResourceDefinition", true, "spec"},
    {"apiregistration.k8s.io", "APIService", true},
    {"admissionregistration.k8s.io", "ValidatingWebhookConfiguration", false, "webhooks"},
    {"admissionregistration.k8s.io", "MutatingWebhookConfiguration", false, "webhooks"},
    {"admissionregistration.k8s.io", "ValidatingAdmissionPolicy", true, "spec"},
    {"admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding", false, "spec"},
    {"admissionregistration.k8s.io", "MutatingAdmissionPolicy", false, "spec"},
    {"admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding", false, "spec"},
});

constexpr Strategy kPlain{};

const Strategy& strategy_of(KindName kind) {
  const auto at = std::ranges::find_if(
      kStrategies, [&](const Strategy& one) { return one.kind == kind.kind && one.group == kind.group; });
  return at == kStrategies.end() ? kPlain : *at;
}

bool is(KindName kind, std::string_view group, std::string_view name) {
  return kind.kind == name && kind.group == group;
}

void copy_member(Value& to, const Value& from, std::string_view member) {
  if (const Value& value = from[member]; value.is_null()) {
    if (Object* object = to.as_object()) object->erase(member);
  } else {
    to[member] = value;
  }
}

bool same(const Value& a, const Value& b, std::string_view member) { return a[member] == b[member]; }

std::int64_t generation_of(const Value& object) {
  const std::int64_t* number = object["metadata"]["generation"].as_int();
  return number == nullptr ? 0 : *number;
}

Array& array_in(Value& object, std::string_view member) {
  Value& at = object[member];
  if (!at.is_array()) at = Array();
  return *at.as_array();
}

void add_once(Array& list, const char* text) {
  if (std::ranges::find(list, Value(text)) == list.end()) list.emplace_back(text);
}

// ---- create --------------------------------------------------------------------------------------------------------

// A job selects its pods by its own uid, unless its author says that he does it by hand.
void generate_selector(Value& job) {
  const std::string uid(std::as_const(job)["metadata"].text("uid"));
  const std::string name(std::as_const(job)["metadata"].text("name"));
  if (std::as_const(job)["spec"]["manualSelector"] == Value(true)) return;
  // The labels that a job has from its template are the template's: they change together.
  const bool shared =
      std::as_const(job)["metadata"]["labels"].is_object() &&
      std::as_const(job)["metadata"]["labels"] == std::as_const(job)["spec"]["template"]["metadata"]["labels"];
  Value& labels = job["spec"]["template"]["metadata"]["labels"];
  const auto label = [&](const char* key, const std::string& value) {
    if (std::as_const(labels)[key].is_null()) labels[key] = value;
  };
  label("batch.kubernetes.io/controller-uid", uid);
  label("batch.kubernetes.io/job-name", name);
  label("controller-uid", uid);
  label("job-name", name);
  if (shared || members(std::as_const(job)["metadata"]["labels"]).empty()) job["metadata"]["labels"] = Value(labels);
  Value& selected = job["spec"]["selector"]["matchLabels"];
  if (std::as_const(selected)["batch.kubernetes.io/controller-uid"].is_null())
    selected["batch.kubernetes.io/controller-uid"] = uid;
}

// What a claim is filled from has an old name and a new one, which say the same.
void name_source(Value& spec) {
  const Value& seen = spec;
  if (!seen["dataSource"].is_null() && seen["dataSourceRef"].is_null()) {
    spec["dataSourceRef"] = Value(seen["dataSource"]);
  } else if (seen["dataSource"].is_null() && !seen["dataSourceRef"].is_null() &&
             seen["dataSourceRef"].text("namespace").empty()) {
    spec["dataSource"] = Value(seen["dataSourceRef"]);
  }
  for (const char* member : {"dataSource", "dataSourceRef"})
    if (seen[member].is_object() && seen[member]["apiGroup"].is_null()) spec[member]["apiGroup"] = nullptr;
}

void reset_status(KindName kind, Value& object) {
  if (is(kind, "", "Node") || is(kind, "apiregistration.k8s.io", "APIService"))
    return;  // who makes a node says how it is
  if (is(kind, "apiextensions.k8s.io", "CustomResourceDefinition")) return;
  object["status"] = Object();
  if (is(kind, "", "Pod")) {
    object["status"]["phase"] = "Pending";
    const Array* gates = std::as_const(object)["spec"]["schedulingGates"].as_array();
    if (gates != nullptr && !gates->empty())
      object["status"]["conditions"] =
          Array{Object{{"type", "PodScheduled"},
                       {"status", "False"},
                       {"lastProbeTime", nullptr},
                       {"lastTransitionTime", std::as_const(object)["metadata"]["creationTimestamp"]},
                       {"reason", "SchedulingGated"},
                       {"message", "Scheduling is blocked due to non-empty scheduling gates"}}};
    object["status"]["qosClass"] = qos_class(object);
  } else if (is(kind, "", "Namespace")) {
    object["status"]["phase"] = "Active";
  } else if (is(kind, "", "PersistentVolumeClaim")) {
    object["status"]["phase"] = "Pending";
  } else if (is(kind, "", "PersistentVolume")) {
    object["status"]["phase"] = "Pending";
    copy_member(object["status"],
                Object{{"lastPhaseTransitionTime", std::as_const(object)["metadata"]["creationTimestamp"]}},
                "lastPhaseTransitionTime");
  }
}

bool tolerates(const Value& toleration, std::string_view key) {
  const std::string_view named = toleration.text("key");
  const std::string_view effect = toleration.text("effect");
  return (named.empty() || named == key) && (effect.empty() || effect == "NoExecute");
}

// How long a pod stays on a node that does not answer, unless it says so itself.
void tolerate_absence(Value& pod) {
  Value& spec = pod["spec"];
  for (const char* key : {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}) {
    const Array* known = std::as_const(spec)["tolerations"].as_array();
    if (known != nullptr && std::ranges::any_of(*known, [&](const Value& one) { return tolerates(one, key); }))
      continue;
    array_in(spec, "tolerations")
        .emplace_back(
            Object{{"key", key}, {"operator", "Exists"}, {"effect", "NoExecute"}, {"tolerationSeconds", 300}});
  }
}

void admit_pod(Value& pod) {
  tolerate_absence(pod);
  Value& spec = pod["spec"];
  if (std::as_const(spec)["priority"].is_null()) spec["priority"] = 0;
  if (std::as_const(spec)["preemptionPolicy"].is_null()) spec["preemptionPolicy"] = "PreemptLowerPriority";
}

// ---- update --------------------------------------------------------------------------------------------------------

// What a client may leave out of an update, and what it cannot change at all.
void keep_metadata(Value& object, const Value& old) {
  Value& metadata = object["metadata"];
  const Value& before = old["metadata"];
  if (std::as_const(metadata)["uid"].is_null()) copy_member(metadata, before, "uid");
  for (const char* member : {"creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation"})
    copy_member(metadata, before, member);
  if (Object* all = metadata.as_object()) all->erase("selfLink");
}

bool counts(const Strategy& strategy, KindName kind, const Value& object, const Value& old) {
  if (strategy.counted == "*") {
    if (object["metadata"]["labels"] != old["metadata"]["labels"]) return true;
    Value a = object;
    Value b = old;
    a["metadata"] = b["metadata"] = nullptr;
    return a != b;
  }
  if (is(kind, "apps", "Deployment") && object["metadata"]["annotations"] != old["metadata"]["annotations"])
    return true;
  return !same(object, old, strategy.counted);
}

// The cluster has IPv4 only; who finds the pods of a headless service by itself may find them at either.
void set_families(Value& spec, const Value& before) {
  const Value& seen = spec;
  if (seen.text("type") == "ExternalName") return;
  const bool none = seen["ipFamilies"].is_null() && seen["ipFamilyPolicy"].is_null();
  const bool both = none && before.is_null() && seen["selector"].is_null() && seen.text("clusterIP") == "None";
  for (const char* member : {"ipFamilies", "ipFamilyPolicy"}) {
    if (!seen[member].is_null()) continue;
    const bool list = std::string_view(member) == "ipFamilies";
    const Value one = list ? Value(Array{"IPv4"}) : Value("SingleStack");
    const Value two = list ? Value(Array{"IPv4", "IPv6"}) : Value("RequireDualStack");
    spec[member] = !before[member].is_null() ? before[member] : both ? two : one;
  }
}

// What was allocated for a service stays, when the client leaves it out.
void keep_allocated(Value& service, const Value& old) {
  Value& spec = service["spec"];
  const Value& before = old["spec"];
  const auto needs_ip = [](const Value& one) { return one.text("type") != "ExternalName"; };
  const auto needs_ports = [](const Value& one) {
    return one.text("type") == "NodePort" || one.text("type") == "LoadBalancer";
  };
  if (needs_ip(before) && needs_ip(spec) && std::as_const(spec)["clusterIP"].is_null() &&
      std::as_const(spec)["clusterIPs"].is_null()) {
    copy_member(spec, before, "clusterIP");
    copy_member(spec, before, "clusterIPs");
  }
  if (!needs_ports(before) || !needs_ports(spec)) return;
  if (std::as_const(spec)["healthCheckNodePort"].is_null()) copy_member(spec, before, "healthCheckNodePort");
  const Array* old_ports = before["ports"].as_array();
  Array* ports = spec["ports"].as_array();
  if (old_ports == nullptr || ports == nullptr) return;
  for (Value& port : *ports) {
    if (!port.is_object() || !std::as_const(port)["nodePort"].is_null()) continue;
    for (const Value& one : *old_ports)
      if (one["port"] == std::as_const(port)["port"] && one["protocol"] == std::as_const(port)["protocol"])
        copy_member(port, one, "nodePort");
  }
}

// A field of a service that is only set for another type goes away with that type, unless the client changed it too.
void drop_by_type(Value& service, const Value& old) {
  Value& spec = service["spec"];
  const Value& before = old["spec"];
  const std::string_view type = std::as_const(spec).text("type");
  const std::string_view was = before.text("type");
  if (type == was) return;
  Object& members = *spec.as_object();
  const auto drop = [&](const char* member) {
    if (same(spec, before, member)) members.erase(member);
  };
  const bool ports_go = (was == "NodePort" || was == "LoadBalancer") && !(type == "NodePort" || type == "LoadBalancer");
  if (type == "ExternalName" && was != "ExternalName") {
    drop("clusterIP");
    drop("clusterIPs");
    drop("ipFamilies");
    drop("ipFamilyPolicy");
  }
  if (ports_go) {
    Array* ports = spec["ports"].as_array();
    const Value& old_ports = before["ports"];
    if (ports != nullptr && Value(*ports) == old_ports)
      for (Value& port : *ports)
        if (Object* one = port.as_object()) one->erase("nodePort");
    drop("externalTrafficPolicy");
    drop("healthCheckNodePort");
  }
  if (was == "LoadBalancer" && type != "LoadBalancer") {
    drop("allocateLoadBalancerNodePorts");
    drop("loadBalancerClass");
  }
  if (was == "ExternalName") drop("externalName");
}

void daemon_generation(Value& object, const Value& old) {
  // Kept in an annotation by the newest API; only its own controller reads it.
  static constexpr const char* kAnnotation = "deprecated.daemonset.template.generation";
  std::int64_t number = 0;
  const std::string_view before = old["metadata"]["annotations"].text(kAnnotation);
  for (const char c : before)
    if (c >= '0' && c <= '9' && number < 1'000'000'000) number = number * 10 + (c - '0');
  if (!(object["spec"]["template"] == old["spec"]["template"])) ++number;
  object["metadata"]["annotations"][kAnnotation] = std::to_string(number);
}

}  // namespace

bool has_generation(KindName kind) { return !strategy_of(kind).counted.empty(); }

bool has_status(KindName kind) { return strategy_of(kind).status; }

void admit_create(KindName kind, Value& object) {
  if (is(kind, "", "Pod")) {
    admit_pod(object);
  } else if (is(kind, "", "PersistentVolumeClaim")) {
    add_once(array_in(object["metadata"], "finalizers"), "kubernetes.io/pvc-protection");
  } else if (is(kind, "", "PersistentVolume")) {
    add_once(array_in(object["metadata"], "finalizers"), "kubernetes.io/pv-protection");
  } else if (is(kind, "", "Node")) {
    const Array* taints = std::as_const(object)["spec"]["taints"].as_array();
    const auto not_ready = [](const Value& taint) {
      return taint.text("key") == "node.kubernetes.io/not-ready" && taint.text("effect") == "NoSchedule";
    };
    if (taints == nullptr || std::ranges::none_of(*taints, not_ready))
      array_in(object["spec"], "taints")
          .emplace_back(Object{{"key", "node.kubernetes.io/not-ready"}, {"effect", "NoSchedule"}});
  }
}

void prepare_create(KindName kind, Value& object) {
  const Strategy& strategy = strategy_of(kind);
  if (Object* metadata = object["metadata"].as_object()) {
    for (const char* member : {"deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"}) metadata->erase(member);
    // A kind that does not count keeps what it was sent.
    if (!strategy.counted.empty()) (*metadata)["generation"] = 1;
  }
  if (strategy.status) reset_status(kind, object);
  if (is(kind, "", "Namespace")) {
    add_once(array_in(object["spec"], "finalizers"), "kubernetes");
  } else if (is(kind, "", "PersistentVolumeClaim")) {
    name_source(object["spec"]);
  } else if (is(kind, "batch", "Job")) {
    generate_selector(object);
  } else if (is(kind, "", "Service")) {
    set_families(object["spec"], Value());
  } else if (is(kind, "apps", "DaemonSet")) {
    object["metadata"]["annotations"]["deprecated.daemonset.template.generation"] = "1";
  }
}

void prepare_update(KindName kind, Value& object, const Value& old) {
  const Strategy& strategy = strategy_of(kind);
  keep_metadata(object, old);
  if (strategy.status) copy_member(object, old, "status");
  if (is(kind, "", "Pod")) {
    tolerate_absence(object);
  } else if (is(kind, "", "Namespace")) {
    copy_member(object["spec"], old["spec"], "finalizers");
  } else if (is(kind, "", "Service")) {
    keep_allocated(object, old);
    drop_by_type(object, old);
    set_families(object["spec"], old["spec"]);
  } else if (is(kind, "apps", "DaemonSet")) {
    daemon_generation(object, old);
  }
  if (!strategy.counted.empty() && counts(strategy, kind, object, old))
    object["metadata"]["generation"] = generation_of(old) + 1;
}

void prepare_status_update(KindName kind, Value& object, const Value& old) {
  Value status = std::as_const(object)["status"];
  Value metadata = std::as_const(object)["metadata"];
  object = old;
  if (status.is_null()) {
    object.as_object()->erase("status");
  } else {
    object["status"] = std::move(status);
  }
  object["metadata"] = std::move(metadata);
  keep_metadata(object, old);
  // Finalizers, labels and annotations may be written here too, as the server allows it; who owns a pod may not.
  if (is(kind, "", "Pod")) {
    copy_member(object["metadata"], old["metadata"], "ownerReferences");
    copy_member(object["metadata"], old["metadata"], "deletionTimestamp");
    if (std::as_const(object)["status"]["qosClass"].is_null()) copy_member(object["status"], old["status"], "qosClass");
  } else if (is(kind, "apps", "Deployment")) {
    copy_member(object["metadata"], old["metadata"], "labels");
  } else if (is(kind, "", "PersistentVolume")) {
    if (std::as_const(object)["status"]["lastPhaseTransitionTime"].is_null())
      copy_member(object["status"], old["status"], "lastPhaseTransitionTime");
  }
}

std::string_view qos_class(const Value& pod) {
  bool any = false;
  bool guaranteed = true;
  const auto is_set = [](const Value& amount) {
    const std::string* text = amount.as_string();
    if (text == nullptr) return false;
    const auto parsed = api::Quantity::parse(*text);
    return parsed && parsed->sign() > 0;
  };
  for (const char* list : {"containers", "initContainers"}) {
    const Array* all = pod["spec"][list].as_array();
    if (all == nullptr) continue;
    for (const Value& one : *all) {
      const Value& resources = one["resources"];
      for (const char* name : {"cpu", "memory"}) {
        const Value& limit = resources["limits"][name];
        const Value& request = resources["requests"][name];
        any = any || is_set(limit) || is_set(request);
        if (!is_set(limit) || (is_set(request) && request != limit)) guaranteed = false;
      }
    }
  }
  if (!any) return "BestEffort";
  return guaranteed ? "Guaranteed" : "Burstable";
}

}  // namespace kopper::plane::builtin
