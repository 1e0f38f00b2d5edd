#include "kopper/meta/schema.h"

#include <algorithm>

#include "kopper/meta/detail/walk.h"
#include "kopper/meta/encode.h"

namespace kopper::meta {
namespace {

using json::Array;
using json::Object;
using json::Value;

constexpr const char* kAnyMembers = "x-kubernetes-preserve-unknown-fields";

Value number(const Number& n) { return n.is_integer() ? Value(n.integer()) : Value(n.real()); }

Array strings(const auto& names) {
  Array out;
  for (const std::string_view name : names)
    if (!name.empty()) out.emplace_back(name);
  return out;
}

Value parsed(std::string_view json) {
  auto value = json::parse(json);
  if (!value) throw_error(value.error(), "default");
  return std::move(*value);
}

// ObjectMeta, wherever it comes from: this module does not know it by name.
bool is_metadata(const Type& type) {
  return detail::find_field(type, "managedFields") != nullptr && detail::find_field(type, "resourceVersion") != nullptr;
}
constexpr std::string_view kUserMetadata[] = {"name", "namespace", "labels", "annotations", "finalizers"};

void set_topology(Object& out, const Type& type, Topology topology, std::span<const std::string_view> keys) {
  if (topology == Topology::Default) return;
  if (type.shape != Shape::List) {
    out["x-kubernetes-map-type"] = topology == Topology::Atomic ? "atomic" : "granular";
    return;
  }
  const char* name = topology == Topology::Map ? "map" : topology == Topology::Set ? "set" : "atomic";
  out["x-kubernetes-list-type"] = name;
  if (topology != Topology::Map) return;
  out["x-kubernetes-list-map-keys"] = strings(keys);
  // The server wants each key to be required or to have a default.
  Value& items = out["items"];
  for (const std::string_view key : keys) {
    const Value& schema = std::as_const(items)["properties"][key];
    if (schema.is_object() && schema.as_object()->contains("default")) continue;
    Value& required = items["required"];
    if (required.is_null()) required = Array();
    if (std::ranges::find(*required.as_array(), Value(key)) == required.as_array()->end())
      required.as_array()->emplace_back(key);
  }
}

void apply(const RuleData& rule, Object& out) {
  const auto set = [&](const char* key, const auto& value) {
    if (value) out[key] = *value;
  };
  const auto flag = [&](const char* key, bool value) {
    if (value) out[key] = true;
  };
  if (rule.int_or_string) {
    out = Object{{"anyOf", Array{Object{{"type", "integer"}}, Object{{"type", "string"}}}}};
    out["x-kubernetes-int-or-string"] = true;
  }
  if (!rule.doc.empty()) out["description"] = rule.doc;
  if (!rule.format.empty()) out["format"] = rule.format;
  if (!rule.pattern.empty()) out["pattern"] = rule.pattern;
  if (!rule.one_of.empty()) out["enum"] = strings(rule.one_of);
  if (rule.minimum) out["minimum"] = number(*rule.minimum);
  flag("exclusiveMinimum", rule.exclusive_minimum);
  if (rule.maximum) out["maximum"] = number(*rule.maximum);
  flag("exclusiveMaximum", rule.exclusive_maximum);
  if (rule.multiple_of) out["multipleOf"] = number(*rule.multiple_of);
  set("minLength", rule.min_length);
  set("maxLength", rule.max_length);
  set("minItems", rule.min_items);
  set("maxItems", rule.max_items);
  set("minProperties", rule.min_properties);
  set("maxProperties", rule.max_properties);
  flag("nullable", rule.nullable);
  flag(kAnyMembers, rule.preserve_unknown);
  if (rule.embedded_resource) {
    out["type"] = "object";
    out["x-kubernetes-embedded-resource"] = true;
  }
  for (const Cel& cel : rule.cel) {
    Object check{{"rule", cel.rule}};
    if (!cel.message.empty()) check["message"] = cel.message;
    Value& all = out["x-kubernetes-validations"];
    if (all.is_null()) all = Array();
    all.as_array()->emplace_back(std::move(check));
  }
}

class Builder {
 public:
  // `sample`: a value whose members are the defaults, or null.
  Object build(const Type& type, const void* sample) {
    switch (type.shape) {
      case Shape::Bool: return {{"type", "boolean"}};
      case Shape::Int32: return {{"type", "integer"}, {"format", "int32"}};
      case Shape::Int64: return {{"type", "integer"}, {"format", "int64"}};
      case Shape::Uint32: return {{"type", "integer"}, {"format", "int64"}, {"minimum", 0}, {"maximum", 4294967295}};
      case Shape::Uint64: return {{"type", "integer"}, {"minimum", 0}};
      case Shape::Double: return {{"type", "number"}, {"format", "double"}};
      case Shape::String: return {{"type", "string"}};
      case Shape::Bytes: return {{"type", "string"}, {"format", "byte"}};
      case Shape::Enum: return {{"type", "string"}, {"enum", strings(type.names)}};
      case Shape::Value: return {{kAnyMembers, true}};
      case Shape::Scalar:
      case Shape::Custom: return *type.schema().as_object();
      case Shape::Optional: {
        const void* set = sample == nullptr ? nullptr : type.items(sample).first;
        return build(*type.element, set != nullptr ? set : sample_of(*type.element));
      }
      case Shape::List: return {{"type", "array"}, {"items", build(*type.element, sample_of(*type.element))}};
      case Shape::Map:
        return {{"type", "object"}, {"additionalProperties", build(*type.element, sample_of(*type.element))}};
      case Shape::Record: return record(type, sample);
    }
    return {};
  }

