#include <nlohmann/json.hpp>

#include "decode/pod.h"

namespace kopper::bench {
namespace {

using Json = nlohmann::json;

template <class T>
void get(const Json& j, const char* name, T& out);

void from(const Json& j, std::string& out) { out = j.get_ref<const std::string&>(); }
void from(const Json& j, bool& out) { out = j.get<bool>(); }
void from(const Json& j, int32_t& out) { out = j.get<int32_t>(); }
void from(const Json& j, int64_t& out) { out = j.get<int64_t>(); }
void from(const Json& j, Map& out) {
  for (const auto& [key, value] : j.items()) out.emplace_hint(out.end(), key, value.get_ref<const std::string&>());
}
void from(const Json& j, OwnerReference& o) {
  get(j, "apiVersion", o.apiVersion), get(j, "kind", o.kind), get(j, "name", o.name), get(j, "uid", o.uid);
  get(j, "controller", o.controller), get(j, "blockOwnerDeletion", o.blockOwnerDeletion);
}
void from(const Json& j, ObjectMeta& m) {
  get(j, "name", m.name), get(j, "generateName", m.generateName), get(j, "namespace", m.namespace_);
  get(j, "uid", m.uid), get(j, "resourceVersion", m.resourceVersion), get(j, "creationTimestamp", m.creationTimestamp);
  get(j, "deletionTimestamp", m.deletionTimestamp), get(j, "labels", m.labels), get(j, "annotations", m.annotations);
  get(j, "ownerReferences", m.ownerReferences), get(j, "finalizers", m.finalizers);
}
void from(const Json& j, ContainerPort& p) {
  get(j, "name", p.name), get(j, "containerPort", p.containerPort), get(j, "protocol", p.protocol);
}
void from(const Json& j, EnvVar& e) { get(j, "name", e.name), get(j, "value", e.value); }
void from(const Json& j, Resources& r) { get(j, "limits", r.limits), get(j, "requests", r.requests); }
void from(const Json& j, Container& c) {
  get(j, "name", c.name), get(j, "image", c.image), get(j, "command", c.command), get(j, "args", c.args);
  get(j, "ports", c.ports), get(j, "env", c.env), get(j, "resources", c.resources);
  get(j, "imagePullPolicy", c.imagePullPolicy);
}
void from(const Json& j, PodSpec& s) {
  get(j, "containers", s.containers), get(j, "restartPolicy", s.restartPolicy);
  get(j, "terminationGracePeriodSeconds", s.terminationGracePeriodSeconds);
  get(j, "serviceAccountName", s.serviceAccountName), get(j, "nodeName", s.nodeName);
  get(j, "schedulerName", s.schedulerName), get(j, "priority", s.priority);
}
void from(const Json& j, PodCondition& c) {
  get(j, "type", c.type), get(j, "status", c.status), get(j, "reason", c.reason), get(j, "message", c.message);
  get(j, "lastTransitionTime", c.lastTransitionTime);
}
void from(const Json& j, ContainerStatus& s) {
  get(j, "name", s.name), get(j, "ready", s.ready), get(j, "restartCount", s.restartCount), get(j, "image", s.image);
  get(j, "imageID", s.imageID), get(j, "containerID", s.containerID), get(j, "started", s.started);
}
void from(const Json& j, PodStatus& s) {
  get(j, "phase", s.phase), get(j, "conditions", s.conditions), get(j, "hostIP", s.hostIP), get(j, "podIP", s.podIP);
  get(j, "startTime", s.startTime), get(j, "containerStatuses", s.containerStatuses), get(j, "qosClass", s.qosClass);
}
template <class T>
void from(const Json& j, std::optional<T>& out) {
  if (!j.is_null()) from(j, out.emplace());
}
template <class T>
void from(const Json& j, std::vector<T>& out) {
  for (const Json& item : j) from(item, out.emplace_back());
}

template <class T>
void get(const Json& j, const char* name, T& out) {
  if (const auto it = j.find(name); it != j.end()) from(*it, out);
}

}  // namespace

bool decode_nlohmann(std::string_view text, Pod& out) {
  const Json j = Json::parse(text, nullptr, false);
  if (j.is_discarded()) return false;
  get(j, "metadata", out.metadata), get(j, "spec", out.spec), get(j, "status", out.status);
  return true;
}

}  // namespace kopper::bench
