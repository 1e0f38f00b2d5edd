#include "kopper/plane/builtin/defaults.h"

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "kopper/meta/base64.h"

namespace kopper::plane::builtin {
namespace {

using json::Array;
using json::Object;
using json::Value;

// What is set in one struct: the members that are absent, in `blank`; what depends on others, by `more`, before that;
// then the structs inside. A step of a path that is a list stands for each of its items.
struct Rules {
  struct Inner {
    std::vector<std::string_view> path;
    const Rules* rules;
  };

  explicit Rules(const char* blank_json, std::initializer_list<Inner> inner = {}, void (*more_code)(Object&) = nullptr)
      : inside(inner), more(more_code) {
    auto parsed = json::parse(blank_json);
    if (!parsed) throw std::logic_error(parsed.error().str());
    blank = std::move(*parsed->as_object());
  }

  void apply(Object& object) const;
  void apply_below(Value& at, const std::vector<std::string_view>& path, std::size_t step, const Rules& rules) const;

  Object blank;
  std::vector<Inner> inside;
  void (*more)(Object&);
};

bool absent(const Object& object, std::string_view name) {
  const Value* at = object.find(name);
  return at == nullptr || at->is_null();
}

void set_if_absent(Object& object, std::string_view name, const Value& value) {
  if (Value& at = object[name]; at.is_null()) at = value;
}

Object* object_at(Object& object, std::string_view name) {
  Value* at = object.find(name);
  return at == nullptr ? nullptr : at->as_object();
}

Array* array_at(Object& object, std::string_view name) {
  Value* at = object.find(name);
  return at == nullptr ? nullptr : at->as_array();
}

std::string_view text_at(const Object& object, std::string_view name) {
  const Value* at = object.find(name);
  const std::string* text = at == nullptr ? nullptr : at->as_string();
  return text == nullptr ? std::string_view() : *text;
}

// The member `name`, made an object.
Object& object_in(Object& object, std::string_view name) {
  Value& at = object[name];
  if (!at.is_object()) at = Object();
  return *at.as_object();
}

template <class F>
void each_object(Object& object, std::string_view list, F&& f) {
  if (Array* items = array_at(object, list))
    for (Value& item : *items)
      if (Object* one = item.as_object()) f(*one);
}

void fill(Object& object, const Object& blank) {
  for (const auto& [name, value] : blank) {
    Value& at = object[name];
    if (at.is_null()) {
      at = value;
    } else if (at.is_object() && value.is_object()) {
      fill(*at.as_object(), *value.as_object());
    }
  }
}

void Rules::apply(Object& object) const {
  if (more != nullptr) more(object);
  fill(object, blank);
  for (const Inner& inner : inside)
    if (Value* at = object.find(inner.path[0])) apply_below(*at, inner.path, 1, *inner.rules);
}

void Rules::apply_below(Value& at, const std::vector<std::string_view>& path, std::size_t step,
                        const Rules& rules) const {
  if (Array* items = at.as_array()) {
    for (Value& item : *items)
      if (item.is_object()) apply_below(item, path, step, rules);
    return;
  }
  Object* object = at.as_object();
  if (object == nullptr) return;
  if (step == path.size()) return rules.apply(*object);
  if (Value* next = object->find(path[step])) apply_below(*next, path, step + 1, rules);
}

// ---- pods ----------------------------------------------------------------------------------------------------------

// Of an image without tag and digest: "latest".
std::string_view tag_of(std::string_view image) {
  if (image.empty()) return {};
  const std::size_t digest = image.find('@');
  const std::string_view name = image.substr(0, digest);
  const std::size_t colon = name.rfind(':');
  if (colon != std::string_view::npos && name.find('/', colon) == std::string_view::npos) return name.substr(colon + 1);
  return digest == std::string_view::npos ? "latest" : "";
}

void set_pull_policy(Object& object, std::string_view image_member, std::string_view policy_member) {
  if (absent(object, policy_member))
    object[policy_member] = tag_of(text_at(object, image_member)) == "latest" ? "Always" : "IfNotPresent";
}

void container(Object& object) { set_pull_policy(object, "image", "imagePullPolicy"); }

void image_volume(Object& object) { set_pull_policy(object, "reference", "pullPolicy"); }

void volume(Object& object) {
  for (const auto& [name, value] : object)
    if (name != "name" && !value.is_null()) return;
  object["emptyDir"] = Object();
}

void pod_spec(Object& spec) {
  const std::string name(absent(spec, "serviceAccountName") ? text_at(spec, "serviceAccount")
                                                            : text_at(spec, "serviceAccountName"));
  if (name.empty()) return;
  spec["serviceAccountName"] = name;
  spec["serviceAccount"] = name;
}

void requests_from_limits(Object& container) {
  Object* resources = object_at(container, "resources");
  Object* limits = resources == nullptr ? nullptr : object_at(*resources, "limits");
  if (limits == nullptr || limits->empty()) return;
  const Object copy = *limits;
  Object& requests = object_in(*resources, "requests");
  for (const auto& [name, amount] : copy) set_if_absent(requests, name, amount);
}

void host_ports(Object& container) {
  each_object(container, "ports", [](Object& port) {
    if (const Value* number = port.find("containerPort")) set_if_absent(port, "hostPort", Value(*number));
  });
}

// What holds for pods, but not for the templates of pods.
void pod(Object& object) {
  Object& spec = object_in(object, "spec");
  if (const Value* grace = spec.find("terminationGracePeriodSeconds"))
    if (const std::int64_t* seconds = grace->as_int(); seconds != nullptr && *seconds < 0)
      spec["terminationGracePeriodSeconds"] = 1;
  const Value* host_network = spec.find("hostNetwork");
  const bool on_host = host_network != nullptr && *host_network == Value(true);
  for (const char* list : {"containers", "initContainers"})
    each_object(spec, list, [&](Object& one) {
      requests_from_limits(one);
      if (on_host) host_ports(one);
    });
  set_if_absent(spec, "enableServiceLinks", true);
}

void pod_status(Object& status) {
  const std::string ip(text_at(status, "podIP"));
  Array* ips = array_at(status, "podIPs");
  const bool has_ips = ips != nullptr && !ips->empty();
  if (ip.empty() && has_ips) {
    status["podIP"] = Value((*ips)[0]["ip"]);
  } else if (!ip.empty() && (!has_ips || std::as_const((*ips)[0]).text("ip") != ip)) {
    status["podIPs"] = Array{Object{{"ip", ip}}};
  }
}

const Rules kFieldRef(R"({"apiVersion": "v1"})");
const Rules kHttpGet(R"({"path": "/", "scheme": "HTTP"})");
const Rules kGrpc(R"({"service": ""})");
const Rules kProbe(R"({"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3})",
                   {{{"httpGet"}, &kHttpGet}, {{"grpc"}, &kGrpc}});
