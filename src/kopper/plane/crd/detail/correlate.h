#pragma once

#include "kopper/json/value.h"
#include "kopper/plane/schema.h"

namespace kopper::plane::detail {

// What stood at the same place before an update. Items are told apart by their keys, in lists that have keys; those of
// any other list have no past.
const json::Value* old_member(const json::Value* old, std::string_view name);
const json::Value* old_item(const json::Value* old, const Schema& list, const json::Value& item);

}  // namespace kopper::plane::detail
