#include "kopper/plane/crd/detail/schema_check.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "kopper/plane/crd/cel/cost.h"
#include "kopper/plane/crd/cel/program.h"
#include "kopper/plane/crd/crd_schema.h"
#include "kopper/plane/crd/detail/field_path.h"
#include "kopper/plane/crd/detail/open_api.h"
#include "kopper/plane/crd/detail/rules.h"
#include "kopper/plane/crd/detail/structural.h"
#include "kopper/plane/crd/go_text.h"
#include "kopper/plane/crd/prune.h"
#include "kopper/plane/reading.h"

namespace kopper::plane::detail {
namespace {

bool is_meta(std::string_view name) { return name == "apiVersion" || name == "kind" || name == "metadata"; }
bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\r\n") == std::string_view::npos; }
bool has_line_break(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  const std::size_t end = text.find_last_not_of(" \t\r\n");
  return end != std::string_view::npos && text.substr(begin, end + 1 - begin).find_first_of("\r\n") != text.npos;
}

std::vector<std::string> texts(const json::Value& value) {
  std::vector<std::string> out;
  if (const json::Array* list = value.as_array())
    for (const json::Value& item : *list)
      if (item.is_string()) out.push_back(*item.as_string());
  return out;
}

// Defaults have to pass the schema that they are in.
class Defaults {
 public:
  explicit Defaults(Problems& problems) : problems_(problems) {}

  void walk(const json::Value& written, const Schema& schema, const std::string& path) {
    if (!written["default"].is_null()) one(written["default"], schema, at(path, "default"));
    if (written["items"].is_object() && schema.items != nullptr)
      walk(written["items"], *schema.items, at(path, "items"));
    const json::Object* named = written["properties"].as_object();
    if (named == nullptr) return;
    for (const auto& [name, inner] : *named) {
      if (schema.embedded && is_meta(name)) continue;
      const Member* member = schema.members != nullptr ? schema.members->find(name) : nullptr;
      if (member != nullptr) walk(inner, *member->schema, at_key(at(path, "properties"), name));
    }
  }

 private:
  void one(const json::Value& value, const Schema& schema, const std::string& path) {
    Problems own;
    if (!unknown_fields(value, schema).empty())
      own.add(path, "FieldValueInvalid",
              fmt::format("Invalid value: {}: must not have unknown fields", go_json(value)));
    const std::size_t before = own.causes().size();
    check_open_api(value, schema, nullptr, path, own);
    if (own.causes().size() == before) {
      check_rules(value, schema, &value, path, own);
      if (own.causes().size() == before) check_rules(value, schema, nullptr, path, own);
    }
    for (const Cause& cause : own.causes()) problems_.add(cause.field, cause.reason, cause.message);
  }

  Problems& problems_;
};

// What the rules of a schema may cost together, and which are to blame.
class RuleCosts {
 public:
  // Of one rule, in all places where it may apply.
  void add(double cost, const std::string& path, Problems& problems) {
    total_ += cost;
    if (cost > kOne) problems.forbidden(path, too_much("estimated rule cost", cost / kOne));
    if (cost >= kAll / 100) costly_.push_back(path);
  }

  void conclude(const std::string& path, Problems& problems) const {
    if (total_ <= kAll) return;
    for (const std::string& one : costly_)
      problems.forbidden(one,
                         "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema");
    problems.forbidden(path, too_much("x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema",
                                      total_ / kAll));
  }

 private:
  static constexpr double kOne = 10'000'000;   // of a rule
  static constexpr double kAll = 100'000'000;  // of a schema

  static std::string too_much(std::string_view what, double factor) {
    const std::string times = factor > 100   ? "more than 100x"
                              : factor < 1.5 ? fmt::format("{:f}x", factor)
                                             : fmt::format("{:.1f}x", factor);
    return fmt::format(
        "{} exceeds budget by factor of {} (try simplifying the rule, or adding maxItems, maxProperties, "
        "and maxLength where arrays, maps, and strings are declared)",
        what, times);
  }

  double total_ = 0;
  std::vector<std::string> costly_;
};

// The keywords of each schema, one by one.
class Keywords {
 public:
  struct Place {
    bool root = false;
    bool inside_meta = false;
    std::string no_defaults;       // why there may be none
    std::string no_old_self = {};  // the path within which values have no past
    double times = 1;              // how many there may be of it in an object, as far as lists and maps say
    bool any_times = false;        // some list or map around it does not
  };

