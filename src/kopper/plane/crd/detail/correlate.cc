#include "kopper/plane/crd/detail/correlate.h"

#include <algorithm>

namespace kopper::plane::detail {

const json::Value* old_member(const json::Value* old, std::string_view name) {
  const json::Object* object = old != nullptr ? old->as_object() : nullptr;
  return object != nullptr ? object->find(name) : nullptr;
}

const json::Value* old_item(const json::Value* old, const Schema& list, const json::Value& item) {
  const json::Array* items = old != nullptr ? old->as_array() : nullptr;
  if (items == nullptr || list.list != Schema::List::Map || list.keys.empty()) return nullptr;
  const auto same = [&](const json::Value& other) {
    return std::ranges::all_of(list.keys, [&](const std::string& key) { return other[key] == item[key]; });
  };
  const auto at = std::ranges::find_if(*items, same);
  return at != items->end() ? &*at : nullptr;
}

}  // namespace kopper::plane::detail
