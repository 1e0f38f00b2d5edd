#include "kopper/json/strategic.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "kopper/json/detail/path.h"

namespace kopper::json {
namespace {

constexpr std::string_view kPatch = "$patch";
constexpr std::string_view kRetainKeys = "$retainKeys";
constexpr std::string_view kDeletePrefix = "$deleteFromPrimitiveList/";
constexpr std::string_view kOrderPrefix = "$setElementOrder/";

bool is_directive(std::string_view key) {
  return key == kPatch || key == kRetainKeys || key.starts_with(kDeletePrefix) || key.starts_with(kOrderPrefix);
}

// Elements and keys are compared by their text, so that lists are matched by hashing. 1 and 1.0 have the same text.
using Identity = std::string;

Value cleaned(const Value& value);

// A part of the patch that meets nothing in the target: without directives and nulls. Nothing if it is one directive.
std::optional<Value> taken(const Value& value) {
  if (const Object* object = value.as_object(); object != nullptr && object->contains(kPatch)) return std::nullopt;
  return cleaned(value);
}

Object cleaned(const Object& object) {
  std::vector<Object::Member> members;
  members.reserve(object.size());
  for (const auto& [key, value] : object) {
    if (value.is_null() || is_directive(key)) continue;
    if (auto kept = taken(value)) members.emplace_back(key, std::move(*kept));
  }
  return Object(std::move(members));
}

Value cleaned(const Value& value) {
  if (const Object* object = value.as_object()) return cleaned(*object);
  const Array* array = value.as_array();
  if (array == nullptr) return value;
  Array elements;
  elements.reserve(array->size());
  for (const Value& element : *array) {
    if (auto kept = taken(element)) elements.push_back(std::move(*kept));
  }
  return elements;
}

// Where an identity first comes in a list.
class Positions {
 public:
  Positions() = default;
  explicit Positions(const std::vector<Identity>& list) {
    for (std::size_t i = 0; i < list.size(); ++i) first_.emplace(list[i], i);
  }
  std::size_t of(const Identity& id) const {
    const auto found = first_.find(id);
    return found == first_.end() ? std::string_view::npos : found->second;
  }
  bool contains(const Identity& id) const { return first_.contains(id); }

 private:
  std::unordered_map<Identity, std::size_t> first_;
};

struct Element {
  Value value;
  Identity id;
};

// Items named by the patch come in its order, the others in the order they had; the two are interleaved by the order
// they had together.
Array ordered(std::vector<Element> merged, const Positions& wanted, const Positions& had) {
  const auto by = [](const Positions& order) {
    return [&order](const Element& a, const Element& b) { return order.of(a.id) < order.of(b.id); };
  };
  const auto middle =
      std::stable_partition(merged.begin(), merged.end(), [&](const Element& e) { return !wanted.contains(e.id); });
  std::stable_sort(merged.begin(), middle, by(had));
  std::stable_sort(middle, merged.end(), by(wanted));
  Array out;
  out.reserve(merged.size());
  auto other = merged.begin();
  auto named = middle;
  while (other != middle || named != merged.end()) {
    const bool take_other = named == merged.end() || (other != middle && had.contains(other->id) &&
                                                      had.contains(named->id) && had.of(other->id) < had.of(named->id));
    out.push_back(std::move((take_other ? other++ : named++)->value));
  }
  return out;
}

class Merger {
 public:
  bool merge_objects(Object& target, const Object& patch, MergeSchema schema) {
    if (const Value* directive = patch.find(kPatch)) return directed(target, patch, *directive);
    if (const Value* keys = patch.find(kRetainKeys); keys != nullptr && !retain(target, patch, *keys)) return false;
    // A list with a given order is done together with that order; what is deleted from lists goes first.
    std::unordered_set<std::string_view> done;
    for (const auto& [key, value] : patch) {
      if (!key.starts_with(kOrderPrefix)) continue;
      const std::string_view name = std::string_view(key).substr(kOrderPrefix.size());
      if (!at(name, merge_ordered(target, patch, name, value, schema.field(name)))) return false;
      done.insert(name);
    }
    for (const auto& [key, value] : patch) {
      if (!key.starts_with(kDeletePrefix)) continue;
      const std::string_view name = std::string_view(key).substr(kDeletePrefix.size());
      if (!at(name, delete_primitives(target.find(name), value))) return false;
    }
    std::unordered_map<std::string_view, Value*> targets;
    for (auto& [key, value] : target) targets.emplace(key, &value);
    std::vector<Object::Member> fresh;
    std::unordered_set<std::string_view> removed;
    for (const auto& [key, value] : patch) {
      if (is_directive(key) || done.contains(key)) continue;
      const auto found = targets.find(key);
      Value* old = found == targets.end() ? nullptr : found->second;
      if (value.is_null()) {
        removed.insert(key);
      } else if (old == nullptr) {
        if (auto kept = taken(value)) fresh.emplace_back(key, std::move(*kept));
      } else if (!at(key, merge_field(*old, value, schema.field(key)))) {
        return false;
      } else if (gone_) {
        gone_ = false;
        removed.insert(key);
      }
    }
    rebuild(target, removed, std::move(fresh));
    return true;
  }