  Keywords(Problems& problems, Problems& rule_problems, RuleCosts& costs)
      : problems_(problems), rule_problems_(rule_problems), costs_(costs) {}

  // `schema` is null where rules cannot be: under allOf and the like, or in a schema that is not structural.
  void walk(const json::Value& s, const Schema* schema, const std::string& path, const Place& place) {
    if (!s.is_object()) return;
    const std::size_t before = problems_.causes().size();
    forbidden_keywords(s, path, place);
    children(s, schema, path, place);
    kubernetes_keywords(s, path);
    list_map(s, path);
    rules(s, schema, path, place, before);
  }

 private:
  // One of the items or entries of a value.
  static Place within(const Place& place, const Schema* schema, bool limited) {
    Place out = place;
    out.root = false;
    out.any_times = place.any_times || !limited;
    if (schema != nullptr) out.times *= cel::most_items(*schema);
    return out;
  }

  void forbidden_keywords(const json::Value& s, const std::string& path, const Place& place) {
    constexpr std::array<std::string_view, 6> kTypes{"array", "boolean", "integer", "number", "object", "string"};
    const std::string_view type = s.text("type");
    if (!type.empty() && std::ranges::find(kTypes, type) == kTypes.end())
      problems_.not_supported(at(path, "type"), type, {kTypes.begin(), kTypes.end()});
    if (!s["default"].is_null() && !place.no_defaults.empty())
      problems_.forbidden(at(path, "default"), "must not be set " + place.no_defaults);
    for (const char* keyword : {"id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"})
      if (!s[keyword].is_null()) problems_.forbidden(at(path, keyword), fmt::format("{} is not supported", keyword));
    if (type == "null")
      problems_.forbidden(at(path, "type"), "type cannot be set to null, use nullable as an alternative");
    if (s["items"].is_array()) problems_.forbidden(at(path, "items"), "items must be a schema object and not an array");
    if (place.inside_meta && is_true(s["x-kubernetes-embedded-resource"]))
      problems_.forbidden(at(path, "x-kubernetes-embedded-resource"), "must not be used inside of resource meta");
    if (is_true(s["uniqueItems"]))
      problems_.forbidden(at(path, "uniqueItems"),
                          "uniqueItems cannot be set to true since the runtime complexity becomes quadratic");
  }

  void children(const json::Value& s, const Schema* schema, const std::string& path, const Place& place) {
    const json::Object* named = s["properties"].as_object();
    const json::Value& more = s["additionalProperties"];
    if (!more.is_null()) {
      if (named != nullptr && !named->empty() && (more.is_object() || !is_true(more)))
        problems_.forbidden(at(path, "additionalProperties"),
                            "additionalProperties and properties are mutual exclusive");
      Place inner = within(place, schema, !s["maxProperties"].is_null());
      if (place.inside_meta) inner.no_defaults = "inside additionalProperties applying to object metadata";
      walk(more, schema != nullptr ? schema->values : nullptr, at(path, "additionalProperties"), inner);
    }
    if (named != nullptr)
      for (const auto& [name, child] : *named) {
        Place inner = place;
        inner.root = false;
        if (is_meta(name) && (place.root || is_true(s["x-kubernetes-embedded-resource"]))) {
          inner.inside_meta = true;
          if (place.root) inner.no_defaults = "in top-level " + name;
        }
        const Member* member = schema != nullptr && schema->members != nullptr ? schema->members->find(name) : nullptr;
        walk(child, member != nullptr ? member->schema : nullptr, at_key(at(path, "properties"), name), inner);
      }
    Place nested = place;
    nested.root = false;
    walk(s["not"], nullptr, at(path, "not"), nested);
    for (const char* keyword : {"allOf", "oneOf", "anyOf"})
      if (const json::Array* list = s[keyword].as_array())
        for (std::size_t i = 0; i < list->size(); ++i) walk((*list)[i], nullptr, at(at(path, keyword), i), nested);
    if (s["items"].is_object()) {
      Place item = within(place, schema, !s["maxItems"].is_null());
      if (s.text("x-kubernetes-list-type") != "map" && item.no_old_self.empty()) item.no_old_self = path;
      walk(s["items"], schema != nullptr ? schema->items : nullptr, at(path, "items"), item);
    }
  }

