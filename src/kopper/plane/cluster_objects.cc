#include "kopper/plane/cluster_objects.h"

#include "kopper/http/url.h"
#include "kopper/plane/auth/server_call.h"
#include "kopper/plane/save.h"

namespace kopper::plane {
namespace {

constexpr const char* kManager = "kube-apiserver";
constexpr const char* kName = "kubernetes";

json::Value named(std::string_view name, json::Object labels = json::Object()) {
  json::Object metadata{{"name", name}};
  if (!labels.empty()) metadata["labels"] = std::move(labels);
  return json::Object{{"metadata", std::move(metadata)}};
}

Task<> create(Core& core, const char* group, const char* plural, json::Value object) {
  Call call = server_call(core, "create", group, plural, "", "", kManager);
  if (core.state.table(call.resource->table()).find("", std::as_const(object)["metadata"].text("name"))) co_return;
  put_type_first(object, *call.resource);
  co_await save_new(core, call, std::move(object));
}

// In `default`. The port may be another than before; the service's address stays.
Task<> create_or_replace(Core& core, const char* group, const char* plural, json::Value object) {
  Call call = server_call(core, "update", group, plural, "default", kName, kManager);
  put_type_first(object, *call.resource);
  const Edit edit = [&object](const json::Value* current) {
    if (current == nullptr) return object;
    json::Value next = *current;
    for (const auto& [key, value] : *object.as_object())
      if (key != "metadata") next[key] = value;
    if (const std::string address((*current)["spec"].text("clusterIP")); !address.empty())
      next["spec"]["clusterIP"] = address;
    return next;
  };
  SaveOptions options{.create = true};
  co_await save(core, call, edit, options);
}

json::Value priority_class(const char* name, std::int64_t value, const char* description) {
  json::Value out = named(name);
  out["value"] = value;
  out["description"] = description;
  return out;
}

json::Value service(std::string ip, std::int64_t port) {
  json::Value out = named(kName, {{"component", "apiserver"}, {"provider", kName}});
  out["spec"] = json::Object{
      {"clusterIP", std::move(ip)},
      {"ports", json::Array{json::Object{{"name", "https"}, {"protocol", "TCP"}, {"port", 443}, {"targetPort", port}}}},
      {"type", "ClusterIP"},
      {"sessionAffinity", "None"},
      {"ipFamilyPolicy", "SingleStack"}};
  return out;
}

json::Array ports(std::int64_t port) { return {json::Object{{"name", "https"}, {"protocol", "TCP"}, {"port", port}}}; }

json::Value slice(const std::string& ip, std::int64_t port) {
  json::Value out = named(kName, {{"kubernetes.io/service-name", kName}});
  out["addressType"] = "IPv4";
  out["endpoints"] =
      json::Array{json::Object{{"addresses", json::Array{ip}}, {"conditions", json::Object{{"ready", true}}}}};
  out["ports"] = ports(port);
  return out;
}

json::Value endpoints(const std::string& ip, std::int64_t port) {
  json::Value out = named(kName, {{"endpointslice.kubernetes.io/skip-mirror", "true"}});
  out["subsets"] =
      json::Array{json::Object{{"addresses", json::Array{json::Object{{"ip", ip}}}}, {"ports", ports(port)}}};
  return out;
}

}  // namespace

Task<> make_cluster_objects(Core& core, std::string address, std::string service_ip) {
  for (const char* name : {"default", "kube-system", "kube-public", "kube-node-lease"}) {
    json::Value object = named(name);
    co_await create(core, "", "namespaces", std::move(object));
  }
  json::Value node = priority_class("system-node-critical", 2'000'001'000,
                                    "Used for system critical pods that must not be moved from their current node.");
  co_await create(core, "scheduling.k8s.io", "priorityclasses", std::move(node));
  json::Value cluster = priority_class("system-cluster-critical", 2'000'000'000,
                                       "Used for system critical pods that must run in the cluster, but can be moved "
                                       "to another node if necessary.");
  co_await create(core, "scheduling.k8s.io", "priorityclasses", std::move(cluster));
  const auto url = address.empty() ? std::nullopt : std::optional(http::parse_url(address));
  const std::int64_t port = url && *url ? (*url)->port : 6443;
  json::Value own = service(std::move(service_ip), port);
  co_await create_or_replace(core, "", "services", std::move(own));
  if (!url || !*url) co_return;
  json::Value found_at = slice((*url)->host, port);
  co_await create_or_replace(core, "discovery.k8s.io", "endpointslices", std::move(found_at));
  json::Value old_form = endpoints((*url)->host, port);
  co_await create_or_replace(core, "", "endpoints", std::move(old_form));
}

}  // namespace kopper::plane