  Object record(const Type& type, const void* sample) {
    if (std::ranges::find(open_, &type) != open_.end()) return {{"type", "object"}, {kAnyMembers, true}};
    const bool outermost = open_.empty();
    open_.push_back(&type);
    Object out{{"type", "object"}}, properties;
    Array required;
    if (type.kind != nullptr) {
      properties["apiVersion"] = Object{{"type", "string"}};
      properties["kind"] = Object{{"type", "string"}};
    }
    const bool metadata = is_metadata(type);
    for (const Field& field : type.fields) {
      if (metadata && std::ranges::find(kUserMetadata, field.name) == std::end(kUserMetadata)) continue;
      if (type.kind != nullptr && outermost && field.name == "metadata") {
        properties["metadata"] = Object{{"type", "object"}};
        continue;
      }
      const bool observed = type.kind != nullptr && outermost && field.name == "status";
      properties[field.name] = member(type, field, observed || !with_defaults_ ? nullptr : sample, observed);
      if (field.required) required.emplace_back(field.name);
    }
    if (!properties.empty()) out["properties"] = std::move(properties);
    if (!required.empty()) out["required"] = std::move(required);
    for (const Rule& rule : type.rules)
      if (rule.data().target == RuleData::Target::Whole) apply(rule.data(), out);
    open_.pop_back();
    return out;
  }

 private:
  const void* sample_of(const Type& type) const { return with_defaults_ ? detail::sample_of(type) : nullptr; }

  Value member(const Type& record, const Field& field, const void* sample, bool observed) {
    const bool before = with_defaults_;
    if (observed) with_defaults_ = false;
    const void* value = detail::sample_of(field, sample);
    const Type& type = detail::unwrap(*field.type);
    Object out = build(*field.type, value);
    for (const Rule& rule : record.rules) {
      const RuleData& data = rule.data();
      if (data.field != field.name) continue;
      if (data.target == RuleData::Target::Field) apply(data, out);
      if (data.target == RuleData::Target::Items)
        apply(data, *out[type.shape == Shape::Map ? "additionalProperties" : "items"].as_object());
    }
    set_topology(out, type, field.topology, field.map_keys);
    set_default(out, record, field, value);
    with_defaults_ = before;
    return out;
  }

  void set_default(Object& out, const Type& record, const Field& field, const void* value) const {
    bool none = field.required;
    std::string_view json = field.default_json;
    for (const Rule& rule : record.rules) {
      const RuleData& data = rule.data();
      if (data.target != RuleData::Target::Field || data.field != field.name) continue;
      none = none || data.no_default;
      if (!data.default_json.empty()) json = data.default_json;
    }
    if (!json.empty())
      out["default"] = parsed(json);
    else if (!none && value != nullptr && says_something(*field.type, value))
      out["default"] = value_of(*field.type, value);
  }

  // Members of a struct have their own defaults; a default for the whole would say the same twice.
  static bool says_something(const Type& type, const void* value) {
    if (type.shape == Shape::Record || detail::empty(type, value, nullptr)) return false;
    return type.shape == Shape::Enum || !detail::zero(type, value);
  }

  std::vector<const Type*> open_;  // the records around this one
  bool with_defaults_ = true;
};

}  // namespace

json::Value schema(const Type& type) { return Builder().build(type, detail::sample_of(type)); }

}  // namespace kopper::meta
