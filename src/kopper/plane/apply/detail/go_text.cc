#include "kopper/plane/apply/detail/go_text.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace kopper::plane::detail {
namespace {

// Maps are printed by key.
std::vector<const json::Object::Member*> sorted(const json::Object& object) {
  std::vector<const json::Object::Member*> out;
  for (const auto& member : object) out.push_back(&member);
  std::ranges::sort(out, {}, [](const auto* member) -> const std::string& { return member->first; });
  return out;
}

std::string literal(const json::Value& value) {
  if (value.is_null()) return "interface {}(nil)";
  std::string out;
  if (const json::Array* list = value.as_array()) {
    for (const json::Value& item : *list) out += (out.empty() ? "" : ", ") + literal(item);
    return fmt::format("[]interface {{}}{{{}}}", out);
  }
  if (const json::Object* object = value.as_object()) {
    for (const auto* member : sorted(*object))
      out += fmt::format("{}{}:{}", out.empty() ? "" : ", ", json::dump(member->first), literal(member->second));
    return fmt::format("map[string]interface {{}}{{{}}}", out);
  }
  return json::dump(value);
}

}  // namespace

std::string go_text(const json::Value& value) {
  if (value.is_null()) return "<nil>";
  if (const std::string* text = value.as_string()) return *text;
  std::string out;
  if (const json::Array* list = value.as_array()) {
    for (const json::Value& item : *list) out += (out.empty() ? "" : " ") + go_text(item);
    return fmt::format("[{}]", out);
  }
  if (const json::Object* object = value.as_object()) {
    for (const auto* member : sorted(*object))
      out += fmt::format("{}{}:{}", out.empty() ? "" : " ", member->first, go_text(member->second));
    return fmt::format("map[{}]", out);
  }
  return json::dump(value);
}

std::string go_type(const json::Value& value) {
  if (value.is_null()) return "<nil>";
  if (value.is_string()) return "string";
  if (value.as_bool() != nullptr) return "bool";
  if (value.is_array()) return "[]interface {}";
  if (value.is_object()) return "map[string]interface {}";
  return value.as_double() != nullptr ? "float64" : "int64";
}

std::string go_syntax(const json::Value& value) {
  return fmt::format("&value.valueUnstructured{{Value:{}}}", literal(value));
}

}  // namespace kopper::plane::detail