const Rules kTcp(R"({"protocol": "TCP"})");
const Rules kFileKeyRef(R"({"optional": false})");
const Rules kContainer(R"({"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"})",
                       {{{"ports"}, &kTcp},
                        {{"env", "valueFrom", "fieldRef"}, &kFieldRef},
                        {{"env", "valueFrom", "fileKeyRef"}, &kFileKeyRef},
                        {{"livenessProbe"}, &kProbe},
                        {{"readinessProbe"}, &kProbe},
                        {{"startupProbe"}, &kProbe},
                        {{"lifecycle", "postStart", "httpGet"}, &kHttpGet},
                        {{"lifecycle", "preStop", "httpGet"}, &kHttpGet}},
                       container);

const Rules kDefaultMode(R"({"defaultMode": 420})");
const Rules kDownwardApi(R"({"defaultMode": 420})", {{{"items", "fieldRef"}, &kFieldRef}});
const Rules kTokenProjection(R"({"expirationSeconds": 3600})");
const Rules kProjected(R"({"defaultMode": 420})", {{{"sources", "serviceAccountToken"}, &kTokenProjection},
                                                   {{"sources", "downwardAPI", "items", "fieldRef"}, &kFieldRef}});
const Rules kClaimSpec(R"({"volumeMode": "Filesystem"})");
const Rules kHostPath(R"({"type": ""})");
const Rules kIscsi(R"({"iscsiInterface": "default"})");
const Rules kRbd(R"({"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"})");
const Rules kAzureDisk(R"({"cachingMode": "ReadWrite", "fsType": "ext4", "readOnly": false, "kind": "Shared"})");
const Rules kScaleIo(R"({"storageMode": "ThinProvisioned", "fsType": "xfs"})");
const Rules kImageVolume("{}", {}, image_volume);
const Rules kVolume("{}",
                    {{{"secret"}, &kDefaultMode},
                     {{"configMap"}, &kDefaultMode},
                     {{"downwardAPI"}, &kDownwardApi},
                     {{"projected"}, &kProjected},
                     {{"hostPath"}, &kHostPath},
                     {{"ephemeral", "volumeClaimTemplate", "spec"}, &kClaimSpec},
                     {{"image"}, &kImageVolume},
                     {{"iscsi"}, &kIscsi},
                     {{"rbd"}, &kRbd},
                     {{"azureDisk"}, &kAzureDisk},
                     {{"scaleIO"}, &kScaleIo}},
                    volume);

