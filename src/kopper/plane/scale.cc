// The scale subresource: a number of an object, seen as an object of its own.
#include <fmt/format.h>

#include "kopper/api/gen/autoscaling_v1.h"
#include "kopper/api/gen/meta_v1.h"
#include "kopper/api/selector.h"
#include "kopper/meta/decode.h"
#include "kopper/plane/body.h"
#include "kopper/plane/patching.h"
#include "kopper/plane/save.h"
#include "kopper/plane/subresources.h"

namespace kopper::plane {
namespace {

// ".spec.replicas" → what is there; null when nothing is.
const json::Value& value_at(const json::Value& object, std::string_view path) {
  const json::Value* at = &object;
  while (!path.empty()) {
    if (path.front() == '.') path.remove_prefix(1);
    const std::size_t end = std::min(path.find('.'), path.size());
    at = &(*at)[path.substr(0, end)];
    path.remove_prefix(end);
  }
  return *at;
}

void set_at(json::Value& object, std::string_view path, json::Value value) {
  json::Value* at = &object;
  while (!path.empty()) {
    if (path.front() == '.') path.remove_prefix(1);
    const std::size_t end = std::min(path.find('.'), path.size());
    at = &(*at)[path.substr(0, end)];
    path.remove_prefix(end);
  }
  *at = std::move(value);
}

// As text: custom resources keep it so, built-in kinds as a selector object.
std::string selector_text(const json::Value& selector) {
  if (const std::string* text = selector.as_string()) return *text;
  if (!selector.is_object()) return "";
  if (!selector["matchLabels"].is_object() && !selector["matchExpressions"].is_array()) {  // a ReplicationController's
    std::string out;
    for (const auto& [key, value] : *selector.as_object())
      if (const std::string* word = value.as_string())
        out += fmt::format("{}{}={}", out.empty() ? "" : ",", key, *word);
    return out;
  }
  const auto decoded = meta::decode<api::metav1::LabelSelector>(json::dump(selector));
  if (!decoded) return "";
  const auto parsed = api::Selector::from(*decoded);
  return parsed ? parsed->str() : "";
}

json::Value scale_of(const Resource& resource, const json::Value& object) {
  const ScalePaths& paths = *resource.scale;
  const json::Value& from = object["metadata"];
  json::Object metadata;
  for (const char* key : {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"})
    if (!from[key].is_null()) metadata[key] = from[key];
  const auto number = [&](const std::string& path) -> json::Value {
    const std::int64_t* value = value_at(object, path).as_int();
    return value != nullptr ? *value : 0;
  };
  json::Object spec;
  const json::Value wanted = number(paths.spec_replicas);
  if (wanted != json::Value(0)) spec["replicas"] = wanted;
  json::Object status{{"replicas", number(paths.status_replicas)}};
  if (!paths.selector.empty()) {
    const std::string selector = selector_text(value_at(object, paths.selector));
    if (!selector.empty()) status["selector"] = selector;
  }
  return json::Object{{"kind", "Scale"},
                      {"apiVersion", "autoscaling/v1"},
                      {"metadata", std::move(metadata)},
                      {"spec", std::move(spec)},
                      {"status", std::move(status)}};
}

// The object with the number that `wanted`, a Scale, asks for.
json::Value rescaled(const Call& call, const json::Value& current, const json::Value& wanted) {
  if (const std::string_view kind = wanted.text("kind"); !kind.empty() && kind != "Scale")
    throw bad_request(fmt::format("the body is not a Scale but {}", kind));
  if (const std::string_view name = wanted["metadata"].text("name"); !name.empty() && name != call.info.name)
    throw bad_request(
        fmt::format("the name of the object ({}) does not match the name on the URL ({})", name, call.info.name));
  const std::int64_t replicas =
      wanted["spec"]["replicas"].as_int() != nullptr ? *wanted["spec"]["replicas"].as_int() : 0;
  if (replicas < 0) {
    Problems problems;
    problems.invalid("spec.replicas", replicas, "must be greater than or equal to 0");
    throw invalid("autoscaling", "Scale", call.info.name, problems);
  }
  json::Value next = current;
  set_at(next, call.resource->scale->spec_replicas, replicas);
  for (const char* key : {"resourceVersion", "uid"}) {
    const std::string_view given = wanted["metadata"].text(key);
    if (given.empty()) {
      next["metadata"].as_object()->erase(key);
    } else {
      next["metadata"][key] = given;
    }
  }
  return next;
}

}  // namespace

Task<http::Response> scale(Core& core, Call& call) {
  if (!call.resource->scale) throw no_such_path();
  if (call.info.verb != "get" && call.info.verb != "update" && call.info.verb != "patch") throw method_not_allowed();
  const std::string ns = call.resource->namespaced ? call.info.namespace_ : "";
  const StoredRef current = core.state.table(call.resource->table()).find(ns, call.info.name);
  if (!current) throw not_found(call.resource->subject(), call.info.name);
  if (call.info.verb == "get") {
    co_await core.state.durable(current->revision);
    const Renderer whole(call.resource, Output(), *core.converter);
    const std::string text = co_await whole.object(current);
    co_return answer(call, 200, scale_of(*call.resource, json::parse(text).value()));
  }
  Edit edit;
  if (call.info.verb == "update") {
    const json::Value wanted = read_body(call);
    edit = [&call, wanted](const json::Value* object) { return rescaled(call, *object, wanted); };
  } else {
    const PatchDocument document = read_patch(call, &meta::type_of<api::autoscalingv1::Scale>());
    edit = [&call, document](const json::Value* object) {
      const json::Value now = scale_of(*call.resource, *object);
      json::Value wanted = document.applied_to(now);
      if (document.is_apply()) wanted["metadata"].as_object()->erase("resourceVersion");
      return rescaled(call, *object, wanted);
    };
  }
  SaveOptions options{.create = false, .tracked = true, .subresource = "scale"};
  const Saved saved = co_await save(core, call, edit, options);
  co_return answer(call, 200, scale_of(*call.resource, saved.value));
}

}  // namespace kopper::plane