  void needs_type(const json::Value& s, const char* keyword, const char* type, const std::string& path) {
    if (s[keyword].is_null() || s.text("type") == type) return;
    const std::string why = fmt::format("must be {} if {} is specified", type, keyword);
    if (s.text("type").empty()) {
      problems_.required(at(path, "type"), why);
    } else {
      problems_.invalid(at(path, "type"), s.text("type"), why);
    }
  }

  void kubernetes_keywords(const json::Value& s, const std::string& path) {
    if (s["x-kubernetes-preserve-unknown-fields"].as_bool() != nullptr &&
        !is_true(s["x-kubernetes-preserve-unknown-fields"]))
      problems_.invalid(at(path, "x-kubernetes-preserve-unknown-fields"), false, "must be true or undefined");
    needs_type(s, "x-kubernetes-map-type", "object", path);
    const std::string_view map_type = s.text("x-kubernetes-map-type");
    if (!map_type.empty() && map_type != "atomic" && map_type != "granular")
      problems_.not_supported(at(path, "x-kubernetes-map-type"), map_type, {"atomic", "granular"});
    needs_type(s, "x-kubernetes-list-type", "array", path);
    const std::string_view list_type = s.text("x-kubernetes-list-type");
    const json::Value& items = s["items"];
    if (list_type == "set" && s.text("type") == "array") {
      constexpr const char* kWhy = "must be atomic as item of a list with x-kubernetes-list-type=set";
      const json::Value& inner_list = items["x-kubernetes-list-type"];
      if (items.text("type") == "array" && !inner_list.is_null() && items.text("x-kubernetes-list-type") != "atomic")
        problems_.invalid(at(at(path, "items"), "x-kubernetes-list-type"), inner_list, kWhy);
      if (items.text("type") == "object" && items.text("x-kubernetes-map-type") != "atomic")
        problems_.invalid(at(at(path, "items"), "x-kubernetes-map-type"), inner_list, kWhy);
    }
    if (!list_type.empty() && list_type != "atomic" && list_type != "set" && list_type != "map")
      problems_.not_supported(at(path, "x-kubernetes-list-type"), list_type, {"atomic", "set", "map"});
  }

  void list_map(const json::Value& s, const std::string& path) {
    const std::vector<std::string> keys = texts(s["x-kubernetes-list-map-keys"]);
    const std::string_view list_type = s.text("x-kubernetes-list-type");
    const std::string keys_path = at(path, "x-kubernetes-list-map-keys");
    if (!keys.empty() && list_type != "map") {
      constexpr const char* kWhy = "must be map if x-kubernetes-list-map-keys is non-empty";
      const std::string where = at(path, "x-kubernetes-list-type");
      list_type.empty() ? problems_.required(where, kWhy) : problems_.invalid(where, list_type, kWhy);
    }
    const json::Value& items = s["items"];
    const std::string items_path = at(path, "items");
    if (list_type == "map") {
      if (keys.empty()) problems_.required(keys_path, "must not be empty if x-kubernetes-list-type is map");
      if (items.is_null()) problems_.required(items_path, "must have a schema if x-kubernetes-list-type is map");
      if (items.is_object() && items.text("type") != "object")
        problems_.invalid(at(items_path, "type"), items.text("type"),
                          "must be object if parent array's x-kubernetes-list-type is map");
      if (items.text("type") == "object") map_keys(s, keys, items, path);
    }
    if (list_type != "map" && list_type != "set") return;
    if (is_true(items["nullable"]))
      problems_.forbidden(at(items_path, "nullable"),
                          fmt::format("cannot be nullable when x-kubernetes-list-type is {}", list_type));
    if (list_type == "map") keys_have_values(keys, items, items_path);
  }

  void map_keys(const json::Value& s, const std::vector<std::string>& keys, const json::Value& items,
                const std::string& path) {
    const std::string keys_path = at(path, "x-kubernetes-list-map-keys");
    std::set<std::string> seen;
    for (const std::string& key : keys) {
      const json::Value& property = items["properties"][key];
      if (property.is_null()) {
        problems_.invalid(keys_path, s["x-kubernetes-list-map-keys"], "entries must all be names of item properties");
      } else if (property.text("type") == "array" || property.text("type") == "object") {
        problems_.invalid(at(at_key(at(at(path, "items"), "properties"), key), "type"), items.text("type"),
                          "must be a scalar type if parent array's x-kubernetes-list-type is map");
      }
      if (!seen.insert(key).second)
        problems_.invalid(keys_path, s["x-kubernetes-list-map-keys"], "must not contain duplicate entries");
    }
  }