  DecodeError& error() { return error_; }

 private:
  bool fail(std::string what) {
    error_.what = std::move(what);
    return false;
  }

  // Puts `key` in front of the path of a failure.
  bool at(std::string_view key, bool ok) {
    if (!ok) detail::prepend_key(error_.path, key);
    return ok;
  }

  static void rebuild(Object& target, const std::unordered_set<std::string_view>& removed,
                      std::vector<Object::Member> fresh) {
    std::vector<Object::Member> members;
    members.reserve(target.size() + fresh.size());
    for (auto& member : target) {
      if (!removed.contains(member.first)) members.push_back(std::move(member));
    }
    std::move(fresh.begin(), fresh.end(), std::back_inserter(members));
    target = Object(std::move(members));
  }

  bool directed(Object& target, const Object& patch, const Value& directive) {
    if (directive == Value("replace")) {
      target = cleaned(patch);
    } else if (directive == Value("delete")) {
      target = Object();
    } else {
      return fail(fmt::format("$patch must be \"replace\" or \"delete\", not {}", dump(directive)));
    }
    return true;
  }

  bool retain(Object& target, const Object& patch, const Value& keys) {
    const Array* list = keys.as_array();
    if (list == nullptr) return at(kRetainKeys, fail("must be a list of names"));
    std::unordered_set<std::string_view> kept;
    for (const Value& key : *list) {
      if (const std::string* name = key.as_string()) kept.insert(*name);
    }
    for (const auto& [key, value] : patch) {
      if (!value.is_null() && !is_directive(key) && !kept.contains(key)) {
        return at(kRetainKeys, fail(fmt::format("does not name \"{}\", which the patch sets", key)));
      }
    }
    std::unordered_set<std::string_view> removed;
    for (const auto& member : target) {
      if (!kept.contains(member.first)) removed.insert(member.first);
    }
    rebuild(target, removed, {});
    return true;
  }

  bool merge_field(Value& old, const Value& patch, const MergeField& field) {
    Object* object = old.as_object();
    Array* array = old.as_array();
    if (object != nullptr && patch.is_object()) {
      if (field.strategy != MergeField::Strategy::Replace)
        return merge_objects(*object, *patch.as_object(), field.schema);
      *object = cleaned(*patch.as_object());
      return true;
    }
    if (array != nullptr && patch.is_array() && field.strategy == MergeField::Strategy::Merge) {
      return merge_lists(*array, *patch.as_array(), field, nullptr);
    }
    if (auto kept = taken(patch)) {
      old = std::move(*kept);
    } else {
      gone_ = true;
    }
    return true;
  }

  // `name` has a $setElementOrder, and perhaps a list of changes beside it.
  bool merge_ordered(Object& target, const Object& patch, std::string_view name, const Value& order,
                     const MergeField& field) {
    Value* old = target.find(name);
    const Value* changes = patch.find(name);
    const Array* order_list = order.as_array();
    if (order_list == nullptr) return fail("$setElementOrder must be a list");
    if (old != nullptr && !old->is_array()) return fail(fmt::format("cannot order {}", old->type_name()));
    if (changes != nullptr && !changes->is_array()) return fail(fmt::format("cannot order {}", changes->type_name()));
    if (old == nullptr && changes == nullptr) return true;

    static const Array kNothing;
    const Array& patch_list = changes == nullptr ? kNothing : *changes->as_array();
    auto ids = identities(*order_list, field.merge_key);
    if (!ids) return false;
    if (!check_order(patch_list, *ids, field.merge_key)) return false;
    if (changes != nullptr && field.strategy != MergeField::Strategy::Merge) {
      target[name] = cleaned(*changes);
      return true;
    }
    const Positions wanted(*ids);
    if (old == nullptr) old = &(target[name] = Array());
    return merge_lists(*old->as_array(), patch_list, field, &wanted);
  }

  // What the patch sets must come in the order that it asks for, all of it.
  bool check_order(const Array& patch_list, const std::vector<Identity>& order, std::string_view merge_key) {
    if (order.empty()) return true;
    std::size_t next = 0;
    for (const Value& element : patch_list) {
      if (element.is_object() && element.as_object()->contains(kPatch)) continue;
      auto id = identity(element, merge_key);
      if (!id) return false;
      while (next < order.size() && order[next] != *id) ++next;
      if (next == order.size()) return fail("the patch's list and its $setElementOrder do not have the same order");
      ++next;
    }
    return true;
  }