const Rules kPodSpec(R"({"dnsPolicy": "ClusterFirst", "restartPolicy": "Always", "securityContext": {},
                         "terminationGracePeriodSeconds": 30, "schedulerName": "default-scheduler"})",
                     {{{"containers"}, &kContainer},
                      {{"initContainers"}, &kContainer},
                      {{"ephemeralContainers"}, &kContainer},
                      {{"volumes"}, &kVolume}},
                     pod_spec);
const Rules kPodStatus("{}", {}, pod_status);

// ---- workloads -----------------------------------------------------------------------------------------------------

void deployment(Object& object) {
  Object& strategy = object_in(object_in(object, "spec"), "strategy");
  set_if_absent(strategy, "type", "RollingUpdate");
  if (text_at(strategy, "type") != "RollingUpdate") return;
  Object& rolling = object_in(strategy, "rollingUpdate");
  set_if_absent(rolling, "maxUnavailable", "25%");
  set_if_absent(rolling, "maxSurge", "25%");
}

void daemon_set(Object& object) {
  // A field of the server's own that the newest version shows as an annotation: who does not send it, sends 0.
  set_if_absent(object_in(object_in(object, "metadata"), "annotations"), "deprecated.daemonset.template.generation",
                "0");
  Object& strategy = object_in(object_in(object, "spec"), "updateStrategy");
  set_if_absent(strategy, "type", "RollingUpdate");
  if (text_at(strategy, "type") != "RollingUpdate") return;
  Object& rolling = object_in(strategy, "rollingUpdate");
  set_if_absent(rolling, "maxUnavailable", 1);
  set_if_absent(rolling, "maxSurge", 0);
}

void stateful_set(Object& object) {
  Object& strategy = object_in(object_in(object, "spec"), "updateStrategy");
  if (absent(strategy, "type")) {
    strategy["type"] = "RollingUpdate";
    object_in(strategy, "rollingUpdate");
  }
  Object* rolling = object_at(strategy, "rollingUpdate");
  if (text_at(strategy, "type") != "RollingUpdate" || rolling == nullptr) return;
  set_if_absent(*rolling, "partition", 0);
  set_if_absent(*rolling, "maxUnavailable", 1);
}

void job(Object& object) {
  Object& spec = object_in(object, "spec");
  if (absent(spec, "completions") && absent(spec, "parallelism")) spec["completions"] = 1;
  if (absent(spec, "backoffLimit"))
    spec["backoffLimit"] = absent(spec, "backoffLimitPerIndex") ? 6 : std::numeric_limits<std::int32_t>::max();
  if (absent(spec, "podReplacementPolicy"))
    spec["podReplacementPolicy"] = absent(spec, "podFailurePolicy") ? "TerminatingOrFailed" : "Failed";
  const Value labels = std::as_const(spec["template"])["metadata"]["labels"];
  if (labels.is_object()) set_if_absent(object_in(object, "metadata"), "labels", labels);
}

void failure_pattern(Object& pattern) {
  if (text_at(pattern, "status").empty()) pattern["status"] = "True";
}

void replication_controller(Object& object) {
  Object& spec = object_in(object, "spec");
  const Value labels = std::as_const(spec["template"])["metadata"]["labels"];
  if (!labels.is_object()) return;
  set_if_absent(spec, "selector", labels);
  set_if_absent(object_in(object, "metadata"), "labels", labels);
}

// ---- the rest ------------------------------------------------------------------------------------------------------

