#include "kopper/plane/crd/crd_schema.h"

#include <algorithm>
#include <string_view>

#include "kopper/api/gen/meta_v1.h"
#include "kopper/plane/crd/cel/program.h"
#include "kopper/plane/crd/formats.h"
#include "kopper/plane/reading.h"

namespace kopper::plane {
namespace {

std::optional<std::int64_t> whole(const json::Value& value) {
  if (const std::int64_t* n = value.as_int()) return *n;
  return std::nullopt;
}

std::vector<std::string> texts(const json::Value& value) {
  std::vector<std::string> out;
  if (const json::Array* list = value.as_array())
    for (const json::Value& item : *list)
      if (item.as_string() != nullptr) out.push_back(*item.as_string());
  return out;
}

Schema::Type type_of(const json::Value& from) {
  if (is_true(from["x-kubernetes-int-or-string"])) return Schema::Type::IntOrString;
  const std::string_view type = from.text("type");
  if (type == "object") return Schema::Type::Object;
  if (type == "array") return Schema::Type::List;
  if (type == "string") return Schema::Type::String;
  if (type == "integer") return Schema::Type::Integer;
  if (type == "number") return Schema::Type::Number;
  if (type == "boolean") return Schema::Type::Boolean;
  return Schema::Type::Any;
}

bool asks_something(const Constraints& c) {
  return !c.type.empty() || c.int_or_string || c.default_value || !c.enumeration.empty() || c.minimum || c.maximum ||
         c.multiple_of || c.min_length || c.max_length || !c.pattern.empty() || c.min_items || c.max_items ||
         c.unique_items || c.min_properties || c.max_properties || !c.required.empty() || c.closed ||
         !c.all_of.empty() || !c.any_of.empty() || !c.one_of.empty() || c.not_of != nullptr || !c.rules.empty();
}

std::vector<CelRule> rules_of(const json::Value& from) {
  std::vector<CelRule> out;
  const json::Array* list = from["x-kubernetes-validations"].as_array();
  if (list == nullptr) return out;
  for (const json::Value& item : *list)
    out.push_back({.rule = std::string(item.text("rule")),
                   .message = std::string(item.text("message")),
                   .message_expression = std::string(item.text("messageExpression")),
                   .reason = std::string(item.text("reason")),
                   .field_path = std::string(item.text("fieldPath")),
                   .optional_old_self = is_true(item["optionalOldSelf"])});
  return out;
}

constexpr std::size_t kMostMembers = 65535;  // Members counts in 16 bits

}  // namespace

CrdSchema::CrdSchema(const json::Value& open_api_schema, BuiltinSchemas& builtins) : builtins_(builtins) {
  root_ = &make(open_api_schema, Place::Root);
  compile_rules();
}

Schema& CrdSchema::make(const json::Value& from, Place place) {
  Schema& out = pool_.add();
  fill(out, from, place);
  Constraints constraints = constraints_of(from, out);
  if (asks_something(constraints)) {
    Constraints& kept = constraints_.emplace_back(std::move(constraints));
    out.constraints = &kept;
    if (!kept.rules.empty() && place != Place::Nested) with_rules_.push_back({&kept, &out});
  }
  return out;
}

void CrdSchema::fill(Schema& out, const json::Value& from, Place place) {
  out.type = type_of(from);
  out.nullable = is_true(from["nullable"]);
  out.preserve_unknown = is_true(from["x-kubernetes-preserve-unknown-fields"]);
  out.embedded = place == Place::Root || is_true(from["x-kubernetes-embedded-resource"]);
  out.atomic = from.text("x-kubernetes-map-type") == "atomic";
  out.format = known_format(from.text("type"), from.text("format")) ? std::string(from.text("format")) : "";
  const std::string_view list_type = from.text("x-kubernetes-list-type");
  if (list_type == "set") out.list = Schema::List::Set;
  if (list_type == "map") out.list = Schema::List::Map;
  out.keys = texts(from["x-kubernetes-list-map-keys"]);

  const Place inner = place == Place::Nested ? Place::Nested : Place::Value;
  if (from["items"].is_object()) out.items = &make(from["items"], inner);
  const json::Value& more = from["additionalProperties"];
  if (more.is_object()) out.values = &make(more, inner);
  if (more.as_bool() != nullptr && *more.as_bool()) out.values = &pool_.add();  // any, but no members of it are known

  std::vector<Member> members;
  const json::Value& properties = from["properties"];
  if (out.embedded) add_meta(members, properties);
  const std::vector<std::string> required = texts(from["required"]);
  if (const json::Object* named = properties.as_object()) {
    for (const auto& [name, schema] : *named) {
      if (members.size() >= kMostMembers) break;
      const bool meta = out.embedded && (name == "apiVersion" || name == "kind" || name == "metadata");
      if (meta) continue;
      Member member{.name = name, .schema = &make(schema, inner)};
      member.required = std::ranges::find(required, name) != required.end();
      if (!schema["default"].is_null()) member.default_value = schema["default"];
      members.push_back(std::move(member));
    }
  }
  if (!members.empty()) out.members = pool_.add(std::move(members));
  if (place == Place::Root) out.type = Schema::Type::Object;
}

void CrdSchema::add_meta(std::vector<Member>& members, const json::Value& properties) {
  for (const char* name : {"apiVersion", "kind"}) {
    const json::Value& written = properties[name];
    Schema& schema = make(written, Place::Value);
    schema.type = Schema::Type::String;
    Member member{.name = name, .schema = &schema};
    if (!written["default"].is_null()) member.default_value = written["default"];
    members.push_back(std::move(member));
  }
  members.push_back({.name = "metadata", .schema = &metadata_of(properties["metadata"])});
}

// The definition may restrict the name, and in an embedded resource give defaults.
const Schema& CrdSchema::metadata_of(const json::Value& written) {
  const Schema& plain = builtins_.of(meta::type_of<api::metav1::ObjectMeta>());
  const json::Object* named = written["properties"].as_object();
  if (named == nullptr || plain.members == nullptr) return plain;
  Schema own = plain;
  std::vector<Member> members(plain.members->begin(), plain.members->end());
  for (Member& member : members) {
    const json::Value* asked = named->find(member.name);
    if (asked == nullptr) continue;
    Schema restricted = *member.schema;
    restricted.builtin = nullptr;  // checked and given defaults as any other member
    Constraints constraints = constraints_of(*asked, restricted);
    constraints.rules.clear();
    if (asks_something(constraints)) restricted.constraints = &constraints_.emplace_back(std::move(constraints));
    member.schema = &pool_.add(std::move(restricted));
    if (!(*asked)["default"].is_null()) member.default_value = (*asked)["default"];
  }
  own.members = pool_.add(std::move(members));
  return pool_.add(std::move(own));
}

Constraints CrdSchema::constraints_of(const json::Value& from, const Schema& schema) {
  Constraints out;
  out.type = from.text("type");
  out.int_or_string = schema.type == Schema::Type::IntOrString;
  if (!from["default"].is_null()) out.default_value = from["default"];
  if (const json::Array* list = from["enum"].as_array()) out.enumeration = *list;

  out.minimum = from["minimum"].number();
  out.maximum = from["maximum"].number();
  out.multiple_of = from["multipleOf"].number();
  out.exclusive_minimum = is_true(from["exclusiveMinimum"]);
  out.exclusive_maximum = is_true(from["exclusiveMaximum"]);

  out.min_length = whole(from["minLength"]);
  out.max_length = whole(from["maxLength"]);
  out.pattern = from.text("pattern");
  if (!out.pattern.empty()) {
    auto compiled = Pattern::compile(out.pattern);
    if (compiled) {
      out.compiled_pattern = std::move(*compiled);
    } else {
      out.pattern_error = std::move(compiled.error());
    }
  }

  out.min_items = whole(from["minItems"]);
  out.max_items = whole(from["maxItems"]);
  out.unique_items = is_true(from["uniqueItems"]);
  out.min_properties = whole(from["minProperties"]);
  out.max_properties = whole(from["maxProperties"]);
  out.required = texts(from["required"]);
  const bool* more = from["additionalProperties"].as_bool();
  out.closed = more != nullptr && !*more;
  out.atomic_map = schema.atomic;

  const auto all = [&](const char* keyword, std::vector<const Schema*>& into) {
    if (const json::Array* list = from[keyword].as_array())
      for (const json::Value& item : *list) into.push_back(&make(item, Place::Nested));
  };
  all("allOf", out.all_of);
  all("anyOf", out.any_of);
  all("oneOf", out.one_of);
  if (from["not"].is_object()) out.not_of = &make(from["not"], Place::Nested);

  out.rules = rules_of(from);
  return out;
}

// After the whole tree stands: the types of a rule are those of everything below it.
void CrdSchema::compile_rules() {
  has_rules_ = !with_rules_.empty();
  for (const Pending& pending : with_rules_) {
    for (CelRule& rule : pending.constraints->rules) {
      const bool blank = std::string_view(rule.rule).find_first_not_of(" \t\r\n") == std::string_view::npos;
      if (blank) continue;
      const cel::Environment environment{.self = pending.schema, .optional_old_self = rule.optional_old_self};
      auto program = cel::Program::compile(rule.rule, environment, cel::Result::Bool);
      if (!program) {
        rule.error = std::move(program.error());
        continue;
      }
      rule.program = std::make_shared<const cel::Program>(std::move(*program));
      if (rule.message_expression.empty()) continue;
      auto message = cel::Program::compile(rule.message_expression, environment, cel::Result::String);
      if (message) {
        rule.message_program = std::make_shared<const cel::Program>(std::move(*message));
      } else {
        rule.message_error = std::move(message.error());
      }
    }
  }
}

}  // namespace kopper::plane
