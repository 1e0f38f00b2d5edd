#include "kopper/plane/auth/pod_account.h"

#include <algorithm>

#include <fmt/format.h>

namespace kopper::plane {
namespace {

constexpr std::string_view kMount = "/var/run/secrets/kubernetes.io/serviceaccount";
constexpr std::string_view kVolume = "kube-api-access-";

json::Array& list(json::Value& of, std::string_view name) {
  json::Value& value = of[name];
  if (!value.is_array()) value = json::Array();
  return *value.as_array();
}

bool automounts(const json::Value& pod, const json::Value& account) {
  if (const bool* own = pod["spec"]["automountServiceAccountToken"].as_bool()) return *own;
  const bool* general = account["automountServiceAccountToken"].as_bool();
  return general == nullptr || *general;
}

json::Value make_token_volume() {
  const json::Object token{{"expirationSeconds", 3607}, {"path", "token"}};
  const json::Object ca{{"name", "kube-root-ca.crt"},
                        {"items", json::Array{json::Object{{"key", "ca.crt"}, {"path", "ca.crt"}}}}};
  const json::Object where{{"path", "namespace"},
                           {"fieldRef", json::Object{{"apiVersion", "v1"}, {"fieldPath", "metadata.namespace"}}}};
  const json::Object downward{{"items", json::Array{where}}};
  const json::Array sources{json::Object{{"serviceAccountToken", token}}, json::Object{{"configMap", ca}},
                            json::Object{{"downwardAPI", downward}}};
  return json::Object{{"name", ""}, {"projected", json::Object{{"sources", sources}, {"defaultMode", 420}}}};
}

json::Value token_volume(const std::string& name) {
  static const json::Value kVolumeOfAll = make_token_volume();
  json::Value volume = kVolumeOfAll;
  volume["name"] = name;
  return volume;
}

void mount_token(Core& core, json::Value& spec) {
  std::string name;
  bool present = false;
  std::vector<std::string> taken;
  if (const json::Array* volumes = std::as_const(spec)["volumes"].as_array())
    for (const json::Value& volume : *volumes) {
      taken.emplace_back(volume.text("name"));
      if (present || !taken.back().starts_with(kVolume)) continue;
      present = true;
      name = taken.back();
    }
  while (name.empty() || (!present && std::ranges::find(taken, name) != taken.end()))
    name = std::string(kVolume) + core.suffix();
  bool needed = false;
  for (const char* kind : {"initContainers", "containers"}) {
    json::Value* containers = spec.as_object()->find(kind);
    if (containers == nullptr || !containers->is_array()) continue;
    for (json::Value& container : *containers->as_array()) {
      if (!container.is_object()) continue;
      const json::Array* mounts = std::as_const(container)["volumeMounts"].as_array();
      if (mounts != nullptr &&
          std::ranges::any_of(*mounts, [](const json::Value& mount) { return mount.text("mountPath") == kMount; }))
        continue;
      needed = true;
      list(container, "volumeMounts")
          .push_back(json::Object{{"name", name}, {"readOnly", true}, {"mountPath", kMount}});
    }
  }
  if (needed && !present) list(spec, "volumes").push_back(token_volume(name));
}

}  // namespace

void give_pod_account(Core& core, Attempt& attempt) {
  if (attempt.operation != Attempt::Operation::Create || !attempt.subresource.empty()) return;
  if (!attempt.resource->group.empty() || attempt.resource->kind != "Pod") return;
  json::Value& pod = attempt.object;
  const json::Value& annotations = std::as_const(pod)["metadata"]["annotations"];
  if (!annotations["kubernetes.io/config.mirror"].is_null()) return;
  json::Value& spec = pod["spec"];
  if (!spec.is_object()) return;  // validation says so
  if (spec.text("serviceAccountName").empty()) spec["serviceAccountName"] = "default";
  const std::string name(spec.text("serviceAccountName"));
  spec["serviceAccount"] = name;
  const StoredRef found = core.state.table("serviceaccounts").find(attempt.namespace_, name);
  if (!found)
    throw forbidden(attempt.resource->subject(), attempt.name,
                    fmt::format("error looking up service account {}/{}: serviceaccount \"{}\" not found",
                                attempt.namespace_, name, name));
  // Most accounts say nothing of it, and are not read.
  const bool says = found->json.contains("automountServiceAccountToken") || found->json.contains("imagePullSecrets");
  const json::Value account = says ? found->value() : json::Value();
  if (automounts(pod, account)) mount_token(core, spec);
  const json::Array* own = std::as_const(spec)["imagePullSecrets"].as_array();
  if ((own == nullptr || own->empty()) && account["imagePullSecrets"].is_array())
    spec["imagePullSecrets"] = account["imagePullSecrets"];
}

}  // namespace kopper::plane
