#include "install.h"

#include <algorithm>

#include <fmt/format.h>

#include "kopper/json/value.h"
#include "kopper/meta/encode.h"

namespace podbugger {

namespace {

namespace json = kopper::json;
namespace client = kopper::client;

constexpr std::string_view kSubresource = "ephemeralcontainers";

// Merged by name, so that those of others stay.
std::string pod_patch(const kopper::Pod& pod, const json::Value& container) {
  json::Value patch = json::Object{};
  patch["metadata"] = json::Object{};
  patch["metadata"]["uid"] = pod.metadata.uid;
  patch["spec"] = json::Object{};
  patch["spec"]["ephemeralContainers"] = json::Array{container};
  return json::dump(patch);
}

json::Value operation(std::string_view op, std::string_view path, json::Value value) {
  json::Value out = json::Object{};
  out["op"] = std::string(op);
  out["path"] = std::string(path);
  out["value"] = std::move(value);
  return out;
}

// Of the kind EphemeralContainers, up to 1.21: its list is at the top, and never null.
std::string list_patch(const kopper::Pod& pod, const json::Value& container) {
  return json::dump(json::Array{operation("test", "/metadata/uid", pod.metadata.uid),
                                operation("add", "/ephemeralContainers/-", container)});
}

bool lists(const json::Value& answer, std::string_view name) {
  const auto* containers = answer["ephemeralContainers"].as_array();
  return containers != nullptr &&
         std::ranges::any_of(*containers, [name](const json::Value& one) { return one.text("name") == name; });
}

}  // namespace

kopper::Task<> install(client::Client client, kopper::Pod pod, kopper::api::corev1::EphemeralContainer container,
                       kopper::cache::Cache& cache) {  // outlives: the manager has it
  const auto resource = client::resource_of<kopper::Pod>();
  const client::RawApi api(client, resource);
  const auto key = kopper::key_of(pod);
  const auto body = json::parse(kopper::meta::encode(container)).value();
  client::PatchOptions options;
  options.subresource = kSubresource;
  const auto text = co_await api.patch(key, client::PatchType::Strategic, pod_patch(pod, body), options);
  const auto answer = json::parse(text);
  if (!answer) throw kopper::Error(kopper::Code::Internal, "the server's answer: " + answer.error().str());
  const json::Value& seen = *answer;
  if (seen.text("kind") != "EphemeralContainers") {
    cache.note_write(resource, text);
    co_return;
  }
  if (!lists(seen, container.name)) {
    co_await api.patch(key, client::PatchType::Json, list_patch(pod, body), options);
  }
}

std::string explain(const kopper::Error& error) {
  if (error.code == kopper::Code::Unsupported) {
    return "the server has no ephemeral containers: before 1.23 they need the feature gate EphemeralContainers";
  }
  return error.what();
}

}  // namespace podbugger