  void keys_have_values(const std::vector<std::string>& keys, const json::Value& items, const std::string& items_path) {
    const std::vector<std::string> required = texts(items["required"]);
    for (const std::string& key : keys) {
      const json::Value& property = items["properties"][key];
      if (property.is_null()) continue;
      const std::string where = at_key(at(items_path, "properties"), key);
      if (std::ranges::find(required, key) == required.end() && property["default"].is_null())
        problems_.required(at(where, "default"),
                           "this property is in x-kubernetes-list-map-keys, so it must have a default "
                           "or be a required property");
      if (is_true(property["nullable"]))
        problems_.forbidden(at(where, "nullable"),
                            "this property is in x-kubernetes-list-map-keys, so it cannot be nullable");
    }
  }

  void rules(const json::Value& s, const Schema* schema, const std::string& path, const Place& place,
             std::size_t problems_before) {
    const json::Array* list = s["x-kubernetes-validations"].as_array();
    if (list == nullptr) return;
    const std::string all = at(path, "x-kubernetes-validations");
    for (std::size_t i = 0; i < list->size(); ++i) rule_words((*list)[i], schema, at(all, i));
    const bool compiled = schema != nullptr && schema->constraints != nullptr;
    if (!compiled || problems_.causes().size() != problems_before) return;
    const std::vector<CelRule>& made = schema->constraints->rules;
    for (std::size_t i = 0; i < made.size() && i < list->size(); ++i) {
      rule_code(made[i], (*list)[i], at(all, i), place);
      if (made[i].program == nullptr) continue;
      const double times = place.any_times ? cel::most_in_a_request(*schema) : place.times;
      costs_.add(made[i].program->least_cost() * times, at(at(all, i), "rule"), rule_problems_);
    }
  }

  void rule_words(const json::Value& rule, const Schema* schema, const std::string& path) {
    const std::string_view text = rule.text("rule");
    const std::string_view message = rule.text("message");
    if (is_blank(text)) {
      problems_.required(at(path, "rule"), "rule is not specified");
    } else if (!message.empty() && is_blank(message)) {
      problems_.invalid(at(path, "message"), message, "must be non-empty if specified");
    } else if (has_line_break(message)) {
      problems_.invalid(at(path, "message"), message, "must not contain line breaks");
    } else if (has_line_break(text) && is_blank(message)) {
      problems_.required(at(path, "message"), "message must be specified if rule contains line breaks");
    }
    if (!rule.text("messageExpression").empty() && is_blank(rule.text("messageExpression")))
      problems_.required(at(path, "messageExpression"), "messageExpression must be non-empty if specified");
    const std::string_view reason = rule.text("reason");
    const std::vector<std::string> reasons{"FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid",
                                           "FieldValueRequired"};
    if (!reason.empty() && std::ranges::find(reasons, reason) == reasons.end())
      problems_.not_supported(at(path, "reason"), reason, reasons);
    const std::string_view field = rule.text("fieldPath");
    if (field.empty()) return;
    if (is_blank(field)) problems_.invalid(at(path, "fieldPath"), field, "must be non-empty if specified");
    if (field.find_first_of("\r\n") != std::string_view::npos)
      problems_.invalid(at(path, "fieldPath"), field, "must not contain line breaks");
    if (schema != nullptr && !parse_field_path(field, *schema))
      problems_.invalid(at(path, "fieldPath"), field, "must be a valid path");
  }

  void rule_code(const CelRule& rule, const json::Value& written, const std::string& path, const Place& place) {
    const auto refuse = [&](const char* member, const std::string& why) {
      if (!why.empty())
        rule_problems_.add(at(path, member), "FieldValueInvalid",
                           fmt::format("Invalid value: {}: {}", shown(written), why));
    };
    refuse("rule", rule.error);
    refuse("messageExpression", rule.message_error);
    if (rule.program == nullptr) return;
    if (rule.program->uses_old_self()) {
      if (!place.no_old_self.empty())
        rule_problems_.invalid(
            at(path, "rule"), rule.rule,
            "oldSelf cannot be used on the uncorrelatable portion of the schema within " + place.no_old_self);
    } else if (written["optionalOldSelf"].as_bool() != nullptr) {
      rule_problems_.invalid(at(path, "optionalOldSelf"), written["optionalOldSelf"],
                             "may not be set if oldSelf is not used in rule");
    }
  }

