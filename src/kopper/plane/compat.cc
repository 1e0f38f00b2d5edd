#include "kopper/plane/compat.h"

#include <charconv>
#include <limits>

#include <fmt/format.h>

#include "kopper/plane/body.h"
#include "kopper/plane/patching.h"
#include "kopper/plane/save.h"

namespace kopper::plane {
namespace {

constexpr const char* kKind = "EphemeralContainers";
constexpr const char* kList = "ephemeralContainers";

json::Value shown(const json::Value& pod) {
  json::Object metadata;
  for (const char* member : {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"})
    metadata[member] = pod["metadata"][member];
  const json::Value& list = pod["spec"][kList];
  return json::Object{{"kind", kKind},
                      {"apiVersion", "v1"},
                      {"metadata", std::move(metadata)},
                      {kList, list.is_array() ? list : json::Value(json::Array())}};
}

// The pod with the list of `wanted`, if it is still the one that `wanted` speaks of.
json::Value with_list(const json::Value& pod, const json::Value& wanted) {
  const std::string_view kind = wanted.text("kind");
  if (!kind.empty() && kind != kKind)
    throw bad_request(fmt::format(
        R"({0} in version "v1" cannot be handled as a {1}: converting (v1.{0}) to (core.{1}): unknown conversion)",
        kind, kKind));
  json::Value next = pod;
  const json::Value& list = wanted[kList];
  if (const json::Array* all = list.as_array(); all != nullptr && !all->empty()) {
    next["spec"][kList] = list;
  } else {
    next["spec"].as_object()->erase(kList);
  }
  for (const char* member : {"name", "uid", "resourceVersion"}) {
    const json::Value& given = wanted["metadata"][member];
    if (given.is_null()) {
      next["metadata"].as_object()->erase(member);
    } else {
      next["metadata"][member] = given;
    }
  }
  return next;
}

// A strategic patch merges the list by the names of the containers, as it does in a pod.
PatchDocument of_pod(PatchDocument patch) {
  json::Object spec;
  for (const auto& [key, value] : *patch.content.as_object())
    if (key.ends_with(kList)) spec[key] = value;
  patch.content = json::Object{{"spec", std::move(spec)}};
  return patch;
}

Edit edit_of(Call& call) {
  if (call.info.verb == "update") {
    const json::Value wanted = read_body(call);
    if (!wanted.is_object()) throw bad_request("the body is not an object");
    return [wanted](const json::Value* pod) { return with_list(*pod, wanted); };
  }
  const PatchDocument patch = read_patch(call, call.resource->type);
  if (patch.is_apply()) throw unsupported_media_type("415: Unsupported Media Type");
  if (patch.type == "application/strategic-merge-patch+json")
    return [patch = of_pod(patch)](const json::Value* pod) { return with_list(*pod, shown(patch.applied_to(*pod))); };
  return [patch](const json::Value* pod) { return with_list(*pod, patch.applied_to(shown(*pod))); };
}

}  // namespace

int minor_of(std::string_view version) {
  int minor = 0;
  constexpr std::string_view kMajor = "v1.";
  const bool known =
      version.starts_with(kMajor) &&
      std::from_chars(version.data() + kMajor.size(), version.data() + version.size(), minor).ec == std::errc();
  return known ? minor : std::numeric_limits<int>::max();
}

Task<http::Response> old_ephemeral_containers(Core& core, Call& call) {
  if (call.info.verb == "get") {
    const StoredRef pod = core.state.table("pods").find(call.info.namespace_, call.info.name);
    if (!pod) throw not_found(call.resource->subject(), call.info.name);
    co_await core.state.durable(pod->revision);
    co_return answer(call, 200, shown(pod->value()));
  }
  if (call.info.verb != "update" && call.info.verb != "patch") throw method_not_allowed();
  const Edit edit = edit_of(call);
  SaveOptions options{.create = false, .tracked = true, .subresource = "ephemeralcontainers"};
  const Saved saved = co_await save(core, call, edit, options);
  co_return answer(call, 200, shown(saved.value));
}

}  // namespace kopper::plane
