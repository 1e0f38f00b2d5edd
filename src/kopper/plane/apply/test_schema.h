#pragma once

#include "kopper/api/gen/meta_v1.h"
#include "kopper/json/value.h"
#include "kopper/plane/schema.h"

namespace kopper::plane {

// As much of a structural schema as tests of server-side apply need; of an object at the top the metadata is added.
inline const Schema& test_schema(const json::Value& openapi, SchemaPool& pool, BuiltinSchemas& builtin,
                                 bool top = true) {
  using Type = Schema::Type;
  Schema& out = pool.add();
  const std::string_view type = openapi.text("type");
  if (type == "object") out.type = Type::Object;
  if (type == "array") out.type = Type::List;
  if (type == "string") out.type = Type::String;
  if (type == "integer") out.type = Type::Integer;
  if (type == "number") out.type = Type::Number;
  if (type == "boolean") out.type = Type::Boolean;
  if (openapi["x-kubernetes-int-or-string"].as_bool() != nullptr) out.type = Type::IntOrString;
  out.preserve_unknown = openapi["x-kubernetes-preserve-unknown-fields"].as_bool() != nullptr;
  out.nullable = openapi["nullable"].as_bool() != nullptr;
  out.atomic = openapi.text("x-kubernetes-map-type") == "atomic";
  if (openapi.text("x-kubernetes-list-type") == "set") out.list = Schema::List::Set;
  if (openapi.text("x-kubernetes-list-type") == "map") out.list = Schema::List::Map;
  if (const json::Array* keys = openapi["x-kubernetes-list-map-keys"].as_array()) {
    for (const json::Value& key : *keys) out.keys.push_back(*key.as_string());
  }
  if (openapi["items"].is_object()) out.items = &test_schema(openapi["items"], pool, builtin, false);
  if (openapi["additionalProperties"].is_object())
    out.values = &test_schema(openapi["additionalProperties"], pool, builtin, false);
  std::vector<Member> members;
  if (const json::Object* properties = openapi["properties"].as_object()) {
    for (const auto& [name, inside] : *properties) {
      Member member{.name = name, .schema = &test_schema(inside, pool, builtin, false)};
      if (const json::Value* value = inside.as_object()->find("default")) member.default_value = *value;
      members.push_back(std::move(member));
    }
  }
  if (top) {
    const Schema& text = pool.add({.type = Type::String});
    members.push_back({.name = "apiVersion", .schema = &text});
    members.push_back({.name = "kind", .schema = &text});
    members.push_back({.name = "metadata", .schema = &builtin.of(meta::type_of<api::metav1::ObjectMeta>())});
  }
  if (!members.empty()) out.members = pool.add(std::move(members));
  return out;
}

}  // namespace kopper::plane
