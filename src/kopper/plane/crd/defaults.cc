#include "kopper/plane/crd/defaults.h"

#include "kopper/plane/crd/constraints.h"

namespace kopper::plane {
namespace {

const json::Value* default_of(const Schema& schema) {
  const Constraints* asked = schema.constraints;
  return asked != nullptr && asked->default_value ? &*asked->default_value : nullptr;
}

const json::Value* default_of(const Schema& schema, std::string_view name) {
  const Member* member = schema.members != nullptr ? schema.members->find(name) : nullptr;
  if (member != nullptr) return member->default_value ? &*member->default_value : nullptr;
  return schema.values != nullptr ? default_of(*schema.values) : nullptr;
}

void members(json::Object& object, const Schema& schema) {
  std::vector<std::string> gone;
  for (auto& [name, value] : object) {
    const Schema* inner = schema.child(name);
    if (inner == nullptr || inner->builtin != nullptr || !value.is_null() || inner->nullable) continue;
    if (const json::Value* given = default_of(schema, name)) {
      value = *given;
    } else {
      gone.push_back(name);
    }
  }
  for (const std::string& name : gone) object.erase(name);
  if (schema.members != nullptr)
    for (const Member& member : *schema.members)
      if (member.default_value && member.schema->builtin == nullptr && !object.contains(member.name))
        object[member.name] = *member.default_value;
  for (auto& [name, value] : object)
    if (const Schema* inner = schema.child(name)) set_defaults(value, *inner);
}

}  // namespace

void set_defaults(json::Value& object, const Schema& schema) {
  if (json::Object* named = object.as_object()) {
    members(*named, schema);
  } else if (json::Array* list = object.as_array(); list != nullptr && schema.items != nullptr) {
    for (json::Value& item : *list) {
      const json::Value* given = default_of(*schema.items);
      if (item.is_null() && !schema.items->nullable && given != nullptr) item = *given;
      set_defaults(item, *schema.items);
    }
  }
}

}  // namespace kopper::plane