bool is_any_of(std::string_view text, std::initializer_list<std::string_view> all) {
  for (const std::string_view one : all)
    if (text == one) return true;
  return false;
}
void service(Object& object) {
  Object& spec = object_in(object, "spec");
  set_if_absent(spec, "type", "ClusterIP");
  set_if_absent(spec, "sessionAffinity", "None");
  const std::string type(text_at(spec, "type"));  // copies: what is added below moves the members
  const std::string affinity(text_at(spec, "sessionAffinity"));
  if (affinity == "None") spec.erase("sessionAffinityConfig");
  if (affinity == "ClientIP")
    set_if_absent(object_in(object_in(spec, "sessionAffinityConfig"), "clientIP"), "timeoutSeconds", 10800);
  each_object(spec, "ports", [](Object& port) {
    set_if_absent(port, "protocol", "TCP");
    const Value* number = port.find("port");
    const Value* target = port.find("targetPort");
    if (number != nullptr && (target == nullptr || target->is_null() || *target == Value(0) || *target == Value("")))
      port["targetPort"] = Value(*number);
  });
  const bool external = is_any_of(type, {"LoadBalancer", "NodePort"}) ||
                        (type == "ClusterIP" && array_at(spec, "externalIPs") != nullptr);
  if (external) set_if_absent(spec, "externalTrafficPolicy", "Cluster");
  if (is_any_of(type, {"NodePort", "LoadBalancer", "ClusterIP"}))
    set_if_absent(spec, "internalTrafficPolicy", "Cluster");
  if (type == "LoadBalancer") {
    set_if_absent(spec, "allocateLoadBalancerNodePorts", true);
    if (Object* status = object_at(object, "status"))
      if (Object* balancer = object_at(*status, "loadBalancer"))
        each_object(*balancer, "ingress", [](Object& one) {
          if (!absent(one, "ip")) set_if_absent(one, "ipMode", "VIP");
        });
  }
}

void secret(Object& object) {
  Value* texts = object.find("stringData");
  if (texts == nullptr) return;
  if (const Object* members = texts->as_object(); members != nullptr && !members->empty()) {
    const Object copy = *members;
    Object& data = object_in(object, "data");
    for (const auto& [name, text] : copy) {
      std::string encoded;
      if (const std::string* plain = text.as_string()) meta::append_base64(encoded, *plain);
      data[name] = std::move(encoded);
    }
  }
  object.erase("stringData");
}

void name_space(Object& object) {
  Object& metadata = object_in(object, "metadata");
  const std::string name(text_at(metadata, "name"));
  if (!name.empty()) object_in(metadata, "labels")["kubernetes.io/metadata.name"] = name;
}

void node(Object& object) {
  Object& spec = object_in(object, "spec");
  if (const std::string cidr(text_at(spec, "podCIDR")); !cidr.empty()) set_if_absent(spec, "podCIDRs", Array{cidr});
  Object& status = object_in(object, "status");
  if (const Value* capacity = status.find("capacity")) set_if_absent(status, "allocatable", Value(*capacity));
}

void limit_range_item(Object& item) {
  if (text_at(item, "type") != "Container") return;
  const auto copy = [&](std::string_view from, std::string_view to) {
    const Object* amounts = object_at(item, from);
    if (amounts == nullptr) return;
    const Object all = *amounts;
    Object& target = object_in(item, to);
    for (const auto& [name, amount] : all) set_if_absent(target, name, amount);
  };
  copy("max", "default");
  copy("default", "defaultRequest");
  copy("min", "defaultRequest");
}

void network_policy(Object& object) {
  Object& spec = object_in(object, "spec");
  if (!absent(spec, "policyTypes")) return;
  Array types{"Ingress"};
  if (const Array* egress = array_at(spec, "egress"); egress != nullptr && !egress->empty())
    types.emplace_back("Egress");
  spec["policyTypes"] = std::move(types);
}

void subject(Object& object) {
  if (is_any_of(text_at(object, "kind"), {"User", "Group"}))
    set_if_absent(object, "apiGroup", "rbac.authorization.k8s.io");
}

void role_binding(Object& object) {
  Object& role = object_in(object, "roleRef");
  if (text_at(role, "apiGroup").empty()) role["apiGroup"] = "rbac.authorization.k8s.io";
}

void autoscaler_behavior(Object& behavior) {
  static const Rules kUp(R"({"stabilizationWindowSeconds": 0, "selectPolicy": "Max",
                             "policies": [{"type": "Pods", "value": 4, "periodSeconds": 15},
                                          {"type": "Percent", "value": 100, "periodSeconds": 15}]})");
  static const Rules kDown(R"({"selectPolicy": "Max",
                               "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}]})");
  kUp.apply(object_in(behavior, "scaleUp"));
  kDown.apply(object_in(behavior, "scaleDown"));
}