  // A rule as the server prints it: all members, under the names they have inside.
  static std::string shown(const json::Value& rule) {
    const auto or_null = [&](const char* member) { return go_json(rule[member]); };
    const auto text = [&](const char* member) { return go_json(rule.text(member)); };
    return fmt::format(
        R"({{"Rule":{},"Message":{},"MessageExpression":{},"Reason":{},"FieldPath":{},"OptionalOldSelf":{}}})",
        text("rule"), text("message"), text("messageExpression"), or_null("reason"), text("fieldPath"),
        or_null("optionalOldSelf"));
  }

  Problems& problems_;
  Problems& rule_problems_;
  RuleCosts& costs_;
};

// With a status subresource, what the root asks must not be lost when status is looked at alone.
void check_root(const json::Value& schema, const std::string& path, Problems& problems) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 22> kAllowed{{
      {"description", "Description"},
      {"type", "Type"},
      {"format", "Format"},
      {"title", "Title"},
      {"maximum", "Maximum"},
      {"exclusiveMaximum", "ExclusiveMaximum"},
      {"minimum", "Minimum"},
      {"exclusiveMinimum", "ExclusiveMinimum"},
      {"maxLength", "MaxLength"},
      {"minLength", "MinLength"},
      {"pattern", "Pattern"},
      {"maxItems", "MaxItems"},
      {"minItems", "MinItems"},
      {"uniqueItems", "UniqueItems"},
      {"multipleOf", "MultipleOf"},
      {"required", "Required"},
      {"items", "Items"},
      {"properties", "Properties"},
      {"externalDocs", "ExternalDocs"},
      {"example", "Example"},
      {"x-kubernetes-preserve-unknown-fields", "XPreserveUnknownFields"},
      {"x-kubernetes-validations", "XValidations"},
  }};
  const json::Object* keywords = schema.as_object();
  if (keywords == nullptr) return;
  for (const auto& [keyword, value] : *keywords) {
    if (keyword == "type" && schema.text("type") != "object" && !schema.text("type").empty()) {
      problems.invalid(path + ".type", value,
                       "only \"object\" is allowed as the type at the root of the schema if the status subresource is "
                       "enabled");
      return;
    }
    const bool zero = value.is_null() || value == json::Value(false) || value == json::Value("");
    const bool known = std::ranges::any_of(kAllowed, [&](const auto& one) { return one.first == keyword; });
    if (known || zero) continue;
    std::string names;
    for (const auto& [key, name] : kAllowed) names += (names.empty() ? "" : " ") + std::string(name);
    problems.invalid(path, schema,
                     fmt::format("only [{}] fields are allowed at the root of the schema if the status subresource is "
                                 "enabled",
                                 names));
    return;
  }
}

void append(const Problems& from, Problems& to) {
  for (const Cause& cause : from.causes()) to.add(cause.field, cause.reason, cause.message);
}

}  // namespace

void check_schema(const json::Value& schema, bool has_status, const std::string& path, BuiltinSchemas& builtins,
                  Problems& problems) {
  if (has_status) check_root(schema, path, problems);
  if (is_true(schema["nullable"])) problems.forbidden(path + ".nullable", "nullable cannot be true at the root");

  const CrdSchema made(schema, builtins);
  const auto unsupported = unsupported_keyword(schema);
  Problems structure;
  if (!unsupported) {
    check_structural(schema, path, structure);
    if (structure.empty()) Defaults(structure).walk(schema, made.root(), path);
  }
  const bool with_rules = !unsupported && structure.empty();
  append(structure, problems);

  Problems keyword_problems;
  Problems rule_problems;
  RuleCosts costs;
  Keywords(keyword_problems, rule_problems, costs)
      .walk(schema, with_rules ? &made.root() : nullptr, path, {.root = true});
  costs.conclude(path, rule_problems);
  append(keyword_problems, problems);
  append(rule_problems, problems);
  if (unsupported && problems.empty()) problems.invalid(path, "", *unsupported);
}

}  // namespace kopper::plane::detail
