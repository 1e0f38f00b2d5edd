#include "kopper/plane/crd/detail/structural.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "kopper/plane/crd/pattern.h"
#include "kopper/plane/reading.h"

namespace kopper::plane::detail {
namespace {

enum class Level : std::uint8_t { Root, Item, Field };

class Structural {
 public:
  explicit Structural(Problems& problems) : problems_(problems) {}

  void invariants(const json::Value& s, Level level, const std::string& path) {
    const std::string_view type = s.text("type");
    if (type == "array" && !s["items"].is_object()) problems_.required(at(path, "items"), "must be specified");
    if (s["items"].is_object()) invariants(s["items"], Level::Item, at(path, "items"));
    if (const json::Object* named = s["properties"].as_object())
      for (const auto& [name, inner] : *named) invariants(inner, Level::Field, at_key(at(path, "properties"), name));
    const json::Value& more = s["additionalProperties"];
    if (!more.is_null() && level == Level::Root)
      problems_.forbidden(at(path, "additionalProperties"), "must not be used at the root");
    if (more.is_object()) invariants(more, Level::Field, at(path, "additionalProperties"));

    extensions(s, path);
    value_validation(s, is_int_or_string(s["anyOf"]), is_int_or_string(s["allOf"][0]["anyOf"]), path);
    type_of(s, level, path);
    metadata(s, level, path);
  }

  void completeness(const json::Value& s, const json::Value& validation, const std::string& s_path,
                    const std::string& v_path) {
    if (validation["not"].is_object()) nested_completeness(s, validation["not"], s_path, at(v_path, "not"));
    for (const char* keyword : {"allOf", "anyOf", "oneOf"})
      if (const json::Array* list = validation[keyword].as_array())
        for (std::size_t i = 0; i < list->size(); ++i)
          nested_completeness(s, (*list)[i], s_path, at(at(v_path, keyword), i));
  }

 private:
  static bool is_int_or_string(const json::Value& any_of) {
    static const json::Value kForm = json::Array{json::Object{{"type", "integer"}}, json::Object{{"type", "string"}}};
    return any_of == kForm;
  }

  void extensions(const json::Value& s, const std::string& path) {
    if (!is_true(s["x-kubernetes-int-or-string"])) return;
    for (const char* other : {"x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"})
      if (is_true(s[other]))
        problems_.invalid(at(path, other), true, "must be false if x-kubernetes-int-or-string is true");
  }

  void value_validation(const json::Value& v, bool skip_any_of, bool skip_first_all_of, const std::string& path) {
    const auto each = [&](const char* keyword, bool skip_inner) {
      if (const json::Array* list = v[keyword].as_array())
        for (std::size_t i = 0; i < list->size(); ++i)
          nested((*list)[i], skip_inner && i == 0, at(at(path, keyword), i));
    };
    if (!skip_any_of) each("anyOf", false);
    each("allOf", skip_first_all_of);
    each("oneOf", false);
    if (v["not"].is_object()) nested(v["not"], false, at(path, "not"));
    const std::string_view pattern = v.text("pattern");
    if (pattern.empty()) return;
    if (const auto compiled = Pattern::compile(pattern); !compiled)
      problems_.invalid(at(path, "pattern"), pattern,
                        "must be a valid regular expression, but isn't: " + compiled.error());
  }

  void nested(const json::Value& v, bool skip_any_of, const std::string& path) {
    value_validation(v, skip_any_of, false, path);
    if (v["items"].is_object()) nested(v["items"], false, at(path, "items"));
    if (const json::Object* named = v["properties"].as_object())
      for (const auto& [name, inner] : *named) nested(inner, false, at_key(at(path, "properties"), name));

    const auto forbid = [&](bool bad, const char* keyword, const char* what) {
      if (bad) problems_.forbidden(at(path, keyword), fmt::format("must be {} to be structural", what));
    };
    forbid(!v.text("type").empty(), "type", "empty");
    forbid(!v["additionalProperties"].is_null(), "additionalProperties", "undefined");
    forbid(!v["default"].is_null(), "default", "undefined");
    forbid(!v.text("title").empty(), "title", "empty");
    forbid(!v.text("description").empty(), "description", "empty");
    for (const char* flag : {"nullable", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource",
                             "x-kubernetes-int-or-string"})
      forbid(is_true(v[flag]), flag, "false");
    const json::Array* keys = v["x-kubernetes-list-map-keys"].as_array();
    forbid(keys != nullptr && !keys->empty(), "x-kubernetes-list-map-keys", "empty");
    forbid(!v["x-kubernetes-list-type"].is_null(), "x-kubernetes-list-type", "undefined");
    forbid(!v["x-kubernetes-map-type"].is_null(), "x-kubernetes-map-type", "undefined");
    const json::Array* rules = v["x-kubernetes-validations"].as_array();
    forbid(rules != nullptr && !rules->empty(), "x-kubernetes-validations", "empty");
    if (!v["properties"]["metadata"].is_null())
      problems_.forbidden(at_key(at(path, "properties"), "metadata"), "must not be specified in a nested context");
  }

