#include "kopper/plane/discovery/openapi_schemas.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "kopper/api/definitions.h"
#include "kopper/json/writer.h"
#include "kopper/plane/discovery/discovery.h"
#include "kopper/plane/discovery/openapi_paths.h"

namespace kopper::plane::openapi {
namespace {

constexpr std::string_view kRef = "#/components/schemas/";
constexpr std::string_view kMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.";

json::Value refer(std::string_view name) { return json::Object{{"$ref", fmt::format("{}{}", kRef, name)}}; }

json::Value meta_ref(std::string_view kind) {
  return json::Object{{"allOf", json::Array{refer(fmt::format("{}{}", kMeta, kind))}}};
}

json::Value kind_of(const Resource& resource, const std::string& kind) {
  return json::Array{json::Object{{"group", resource.group}, {"kind", kind}, {"version", resource.version}}};
}

json::Value text() { return json::Object{{"type", "string"}}; }

std::string list_schema(const Resource& resource) {
  json::Object items{{"type", "array"}, {"items", refer(definition_name(resource))}};
  json::Value metadata = meta_ref("ListMeta");
  if (!resource.custom) metadata["default"] = json::Object{};
  json::Object properties{
      {"apiVersion", text()}, {"items", std::move(items)}, {"kind", text()}, {"metadata", std::move(metadata)}};
  json::Object out{{"type", "object"}, {"required", json::Array{"items"}}, {"properties", std::move(properties)}};
  out["x-kubernetes-group-version-kind"] = kind_of(resource, resource.list_kind);
  return json::dump(json::Value(std::move(out)));
}

void add_object_members(json::Value& schema) {
  json::Value& properties = schema["properties"];
  properties["apiVersion"] = text();
  properties["kind"] = text();
  properties["metadata"] = meta_ref("ObjectMeta");
}

// Objects within objects have members that a definition need not name.
void complete_embedded(json::Value& schema) {
  if (auto* properties = schema.as_object() != nullptr ? schema.as_object()->find("properties") : nullptr)
    if (auto* members = properties->as_object())
      for (auto& [name, member] : *members) complete_embedded(member);
  for (const char* inner : {"items", "additionalProperties"})
    if (auto* found = schema.as_object() != nullptr ? schema.as_object()->find(inner) : nullptr)
      complete_embedded(*found);
  const bool* embedded = std::as_const(schema)["x-kubernetes-embedded-resource"].as_bool();
  if (embedded == nullptr || !*embedded) return;
  add_object_members(schema);
  schema["required"] = json::Array{"kind", "apiVersion"};
}

std::string custom_schema(const Resource& resource) {
  json::Value schema;
  if (const auto* versions = resource.custom->definition["spec"]["versions"].as_array())
    for (const json::Value& version : *versions)
      if (version.text("name") == resource.version) schema = version["schema"]["openAPIV3Schema"];
  if (!schema.is_object()) schema = json::Object{};
  schema["type"] = "object";
  complete_embedded(schema);
  add_object_members(schema);
  schema["x-kubernetes-group-version-kind"] = kind_of(resource, resource.kind);
  return json::dump(schema);
}

std::string builtin_schema(std::string_view name) {
  const auto all = api::definitions();
  const auto at = std::ranges::lower_bound(all, name, {}, &api::Definition::name);
  if (at == all.end() || at->name != name) return "{\"type\":\"object\"}";
  return std::string(at->json);
}

}  // namespace

void add_schemas(const Catalog::Version& version, Schemas& out) {
  std::vector<std::string> open;
  for (const char* kind : {"APIResourceList", "DeleteOptions", "Patch", "Status", "WatchEvent"})
    open.push_back(fmt::format("{}{}", kMeta, kind));
  const auto add = [&](std::string name, std::string json) {
    for (std::size_t at = json.find(kRef); at != std::string::npos; at = json.find(kRef, at)) {
      at += kRef.size();
      open.push_back(json.substr(at, json.find('"', at) - at));
    }
    out.insert_or_assign(std::move(name), std::move(json));
  };
  for (const ResourceRef& resource : version.resources) {
    const std::string name = definition_name(*resource);
    add(name, resource->custom ? custom_schema(*resource) : builtin_schema(name));
    if ((resource->verbs & Resource::ListVerb) != 0) add(name + "List", list_schema(*resource));
    for (const std::string& sub : resource->subresources) {
      const Subresource about = describe(*resource, sub);
      if (!about.version.empty()) open.push_back(builtin_definition_name(about.group, about.version, about.kind));
    }
  }
  while (!open.empty()) {
    std::string name = std::move(open.back());
    open.pop_back();
    if (out.contains(name)) continue;
    std::string json = builtin_schema(name);
    add(std::move(name), std::move(json));
  }
}

json::Value to_v2(const json::Value& schema) {
  const json::Object* members = schema.as_object();
  if (members == nullptr) return schema;
  const auto set = [&](std::string_view key) {
    const bool* value = schema[key].as_bool();
    return value != nullptr && *value;
  };
  // Of what may be anything nothing is said.
  const bool open = set("nullable") || set("x-kubernetes-preserve-unknown-fields") || set("x-kubernetes-int-or-string");
  json::Object out;
  for (const auto& [key, value] : *members) {
    if (key == "$ref") {
      const std::string_view target = schema.text("$ref");
      out[key] = fmt::format("#/definitions/{}", target.substr(std::min(target.rfind('/') + 1, target.size())));
    } else if (key == "allOf") {
      if (value[std::size_t{0}]["$ref"].is_string()) out["$ref"] = to_v2(value[std::size_t{0}])["$ref"];
    } else if (key == "oneOf") {
      if (!open) out["type"] = "string";  // a quantity, or a number that may be a name
    } else if (key == "default" || key == "nullable" || key == "anyOf" || key == "not" || key == "example") {
      continue;
    } else if (key.starts_with("x-") || key == "description") {
      out[key] = value;
    } else if (open) {
      continue;
    } else if (key == "properties") {
      json::Object properties;
      if (const auto* all = value.as_object())
        for (const auto& [name, property] : *all) properties[name] = to_v2(property);
      out[key] = std::move(properties);
    } else if (key == "items" || key == "additionalProperties") {
      out[key] = to_v2(value);
    } else {
      out[key] = value;
    }
  }
  return out;
}

}  // namespace kopper::plane::openapi