  // `wanted`: the order asked for; null for the patch's own.
  bool merge_lists(Array& target, const Array& patch, const MergeField& field, const Positions* wanted) {
    if (target.empty() && patch.empty()) return true;
    auto had = identities(target, field.merge_key);
    std::unordered_set<Identity> deleted;
    bool replace = false;
    if (!had || !directives(patch, field.merge_key, deleted, replace)) return false;

    std::vector<Element> merged;
    std::unordered_map<Identity, std::size_t> position;
    merged.reserve(target.size() + patch.size());
    for (std::size_t i = 0; i < target.size() && !replace; ++i) {
      const Identity& id = (*had)[i];
      if (deleted.contains(id)) continue;
      const bool is_new = position.emplace(id, merged.size()).second;
      if (is_new || !field.merge_key.empty()) merged.push_back({std::move(target[i]), id});  // a scalar comes once
    }
    std::vector<Identity> named;
    for (std::size_t i = 0; i < patch.size(); ++i) {
      const Value& element = patch[i];
      if (element.is_object() && element.as_object()->contains(kPatch)) continue;
      auto id = identity(element, field.merge_key);
      if (!id) return false;
      named.push_back(*id);
      const auto [found, is_new] = position.emplace(*id, merged.size());
      if (is_new || replace) {
        merged.push_back({cleaned(element), std::move(*id)});
      } else if (element.is_object() &&
                 !merge_objects(*merged[found->second].value.as_object(), *element.as_object(), field.schema)) {
        detail::prepend_index(error_.path, i);
        return false;
      }
    }
    const Positions by_patch(wanted == nullptr ? named : std::vector<Identity>());
    target = ordered(std::move(merged), wanted == nullptr ? by_patch : *wanted, Positions(replace ? named : *had));
    return true;
  }

  // Elements of the patch that only say what to do: {"$patch": "delete", "name": "a"}, {"$patch": "replace"}.
  bool directives(const Array& patch, std::string_view merge_key, std::unordered_set<Identity>& deleted,
                  bool& replace) {
    for (const Value& element : patch) {
      const Value& directive = element[kPatch];
      if (!element.is_object() || !element.as_object()->contains(kPatch)) continue;
      if (directive == Value("replace")) {
        replace = true;
      } else if (directive == Value("delete")) {
        auto id = identity(element, merge_key);
        if (!id) return false;
        deleted.insert(std::move(*id));
      } else {
        return fail(fmt::format("$patch must be \"replace\" or \"delete\", not {}", dump(directive)));
      }
    }
    return true;
  }

  bool delete_primitives(Value* target, const Value& values) {
    const Array* list = values.as_array();
    if (list == nullptr) return fail("$deleteFromPrimitiveList must be a list");
    Array* from = target == nullptr ? nullptr : target->as_array();
    if (from == nullptr) return true;
    std::unordered_set<Identity> gone;
    for (const Value& value : *list) gone.insert(dump(value));
    std::erase_if(*from, [&](const Value& value) { return gone.contains(dump(value)); });
    return true;
  }

  std::optional<std::vector<Identity>> identities(const Array& list, std::string_view merge_key) {
    std::vector<Identity> out;
    out.reserve(list.size());
    for (std::size_t i = 0; i < list.size(); ++i) {
      auto id = identity(list[i], merge_key);
      if (!id) {
        detail::prepend_index(error_.path, i);
        return std::nullopt;
      }
      out.push_back(std::move(*id));
    }
    return out;
  }

  std::optional<Identity> identity(const Value& element, std::string_view merge_key) {
    if (element.is_array()) {
      fail("a list of lists cannot be merged");
    } else if (element.is_object() != !merge_key.empty()) {
      fail(merge_key.empty() ? "a list of objects without a merge key cannot be merged"
                             : fmt::format("expected an object with \"{}\", found {}", merge_key, element.type_name()));
    } else if (merge_key.empty()) {
      return dump(element);
    } else if (const Value* key = element.as_object()->find(merge_key)) {
      return dump(*key);
    } else {
      fail(fmt::format("the merge key \"{}\" is missing", merge_key));
    }
    return std::nullopt;
  }

  DecodeError error_;
  bool gone_ = false;  // merge_field() found that the field is to go
};

}  // namespace

MergeField MergeSchema::field(std::string_view name) const {
  return lookup == nullptr ? MergeField{} : lookup(type, name);
}

std::expected<Value, DecodeError> apply_strategic_patch(Value target, const Value& patch, MergeSchema schema) {
  if (!patch.is_object()) {
    return std::unexpected(
        DecodeError{fmt::format("a strategic merge patch is an object, not {}", patch.type_name()), "", 0});
  }
  if (target.is_null()) target = Object();
  if (!target.is_object()) {
    return std::unexpected(DecodeError{fmt::format("cannot patch {}", target.type_name()), "", 0});
  }
  Merger merger;
  if (!merger.merge_objects(*target.as_object(), *patch.as_object(), schema))
    return std::unexpected(std::move(merger.error()));
  return target;
}

}  // namespace kopper::json
