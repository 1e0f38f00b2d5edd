#pragma once

#include <string_view>
#include <unordered_map>

#include "kopper/json/value.h"

namespace kopper::json::detail {

// Looks up many keys of one object that does not change meanwhile. Small objects are searched as they are; large ones
// (a hostile ConfigMap, say) get a hash table, so that work over two objects stays linear.
class KeyIndex {
 public:
  explicit KeyIndex(const Object& object) : object_(object) {
    if (object.size() <= kSmall) return;
    index_.reserve(object.size());
    for (const auto& [key, value] : object) index_.emplace(key, &value);
  }

  const Value* find(std::string_view key) const {
    if (index_.empty()) return object_.find(key);
    const auto found = index_.find(key);
    return found == index_.end() ? nullptr : found->second;
  }
  bool contains(std::string_view key) const { return find(key) != nullptr; }

 private:
  static constexpr std::size_t kSmall = 32;

  const Object& object_;
  std::unordered_map<std::string_view, const Value*> index_;
};

}  // namespace kopper::json::detail
