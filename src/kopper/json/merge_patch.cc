#include "kopper/json/merge_patch.h"

#include <unordered_set>

#include "kopper/json/detail/key_index.h"

namespace kopper::json {

Value apply_merge_patch(Value target, const Value& patch) {
  const Object* changes = patch.as_object();
  if (changes == nullptr) return patch;
  Object old;
  if (Object* object = target.as_object()) old = std::move(*object);

  std::vector<Object::Member> merged;
  merged.reserve(old.size() + changes->size());
  const detail::KeyIndex change_of(*changes);
  std::unordered_set<const Value*> done;
  for (auto& [key, value] : old) {
    const Value* change = change_of.find(key);
    if (change == nullptr) {
      merged.emplace_back(std::move(key), std::move(value));
      continue;
    }
    done.insert(change);
    if (!change->is_null()) merged.emplace_back(std::move(key), apply_merge_patch(std::move(value), *change));
  }
  for (const auto& [key, change] : *changes) {
    if (!change.is_null() && !done.contains(&change)) merged.emplace_back(key, apply_merge_patch(Value(), change));
  }
  return Object(std::move(merged));
}

Value merge_diff(const Value& before, const Value& after) {
  const Object* old = before.as_object();
  const Object* now = after.as_object();
  if (old == nullptr || now == nullptr) return after;
  std::vector<Object::Member> changes;
  const detail::KeyIndex old_of(*old);
  const detail::KeyIndex now_of(*now);
  for (const auto& [key, value] : *now) {
    const Value* was = old_of.find(key);
    if (was == nullptr) {
      changes.emplace_back(key, value);
    } else if (*was != value) {
      changes.emplace_back(key, merge_diff(*was, value));
    }
  }
  for (const auto& [key, value] : *old) {
    if (!now_of.contains(key)) changes.emplace_back(key, Value());
  }
  return Object(std::move(changes));
}

}  // namespace kopper::json