const Rules kPodTemplate("{}", {{{"template", "spec"}, &kPodSpec}});
const Rules kFailurePattern("{}", {}, failure_pattern);
const Rules kJobSpec("{}", {{{"template", "spec"}, &kPodSpec},
                            {{"podFailurePolicy", "rules", "onPodConditions"}, &kFailurePattern}});
const Rules kRollingSpec(R"({"replicas": 1, "revisionHistoryLimit": 10})", {{{"template", "spec"}, &kPodSpec}});
const Rules kClaimTemplate(
    R"({"kind": "PersistentVolumeClaim", "apiVersion": "v1", "spec": {"volumeMode": "Filesystem"}, "status": {"phase": "Pending"}})");
const Rules kRule(R"({"scope": "*"})");
const Rules kWebhookService(R"({"port": 443})");
const Rules kWebhook(R"({"failurePolicy": "Fail", "matchPolicy": "Equivalent", "namespaceSelector": {},
                         "objectSelector": {}, "timeoutSeconds": 10})",
                     {{{"rules"}, &kRule}, {{"clientConfig", "service"}, &kWebhookService}});
const Rules kMutatingWebhook(R"({"failurePolicy": "Fail", "matchPolicy": "Equivalent", "namespaceSelector": {},
                                 "objectSelector": {}, "timeoutSeconds": 10, "reinvocationPolicy": "Never"})",
                             {{{"rules"}, &kRule}, {{"clientConfig", "service"}, &kWebhookService}});
const Rules kMatchResources(R"({"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}})",
                            {{{"resourceRules"}, &kRule}, {{"excludeResourceRules"}, &kRule}});
const Rules kAdmissionPolicy(R"({"spec": {"failurePolicy": "Fail"}})",
                             {{{"spec", "matchConstraints"}, &kMatchResources}});
const Rules kAdmissionBinding("{}", {{{"spec", "matchResources"}, &kMatchResources}});
const Rules kEndpointPort(R"({"name": "", "protocol": "TCP"})");
const Rules kLimitRangeItem("{}", {}, limit_range_item);
const Rules kSubject("{}", {}, subject);
const Rules kBehavior("{}", {}, autoscaler_behavior);
const Rules kClassParameters(R"({"scope": "Cluster"})");

struct KindRules {
  std::string_view group;
  std::string_view version;  // "": all
  std::string_view kind;
  Rules rules;
};

