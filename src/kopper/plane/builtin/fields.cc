#include "kopper/plane/builtin/fields.h"

#include <array>

#include <fmt/format.h>

namespace kopper::plane::builtin {
namespace {

using json::Value;

struct Selectable {
  std::string_view group;
  std::string_view kind;
  std::string_view label;
  std::string_view path = {};   // of the value; "": the same as the label
  std::string_view blank = {};  // the text of an absent value
};

// Beside metadata.name and metadata.namespace, which every kind has.
constexpr std::array kSelectable = std::to_array<Selectable>({
    {"", "Pod", "spec.nodeName"},
    {"", "Pod", "spec.restartPolicy"},
    {"", "Pod", "spec.schedulerName"},
    {"", "Pod", "spec.serviceAccountName"},
    {"", "Pod", "spec.hostNetwork", {}, "false"},
    {"", "Pod", "status.phase"},
    {"", "Pod", "status.podIP"},
    {"", "Pod", "status.podIPs", "status.podIP"},
    {"", "Pod", "status.nominatedNodeName"},
    {"", "Event", "involvedObject.kind"},
    {"", "Event", "involvedObject.namespace"},
    {"", "Event", "involvedObject.name"},
    {"", "Event", "involvedObject.uid"},
    {"", "Event", "involvedObject.apiVersion"},
    {"", "Event", "involvedObject.resourceVersion"},
    {"", "Event", "involvedObject.fieldPath"},
    {"", "Event", "reason"},
    {"", "Event", "reportingComponent"},
    {"", "Event", "source", "source.component"},
    {"", "Event", "type"},
    {"events.k8s.io", "Event", "regarding.kind"},
    {"events.k8s.io", "Event", "regarding.namespace"},
    {"events.k8s.io", "Event", "regarding.name"},
    {"events.k8s.io", "Event", "regarding.uid"},
    {"events.k8s.io", "Event", "regarding.apiVersion"},
    {"events.k8s.io", "Event", "regarding.resourceVersion"},
    {"events.k8s.io", "Event", "regarding.fieldPath"},
    {"events.k8s.io", "Event", "reason"},
    {"events.k8s.io", "Event", "reportingController"},
    {"events.k8s.io", "Event", "type"},
    {"", "Secret", "type"},
    {"", "Namespace", "status.phase"},
    {"", "Node", "spec.unschedulable", {}, "false"},
    {"", "ReplicationController", "status.replicas", {}, "0"},
    {"", "Service", "spec.clusterIP"},
    {"", "Service", "spec.type"},
    {"batch", "Job", "status.successful", "status.succeeded", "0"},
    {"certificates.k8s.io", "CertificateSigningRequest", "spec.signerName"},
});

const Selectable* find(std::string_view group, std::string_view kind, std::string_view path) {
  for (const Selectable& one : kSelectable)
    if (one.label == path && one.kind == kind && one.group == group) return &one;
  return nullptr;
}

bool everywhere(std::string_view group, std::string_view kind, std::string_view path) {
  if (path == "metadata.namespace") return !(group.empty() && (kind == "Node" || kind == "Namespace"));
  return path == "metadata.name";
}

std::string text_of(const Value& value, std::string_view blank) {
  if (value.is_null()) return std::string(blank);
  if (const std::string* text = value.as_string()) return *text;
  return json::dump(value);
}

std::string at_path(const Value& object, std::string_view path, std::string_view blank) {
  const Value* at = &object;
  while (!path.empty()) {
    const std::size_t dot = path.find('.');
    at = &(*at)[path.substr(0, dot)];
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  }
  return text_of(*at, blank);
}

}  // namespace

bool has_field(std::string_view group, std::string_view kind, std::string_view path) {
  return everywhere(group, kind, path) || find(group, kind, path) != nullptr;
}

std::optional<std::string> field(std::string_view group, std::string_view kind, std::string_view path,
                                 const Value& object) {
  if (everywhere(group, kind, path)) return at_path(object, path, {});
  const Selectable* known = find(group, kind, path);
  if (known == nullptr) return std::nullopt;
  std::string value = at_path(object, known->path.empty() ? known->label : known->path, known->blank);
  // The source of an event that does not name one is who reported it.
  if (value.empty() && known->label == "source") value = object.text("reportingComponent");
  return value;
}

std::string field_not_supported(std::string_view group, std::string_view kind, std::string_view path) {
  if (group == "batch" && kind == "Job") return fmt::format("field label \"{}\" not supported for Job", path);
  for (const Selectable& one : kSelectable)
    if (one.kind == kind && one.group == group) return fmt::format("field label not supported: {}", path);
  return fmt::format("\"{}\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"", path);
}

}  // namespace kopper::plane::builtin