  void type_of(const json::Value& s, Level level, const std::string& path) {
    const std::string_view type = s.text("type");
    const bool embedded = is_true(s["x-kubernetes-embedded-resource"]);
    const bool preserved = is_true(s["x-kubernetes-preserve-unknown-fields"]);
    const std::string where = at(path, "type");
    if (embedded && type != "object") {
      constexpr const char* kWhy = "must be object if x-kubernetes-embedded-resource is true";
      type.empty() ? problems_.required(where, kWhy) : problems_.invalid(where, type, kWhy);
    } else if (type.empty() && !is_true(s["x-kubernetes-int-or-string"]) && !preserved) {
      problems_.required(where, level == Level::Root   ? "must not be empty at the root"
                                : level == Level::Item ? "must not be empty for specified array items"
                                                       : "must not be empty for specified object fields");
    }
    if (embedded && !s["additionalProperties"].is_null())
      problems_.forbidden(at(path, "additionalProperties"),
                          "must not be used if x-kubernetes-embedded-resource is set");
    if (level == Level::Root && !type.empty() && type != "object")
      problems_.invalid(where, type, "must be object at the root");
    const json::Object* named = s["properties"].as_object();
    if (embedded && !preserved && (named == nullptr || named->empty()))
      problems_.required(at(path, "properties"),
                         "must not be empty if x-kubernetes-embedded-resource is true without "
                         "x-kubernetes-preserve-unknown-fields");
  }

  void metadata(const json::Value& s, Level level, const std::string& path) {
    const bool checked = level == Level::Root || is_true(s["x-kubernetes-embedded-resource"]);
    const json::Object* named = s["properties"].as_object();
    if (!checked || named == nullptr) return;
    const std::string properties = at(path, "properties");
    for (const char* name : {"kind", "apiVersion"})
      if (const json::Value* inner = named->find(name); inner != nullptr && inner->text("type") != "string")
        problems_.invalid(at(at_key(properties, name), "type"), inner->text("type"), "must be string");
    const json::Value* meta = named->find("metadata");
    if (meta == nullptr) return;
    const std::string where = at_key(properties, "metadata");
    if (meta->text("type") != "object") problems_.invalid(at(where, "type"), meta->text("type"), "must be object");
    if (level == Level::Root && !is_plain_metadata(*meta))
      problems_.forbidden(where,
                          "must not specify anything other than name and generateName, but metadata is implicitly "
                          "specified");
  }

  static bool is_plain_metadata(const json::Value& meta) {
    const json::Object* keywords = meta.as_object();
    if (keywords == nullptr) return true;
    for (const auto& [keyword, value] : *keywords) {
      if (keyword == "type" || keyword == "default") continue;
      if (keyword != "properties") return false;
      if (const json::Object* named = value.as_object())
        for (const auto& [name, inner] : *named)
          if (name != "name" && name != "generateName") return false;
    }
    return true;
  }

  void nested_completeness(const json::Value& s, const json::Value& v, const std::string& s_path,
                           const std::string& v_path) {
    completeness(s, v, s_path, v_path);
    const auto missing = [&](const std::string& where, const std::string& because) {
      problems_.required(where, "because it is defined in " + because);
    };
    if (v["items"].is_object()) {
      if (s["items"].is_object()) {
        nested_completeness(s["items"], v["items"], at(s_path, "items"), at(v_path, "items"));
      } else {
        missing(at(s_path, "items"), at(v_path, "items"));
      }
    }
    if (const json::Object* named = v["properties"].as_object())
      for (const auto& [name, inner] : *named) {
        const std::string s_here = at_key(at(s_path, "properties"), name);
        const std::string v_here = at_key(at(v_path, "properties"), name);
        if (s["properties"][name].is_null()) {
          missing(s_here, v_here);
        } else {
          nested_completeness(s["properties"][name], inner, s_here, v_here);
        }
      }
  }

  Problems& problems_;
};

}  // namespace

std::optional<std::string> unsupported_keyword(const json::Value& schema) {
  if (!schema.is_object()) return std::nullopt;
  constexpr std::pair<const char*, const char*> kKeywords[] = {
      {"id", "id"},
      {"$schema", "schema"},
      {"$ref", "$ref"},
      {"additionalItems", "additionalItems"},
      {"patternProperties", "patternProperties"},
      {"definitions", "definitions"},
      {"dependencies", "dependencies"},
  };
  for (const auto& [keyword, called] : kKeywords)
    if (!schema[keyword].is_null()) return fmt::format("OpenAPIV3Schema '{}' is not supported", called);
  if (schema["items"].is_array()) return "OpenAPIV3Schema 'items' must be a schema, but is an array";
  for (const char* keyword : {"items", "additionalProperties", "not"})
    if (auto found = unsupported_keyword(schema[keyword])) return found;
  if (const json::Object* named = schema["properties"].as_object())
    for (const auto& [name, inner] : *named)
      if (auto found = unsupported_keyword(inner)) return found;
  for (const char* keyword : {"allOf", "anyOf", "oneOf"})
    if (const json::Array* list = schema[keyword].as_array())
      for (const json::Value& inner : *list)
        if (auto found = unsupported_keyword(inner)) return found;
  return std::nullopt;
}

void check_structural(const json::Value& schema, const std::string& path, Problems& problems) {
  Problems found;
  Structural walk(found);
  walk.invariants(schema, Level::Root, path);
  walk.completeness(schema, schema, path, path);
  std::vector<Cause> causes = found.causes();
  std::ranges::sort(causes, {}, [](const Cause& cause) { return cause.field + ": " + cause.message; });
  for (Cause& cause : causes) problems.add(std::move(cause.field), std::move(cause.reason), std::move(cause.message));
}

}  // namespace kopper::plane::detail
