// The scale subresource: a number of an object, seen as an object of its own.
#include <fmt/format.h>

#include "kopper/api/gen/autoscaling_v1.h"
#include "kopper/api/gen/meta_v1.h"
#include "kopper/api/selector.h"
#include "kopper/meta/decode.h"
#include "kopper/plane/apply/managers.h"
#include "kopper/plane/apply/scale_owners.h"
#include "kopper/plane/body.h"
#include "kopper/plane/patching.h"
#include "kopper/plane/reading.h"
#include "kopper/plane/save.h"
#include "kopper/plane/subresources.h"
#include "kopper/plane/table/table.h"

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
  json::Object spec;
  if (const std::int64_t wanted = number(value_at(object, paths.spec_replicas)); wanted != 0) spec["replicas"] = wanted;
  json::Object status{{"replicas", number(value_at(object, paths.status_replicas))}};
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
  const std::int64_t replicas = number(wanted["spec"]["replicas"]);
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

FieldWrite write_of(const Core& core, const std::string& manager, const Schema& schema) {
  return {.schema = schema,
          .manager = manager,
          .api_version = "autoscaling/v1",
          .kind = "Scale",
          .subresource = "scale",
          .now = core.now(),
          .filter = {},
          .versions = nullptr};
}

std::vector<PathElement> path_of(std::string_view text) {
  std::vector<PathElement> out;
  while (!text.empty()) {
    if (text.front() == '.') text.remove_prefix(1);
    const std::size_t end = std::min(text.find('.'), text.size());
    out.push_back(PathElement::field(std::string(text.substr(0, end))));
    text.remove_prefix(end);
  }
  return out;
}

// Server-side apply of a Scale: the owners of the number are those of the object, seen through it.
json::Value applied(Core& core, const Call& call, const json::Value& current, const json::Value& config) {
  const Resource& resource = *call.resource;
  const std::vector<PathElement> path = path_of(resource.scale->spec_replicas);
  const json::Value& owners = current["metadata"]["managedFields"];
  json::Value live = scale_of(resource, current);
  if (const json::Value own = scale_owners(owners, path); !own.is_null()) live["metadata"]["managedFields"] = own;
  const Schema& schema = core.catalog.schemas().of(meta::type_of<api::autoscalingv1::Scale>());
  const std::string manager = call.manager();
  const Applied result = apply_config(live, config, write_of(core, manager, schema), call.info.flag("force"));
  if (!result.conflicts.empty()) throw apply_conflict(result.conflicts);
  json::Value wanted = result.object;
  wanted["metadata"].as_object()->erase("resourceVersion");
  json::Value next = rescaled(call, current, wanted);
  json::Value all = with_scale_owners(owners, result.object["metadata"]["managedFields"], path, resource.api_version());
  if (all.is_null()) {
    next["metadata"].as_object()->erase("managedFields");
  } else {
    next["metadata"]["managedFields"] = std::move(all);
  }
  return next;
}

Face face_of(const Resource& resource) {  // which outlives it
  return {.kind = {.group = "autoscaling", .version = "v1", .kind = "Scale"},
          .show = [&resource](const json::Value& object) { return scale_of(resource, object); },
          .take =
              [&resource](json::Value& object, const json::Value& shown) {
                set_at(object, resource.scale->spec_replicas, number(shown["spec"]["replicas"]));
              }};
}

json::Value as_table(const json::Value& scale, const Output& output) {
  json::Array columns;
  for (const auto& [name, type] : {std::pair("Name", "string"), std::pair("Desired", "integer"),
                                   std::pair("Available", "integer"), std::pair("Age", "string")})
    columns.emplace_back(
        json::Object{{"name", name}, {"type", type}, {"format", ""}, {"description", ""}, {"priority", 0}});
  const auto now = std::chrono::time_point_cast<std::chrono::system_clock::duration>(rt::Loop::current().wall_now());
  const json::Value& metadata = scale["metadata"];
  json::Object row{
      {"cells", json::Array{metadata["name"], number(scale["spec"]["replicas"]), number(scale["status"]["replicas"]),
                            table::age(metadata["creationTimestamp"], now)}}};
  row["object"] =
      output.include == Output::Include::None ? json::Value()
      : output.include == Output::Include::Object
          ? scale
          : json::Value(json::Object{
                {"kind", "PartialObjectMetadata"}, {"apiVersion", output.api_version()}, {"metadata", metadata}});
  return json::Object{{"kind", "Table"},
                      {"apiVersion", output.api_version()},
                      {"metadata", json::Object{{"resourceVersion", metadata["resourceVersion"]}}},
                      {"columnDefinitions", std::move(columns)},
                      {"rows", json::Array{std::move(row)}}};
}

http::Response told(const Call& call, const json::Value& object) {
  const Output output = negotiate(call.info, call.header("accept"));
  json::Value scale = scale_of(*call.resource, object);
  if (output.form == Output::Form::Table) scale = as_table(scale, output);
  return answer(call, 200, json::dump(scale), output);
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
    co_return told(call, json::parse(text).value());
  }
  Edit edit;
  bool by_apply = false;
  if (call.info.verb == "update") {
    const json::Value wanted = read_body(call);
    edit = [&call, wanted](const json::Value* object) { return rescaled(call, *object, wanted); };
  } else {
    const PatchDocument document = read_patch(call, &meta::type_of<api::autoscalingv1::Scale>());
    by_apply = document.is_apply();
    edit = [&core, &call, document](const json::Value* object) {
      if (document.is_apply()) return applied(core, call, *object, document.content);
      const json::Value now = scale_of(*call.resource, *object);
      return rescaled(call, *object, document.applied_to(now));
    };
  }
  const Face face = face_of(*call.resource);
  SaveOptions options{.create = false, .tracked = !by_apply, .subresource = "scale", .face = &face};
  const Saved saved = co_await save(core, call, edit, options);
  co_return told(call, saved.value);
}

}  // namespace kopper::plane
