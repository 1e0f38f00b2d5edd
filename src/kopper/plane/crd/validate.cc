#include "kopper/plane/crd/validate.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include <fmt/format.h>

#include "kopper/api/validation.h"
#include "kopper/plane/crd/detail/open_api.h"
#include "kopper/plane/crd/detail/rules.h"
#include "kopper/plane/crd/go_text.h"

namespace kopper::plane {
namespace {

std::string joined(const api::Complaints& complaints) { return fmt::format("{}", fmt::join(complaints, ",")); }

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return out;
}

// An embedded resource says what it is.
void check_type(const json::Value& resource, const std::string& path, Problems& problems) {
  const json::Object& object = *resource.as_object();
  for (const char* name : {"apiVersion", "kind"}) {
    const json::Value* value = object.find(name);
    const std::string where = at(path, name);
    if (value == nullptr) {
      problems.required(where);
    } else if (!value->is_string()) {
      problems.invalid(where, *value, "must be a string");
    } else if (value->as_string()->empty()) {
      problems.invalid(where, *value, "must not be empty");
    } else if (std::string_view(name) == "apiVersion") {
      if (std::ranges::count(*value->as_string(), '/') > 1)
        problems.invalid(where, *value, "unexpected GroupVersion string: " + *value->as_string());
    } else if (const auto complaints = api::check_dns1035_label(lower(*value->as_string())); !complaints.empty()) {
      problems.invalid(where, *value, "may have mixed case, but should otherwise match: " + joined(complaints));
    }
  }
}

void check_embedded(const json::Value& value, const Schema& schema, const std::string& path, bool root,
                    Problems& problems) {
  if (schema.builtin != nullptr) return;
  if (const json::Object* object = value.as_object()) {
    if (schema.embedded && !root) check_type(value, path, problems);
    for (const auto& [name, member] : *object) {
      if (!member.is_object() && !member.is_array()) continue;
      const Schema* inner = schema.child(name);
      if (inner == nullptr) continue;
      const bool named = schema.members != nullptr && schema.members->find(name) != nullptr;
      check_embedded(member, *inner, named ? at(path, name) : at_key(path, name), false, problems);
    }
  } else if (const json::Array* list = value.as_array(); list != nullptr && schema.items != nullptr) {
    for (std::size_t i = 0; i < list->size(); ++i)
      check_embedded((*list)[i], *schema.items, at(path, i), false, problems);
  }
}

// Tells of each value that comes more than once, where it comes the second time.
void check_unique(const std::vector<json::Value>& values, const std::string& path, Problems& problems) {
  std::unordered_map<std::string, int> seen;
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::string text = go_json(values[i]);
    if (++seen[text] == 2) problems.add(at(path, i), "FieldValueDuplicate", "Duplicate value: " + text);
  }
}

void check_list(const json::Array& list, const Schema& schema, const std::string& path, Problems& problems) {
  if (schema.list == Schema::List::Set) return check_unique(list, path, problems);
  if (schema.list != Schema::List::Map) return;
  std::vector<json::Value> keys;
  keys.reserve(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!list[i].is_null() && !list[i].is_object())
      return problems.invalid(at(path, i), list[i], "must be an object for an array of list-type map");
    json::Object key;
    for (const std::string& name : schema.keys)
      if (const json::Object* item = list[i].as_object(); item != nullptr && item->contains(name))
        key[name] = *item->find(name);
    keys.emplace_back(std::move(key));
  }
  check_unique(keys, path, problems);
}

void check_lists(const json::Value& value, const Schema& schema, const std::string& path, Problems& problems) {
  if (schema.builtin != nullptr) return;
  if (const json::Object* object = value.as_object()) {
    for (const auto& [name, member] : *object) {
      if (!member.is_object() && !member.is_array()) continue;
      const Schema* inner = schema.child(name);
      if (inner == nullptr) continue;
      const bool named = schema.members != nullptr && schema.members->find(name) != nullptr;
      check_lists(member, *inner, named ? at(path, name) : at_key(path, name), problems);
    }
  } else if (const json::Array* list = value.as_array()) {
    check_list(*list, schema, path, problems);
    if (schema.items != nullptr)
      for (std::size_t i = 0; i < list->size(); ++i) check_lists((*list)[i], *schema.items, at(path, i), problems);
  }
}