const std::vector<KindRules>& kinds() {
  static const std::vector<KindRules> all = [] {
    std::vector<KindRules> out;
    const auto add = [&](std::string_view group, std::string_view kind, const char* blank,
                         std::initializer_list<Rules::Inner> inside = {}, void (*more)(Object&) = nullptr,
                         std::string_view version = {}) {
      out.push_back({group, version, kind, Rules(blank, inside, more)});
    };
    add("", "Pod", "{}", {{{"spec"}, &kPodSpec}, {{"status"}, &kPodStatus}}, pod);
    add("", "PodTemplate", "{}", {{{"template", "spec"}, &kPodSpec}});
    add("", "ReplicationController", R"({"spec": {"replicas": 1}})", {{{"spec"}, &kPodTemplate}},
        replication_controller);
    add("apps", "Deployment", R"({"spec": {"progressDeadlineSeconds": 600}})", {{{"spec"}, &kRollingSpec}}, deployment);
    add("apps", "ReplicaSet", R"({"spec": {"replicas": 1}})", {{{"spec"}, &kPodTemplate}});
    add("apps", "StatefulSet",
        R"({"spec": {"podManagementPolicy": "OrderedReady",
                     "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"}}})",
        {{{"spec"}, &kRollingSpec}, {{"spec", "volumeClaimTemplates"}, &kClaimTemplate}}, stateful_set);
    add("apps", "DaemonSet", R"({"spec": {"revisionHistoryLimit": 10}})", {{{"spec"}, &kPodTemplate}}, daemon_set);
    add("batch", "Job",
        R"({"spec": {"parallelism": 1, "completionMode": "NonIndexed", "suspend": false, "manualSelector": false}})",
        {{{"spec"}, &kJobSpec}}, job);
    add("batch", "CronJob",
        R"({"spec": {"concurrencyPolicy": "Allow", "suspend": false, "successfulJobsHistoryLimit": 3,
                     "failedJobsHistoryLimit": 1}})",
        {{{"spec", "jobTemplate", "spec"}, &kJobSpec}});
    add("", "Service", "{}", {}, service);
    add("", "Endpoints", "{}", {{{"subsets", "ports"}, &kTcp}});
    add("scheduling.k8s.io", "PriorityClass", R"({"preemptionPolicy": "PreemptLowerPriority"})");
    add("", "Secret", R"({"type": "Opaque"})", {}, secret);
    add("", "Namespace", R"({"status": {"phase": "Active"}})", {}, name_space);
    add("", "Node", "{}", {}, node);
    add("", "PersistentVolumeClaim", R"({"spec": {"volumeMode": "Filesystem"}, "status": {"phase": "Pending"}})");
    add("", "PersistentVolume",
        R"({"spec": {"persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem"},
            "status": {"phase": "Pending"}})",
        {{{"spec", "hostPath"}, &kHostPath},
         {{"spec", "iscsi"}, &kIscsi},
         {{"spec", "rbd"}, &kRbd},
         {{"spec", "azureDisk"}, &kAzureDisk},
         {{"spec", "scaleIO"}, &kScaleIo}});
    add("", "LimitRange", "{}", {{{"spec", "limits"}, &kLimitRangeItem}});
    add("discovery.k8s.io", "EndpointSlice", "{}", {{{"ports"}, &kEndpointPort}});
    add("networking.k8s.io", "NetworkPolicy", "{}",
        {{{"spec", "ingress", "ports"}, &kTcp}, {{"spec", "egress", "ports"}, &kTcp}}, network_policy);
    add("networking.k8s.io", "IngressClass", "{}", {{{"spec", "parameters"}, &kClassParameters}});
    add("rbac.authorization.k8s.io", "RoleBinding", "{}", {{{"subjects"}, &kSubject}}, role_binding);
    add("rbac.authorization.k8s.io", "ClusterRoleBinding", "{}", {{{"subjects"}, &kSubject}}, role_binding);
    add("storage.k8s.io", "StorageClass", R"({"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"})");
    add("storage.k8s.io", "CSIDriver",
        R"({"spec": {"attachRequired": true, "podInfoOnMount": false, "storageCapacity": false,
                     "fsGroupPolicy": "ReadWriteOnceWithFSType", "volumeLifecycleModes": ["Persistent"],
                     "requiresRepublish": false, "seLinuxMount": false, "preventPodSchedulingIfMissing": false}})");
    add("autoscaling", "HorizontalPodAutoscaler",
        R"({"spec": {"minReplicas": 1,
                     "metrics": [{"type": "Resource",
                                  "resource": {"name": "cpu",
                                               "target": {"type": "Utilization", "averageUtilization": 80}}}]}})",
        {{{"spec", "behavior"}, &kBehavior}}, nullptr, "v2");
    add("autoscaling", "HorizontalPodAutoscaler",
        R"({"spec": {"minReplicas": 1, "targetCPUUtilizationPercentage": 80}})", {}, nullptr, "v1");
    add("scheduling.k8s.io", "PriorityClass", R"({"preemptionPolicy": "PreemptLowerPriority"})");
    add("admissionregistration.k8s.io", "ValidatingWebhookConfiguration", "{}", {{{"webhooks"}, &kWebhook}});
    add("admissionregistration.k8s.io", "MutatingWebhookConfiguration", "{}", {{{"webhooks"}, &kMutatingWebhook}});
    out.push_back({"admissionregistration.k8s.io", "", "ValidatingAdmissionPolicy", kAdmissionPolicy});
    out.push_back({"admissionregistration.k8s.io", "", "MutatingAdmissionPolicy", kAdmissionPolicy});
    out.push_back({"admissionregistration.k8s.io", "", "ValidatingAdmissionPolicyBinding", kAdmissionBinding});
    out.push_back({"admissionregistration.k8s.io", "", "MutatingAdmissionPolicyBinding", kAdmissionBinding});
    add("authentication.k8s.io", "TokenRequest", R"({"spec": {"expirationSeconds": 3600}})");
    return out;
  }();
  return all;
}

}  // namespace

void set_defaults(std::string_view group, std::string_view version, std::string_view kind, Value& object) {
  Object* root = object.as_object();
  if (root == nullptr) return;
  for (const KindRules& known : kinds())
    if (known.kind == kind && known.group == group && (known.version.empty() || known.version == version))
      return known.rules.apply(*root);
}

}  // namespace kopper::plane::builtin
