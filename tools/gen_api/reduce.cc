#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "emit.h"

namespace kopper::gen {
namespace {

constexpr auto kKept = std::to_array<std::string_view>(
    {"type", "format", "properties", "items", "additionalProperties", "allOf", "$ref", "required", "default",
     "x-kubernetes-group-version-kind", "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type",
     "x-kubernetes-patch-strategy", "x-kubernetes-patch-merge-key", "x-kubernetes-int-or-string",
     "x-kubernetes-preserve-unknown-fields",
     // not read by the generator, but told by the local API server
     "enum", "oneOf", "x-kubernetes-unions"});

json::Value reduced(const json::Value& schema) {
  const auto* object = schema.as_object();
  if (object == nullptr) return schema;
  json::Object out;
  for (const auto& [key, value] : *object) {
    if (std::ranges::find(kKept, key) == kKept.end()) continue;
    if (key == "properties") {
      json::Object properties;
      for (const auto& [name, property] : *value.as_object()) properties[name] = reduced(property);
      out[key] = std::move(properties);
    } else if (key == "items" || key == "additionalProperties") {
      out[key] = reduced(value);
    } else {
      out[key] = value;
    }
  }
  return out;
}

// The one path that says where objects of a kind are, as Document reads it back.
json::Value path_item(const GroupVersionKind& gvk) {
  json::Object kind{{"group", gvk.group}, {"version", gvk.version}, {"kind", gvk.kind}};
  return json::Object{{"get", json::Object{{"x-kubernetes-group-version-kind", std::move(kind)}}}};
}

// What `schema` points to.
void add_refs(const json::Value& schema, std::vector<std::string>& out) {
  if (const auto* object = schema.as_object()) {
    for (const auto& [key, value] : *object) {
      if (key == "$ref" && value.is_string()) out.emplace_back(ref_of(schema));
      add_refs(value, out);
    }
  } else if (const auto* array = schema.as_array()) {
    for (const auto& value : *array) add_refs(value, out);
  }
}

// The schemas outside of `groups` that those inside need.
std::map<std::string, json::Value> others(const Document& document, const std::vector<std::string>& groups) {
  const auto inside = [&](const std::string& name) {
    return std::ranges::find(groups, split_name(name).key()) != groups.end();
  };
  std::vector<std::string> open;
  for (const auto& [name, schema] : document.schemas())
    if (inside(name) && !is_list_kind(schema)) add_refs(schema, open);
  std::map<std::string, json::Value> out;
  while (!open.empty()) {
    const auto name = std::move(open.back());
    open.pop_back();
    const auto* schema = document.schema(name);
    if (schema == nullptr || inside(name) || out.contains(name)) continue;
    add_refs(*schema, open);
    out.emplace(name, reduced(*schema));
  }
  return out;
}

std::string path_of(const GroupVersionKind& gvk, const Endpoint& endpoint) {
  return fmt::format("/{}{}/{}{}", gvk.group.empty() ? "api" : "apis/" + gvk.group, "/" + gvk.version,
                     endpoint.namespaced ? "namespaces/{namespace}/" : "", endpoint.plural);
}

}  // namespace

std::map<std::string, std::string> reduce(const Document& document, const std::vector<std::string>& groups) {
  std::map<std::string, std::string> out;
  for (const auto& group : groups) {
    std::string schemas;
    std::string paths;
    for (const auto& [name, schema] : document.schemas()) {
      if (split_name(name).key() != group || is_list_kind(schema)) continue;
      schemas += fmt::format("{}\n{}:{}", schemas.empty() ? "" : ",", json::dump(json::Value(name)),
                             json::dump(reduced(schema)));
      const auto* gvk = gvk_of(schema);
      if (gvk == nullptr) continue;
      const GroupVersionKind key{std::string(gvk->text("group")), std::string(gvk->text("version")),
                                 std::string(gvk->text("kind"))};
      const auto endpoint = document.endpoints().find(key);
      if (endpoint == document.endpoints().end()) continue;
      paths += fmt::format("{}\n{}:{}", paths.empty() ? "" : ",",
                           json::dump(json::Value(path_of(key, endpoint->second))), json::dump(path_item(key)));
    }
    auto file = group + ".json";
    std::ranges::replace(file, '/', '_');
    out[file] = fmt::format("{{\"openapi\":\"3.0.0\",\"paths\":{{{}}},\"components\":{{\"schemas\":{{{}}}}}}}\n", paths,
                            schemas);
  }
  const auto outside = others(document, groups);
  if (outside.empty()) return out;
  std::string schemas;
  for (const auto& [name, schema] : outside)
    schemas += fmt::format("{}\n{}:{}", schemas.empty() ? "" : ",", json::dump(json::Value(name)), json::dump(schema));
  out["others.json"] =
      fmt::format("{{\"openapi\":\"3.0.0\",\"paths\":{{}},\"components\":{{\"schemas\":{{{}}}}}}}\n", schemas);
  return out;
}

}  // namespace kopper::gen