// "spec.replicas" of ".spec.replicas", as the server walks it: names with a dot between.
const json::Value* at_dots(const json::Value& object, std::string_view path, std::string& trouble,
                           std::string_view wanted) {
  if (path.starts_with('.')) path.remove_prefix(1);
  const std::string whole = fmt::format(".{}", path);
  const json::Value* here = &object;
  std::string walked;
  while (true) {
    const std::size_t dot = path.find('.');
    const std::string_view name = path.substr(0, dot);
    const json::Object* members = here->as_object();
    if (members == nullptr) {
      if (here->is_null()) return nullptr;
      trouble = fmt::format("{} accessor error: {} is of the type {}, expected map[string]interface{{}}", whole,
                            json::dump(*here),
                            here->is_string()   ? "string"
                            : here->is_array()  ? "[]interface {}"
                            : here->is_number() ? "int64"
                                                : "bool");
      return nullptr;
    }
    walked += fmt::format(".{}", name);
    here = members->find(name);
    if (here == nullptr) return nullptr;
    if (dot == std::string_view::npos) break;
    path.remove_prefix(dot + 1);
  }
  const bool right = wanted == "int64" ? here->as_int() != nullptr : here->is_string();
  if (!right)
    trouble = fmt::format("{} accessor error: {} is of the type {}, expected {}", walked,
                          here->is_string() ? *here->as_string() : json::dump(*here),
                          here->is_string()   ? "string"
                          : here->as_int()    ? "int64"
                          : here->is_number() ? "float64"
                          : here->is_object() ? "map[string]interface {}"
                          : here->is_array()  ? "[]interface {}"
                          : here->is_null()   ? "<nil>"
                                              : "bool",
                          wanted);
  return here;
}

void check_replicas(const json::Value& object, std::string_view path, Problems& problems) {
  std::string trouble;
  const json::Value* found = at_dots(object, path, trouble, "int64");
  const std::string field(path);
  if (!trouble.empty()) return problems.invalid(field, 0, trouble);
  if (found == nullptr) return;
  const std::int64_t count = *found->as_int();
  if (count < 0) problems.invalid(field, count, "should be a non-negative integer");
  if (count > std::numeric_limits<std::int32_t>::max())
    problems.invalid(field, count, "should be less than or equal to 2147483647");
}

void check_scale(const json::Value& object, const json::Value& scale, bool status_only, Problems& problems) {
  if (!status_only) check_replicas(object, scale.text("specReplicasPath"), problems);
  check_replicas(object, scale.text("statusReplicasPath"), problems);
  const std::string_view selector = scale.text("labelSelectorPath");
  if (selector.empty()) return;
  std::string trouble;
  at_dots(object, selector, trouble, "string");
  if (!trouble.empty()) problems.invalid(std::string(selector), "", trouble);
}

// Rules are not asked about an object whose types or sizes are wrong.
bool blocks_rules(const Problems& problems) {
  return std::ranges::any_of(problems.causes(), [](const Cause& cause) {
    return cause.reason == "FieldValueNotSupported" || cause.reason == "FieldValueRequired" ||
           cause.reason == "FieldValueTooLong" || cause.reason == "FieldValueTooMany" ||
           cause.reason == "FieldValueTypeInvalid";
  });
}

}  // namespace

Problems check_custom_resource(const json::Value& object, const CrdSchema& schema, CustomCheck how) {
  Problems problems;
  const Schema& root = schema.root();
  if (how.status_only) {
    const json::Object* members = object.as_object();
    const json::Value* status = members != nullptr ? members->find("status") : nullptr;
    const Schema* of_status = root.child("status");
    if (status != nullptr && of_status != nullptr) {
      const json::Value* old = how.old != nullptr ? &(*how.old)["status"] : nullptr;
      detail::check_open_api(*status, *of_status, old, "status", problems);
    }
  } else {
    detail::check_open_api(object, root, how.old, "", problems);
  }
  if (how.scale != nullptr) check_scale(object, *how.scale, how.status_only, problems);
  if (!how.status_only) check_embedded(object, root, "", true, problems);

  Problems lists_before;
  if (how.old != nullptr) check_lists(*how.old, root, "", lists_before);
  if (lists_before.empty()) check_lists(object, root, "", problems);

  if (schema.has_rules()) {
    if (blocks_rules(problems)) {
      problems.invalid("<nil>", nullptr,
                       "some validation rules were not checked because the object was invalid; correct the existing "
                       "errors to complete validation");
    } else {
      detail::check_rules(object, root, how.old, "", problems);
    }
  }
  return problems;
}

}  // namespace kopper::plane
