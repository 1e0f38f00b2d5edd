#include "kopper/plane/apply/merge.h"

#include <algorithm>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "kopper/plane/apply/detail/go_text.h"
#include "kopper/plane/apply/detail/typed.h"

namespace kopper::plane {
namespace {

using detail::Form;
using detail::Items;

bool blank(const json::Object* object) { return object == nullptr || object->empty(); }
bool blank(const json::Array* list) { return list == nullptr || list->empty(); }

// ---- merge ----------------------------------------------------------------------------------------------------------

class Merger {
 public:
  // Leaves in `live` what the two make together. A value that is not there yet is null with `absent` set.
  void merge(json::Value& live, bool absent, const json::Value& config, const Schema* schema) {
    const Form form = detail::form_of(schema, config);
    const bool atomic = detail::is_atomic(schema, form);
    if (!atomic && form == Form::Object) {
      json::Object* into = absent ? nullptr : live.as_object();
      const json::Object* from = config.as_object();
      if (!blank(into) || !blank(from)) return merge_objects(live, into, from, schema);
    } else if (!atomic && form == Form::List) {
      const json::Array* into = absent ? nullptr : live.as_array();
      const json::Array* from = config.as_array();
      if (!blank(into) || !blank(from)) return merge_lists(live, into, from, *schema);
    }
    live = config;
  }

  std::string error;  // the first

 private:
  void merge_objects(json::Value& live, json::Object* into, const json::Object* from, const Schema* schema) {
    if (from == nullptr) return;  // null over an object takes nothing away
    if (into == nullptr) {
      live = json::Object();
      into = live.as_object();
    }
    std::vector<json::Object::Member> members;
    members.reserve(into->size() + from->size());  // once, so that names stay where they are
    for (auto& member : *into) members.push_back(std::move(member));
    std::unordered_map<std::string_view, std::size_t> by_name;
    for (std::size_t i = 0; i < members.size(); ++i) by_name.emplace(members[i].first, i);
    for (const auto& [name, value] : *from) {
      const auto there = by_name.find(name);
      const bool absent = there == by_name.end();
      json::Value& target = absent ? members.emplace_back(name, json::Value()).second : members[there->second].second;
      merge(target, absent, value, detail::child_of(schema, detail::named_member(schema, name)));
    }
    *into = json::Object(std::move(members));
  }

  void merge_lists(json::Value& live, const json::Array* into, const json::Array* from, const Schema& schema) {
    static const json::Array kNone;
    const Items old(schema, into == nullptr ? kNone : *into);
    const Items now(schema, from == nullptr ? kNone : *from);
    if (!now.error().empty() || !old.error().empty()) {
      if (error.empty()) error = now.error().empty() ? old.error() : now.error();
      return;
    }
    json::Array out = in_order(old, now, schema);
    live = std::move(out);
  }

  // Items of both lists follow the order of `now`; items of `old` alone stay behind what they stood behind.
  json::Array in_order(const Items& old, const Items& now, const Schema& schema) {
    json::Array out;
    out.reserve(std::max(old.size(), now.size()));
    std::vector<bool> merged(now.size());
    std::vector<std::size_t> shared;  // positions in `now` of what is in both, in order
    for (std::size_t i = 0; i < now.size(); ++i) {
      if (old.contains(now.element(i))) shared.push_back(i);
    }
    std::size_t next_shared = 0;
    const auto take = [&](std::size_t i) {
      const auto before = old.find(now.element(i));
      const bool absent = before.size() != 1;  // of an item that is there twice nothing is kept
      json::Value item = absent ? json::Value() : old.item(before.front());
      merge(item, absent, now.item(i), schema.items);
      out.push_back(std::move(item));
      merged[i] = true;
      if (next_shared < shared.size() && shared[next_shared] == i) ++next_shared;
    };
    std::size_t o = 0;
    std::size_t n = 0;
    while (o < old.size() || n < now.size()) {
      const auto there = o < old.size() ? now.find(old.element(o)) : std::span<const std::uint32_t>();
      if (o < old.size() && n < now.size()) {
        if (!there.empty() && there.front() == n) {
          take(n++);
          ++o;
          continue;
        }
        if (!there.empty() && next_shared < shared.size() && shared[next_shared] != there.front()) {
          ++o;  // in both, and not the one that comes next
          continue;
        }
      }
      if (o < old.size()) {
        if (there.empty()) {
          out.push_back(old.item(o++));
          continue;
        }
        if (merged[there.front()]) ++o;
      }
      if (n < now.size()) take(n++);
    }
    return out;
  }
};

// ---- without --------------------------------------------------------------------------------------------------------

// False: nothing is left.
bool remove(json::Value& value, const FieldSet& fields, const Schema* schema);

bool remove_items(json::Array& list, const FieldSet& fields, const Schema& schema) {
  json::Array kept;
  kept.reserve(list.size());
  for (json::Value& item : list) {
    const auto element = detail::element_of(schema, item);
    const FieldSet::Node* node = element ? fields.find(*element) : nullptr;
    if (node != nullptr && node->member) continue;
    if (node != nullptr && !remove(item, node->below, schema.items)) item = nullptr;
    kept.push_back(std::move(item));
  }
  list = std::move(kept);
  return !list.empty();
}

bool remove_members(json::Object& object, const FieldSet& fields, const Schema* schema) {
  std::vector<json::Object::Member> kept;
  kept.reserve(object.size());
  for (auto& [name, value] : object) {
    const FieldSet::Node* node = fields.find(std::string_view(name));
    if (node != nullptr && node->member) continue;
    const Schema* child = detail::child_of(schema, detail::named_member(schema, name));
    if (node != nullptr && !remove(value, node->below, child)) value = nullptr;
    kept.emplace_back(std::move(name), std::move(value));
  }
  object = json::Object(std::move(kept));
  return !object.empty();
}

bool remove(json::Value& value, const FieldSet& fields, const Schema* schema) {
  const Form form = detail::form_of(schema, value);
  if (form == Form::Scalar) return true;
  if (detail::is_atomic(schema, form)) return false;
  if (form == Form::Object) {
    json::Object* object = value.as_object();
    return !blank(object) && remove_members(*object, fields, schema);
  }
  json::Array* list = value.as_array();
  return !blank(list) && remove_items(*list, fields, *schema);
}

// ---- check_config ---------------------------------------------------------------------------------------------------

class Checker {
 public:
  void check(const json::Value& value, const Schema* schema, bool keeps_unknown) {
    if (schema == nullptr || value.is_null()) return;
    switch (schema->type) {
      case Schema::Type::Object: return check_object(value, *schema, keeps_unknown || schema->preserve_unknown);
      case Schema::Type::List: return check_list(value, *schema, keeps_unknown || schema->preserve_unknown);
      case Schema::Type::Integer:
      case Schema::Type::Number:
        if (!value.is_number()) add(fmt::format("expected numeric (int or float), got {}", detail::go_type(value)));
        return;
      case Schema::Type::String:
        if (!schema->format.empty() && schema->format != "byte") return check_scalar(value);
        if (!value.is_string()) add(fmt::format("expected string, got {}", detail::go_syntax(value)));
        return;
      case Schema::Type::Boolean:
        if (value.as_bool() == nullptr) add(fmt::format("expected boolean, got &{{{}}}", detail::go_text(value)));
        return;
      case Schema::Type::IntOrString: return check_scalar(value);
      case Schema::Type::Any: return;
    }
  }

  std::string str() const {
    if (errors_.size() <= 1) return errors_.empty() ? "" : errors_.front();
    std::string out = "errors:";
    for (const std::string& error : errors_) out += "\n  " + error;
    return out;
  }

 private:
  void check_scalar(const json::Value& value) {
    if (value.is_object() || value.is_array())
      add(fmt::format("expected any scalar, got &{{{}}}", detail::go_text(value)));
  }

  void check_object(const json::Value& value, const Schema& schema, bool keeps_unknown) {
    const json::Object* object = value.as_object();
    if (object == nullptr) return add(fmt::format("expected map, got &{{{}}}", detail::go_text(value)));
    const bool free_form = schema.members == nullptr && schema.values == nullptr;
    for (const auto& [name, inside] : *object) {
      path_.push_back(PathElement::field(name));
      const Member* member = detail::named_member(&schema, name);
      const Schema* child = detail::child_of(&schema, member);
      if (child == nullptr && !keeps_unknown && !free_form) {
        add("field not declared in schema");
        path_.pop_back();
        return;
      }
      check(inside, child, keeps_unknown);
      path_.pop_back();
    }
  }

  void check_list(const json::Value& value, const Schema& schema, bool keeps_unknown) {
    const json::Array* list = value.as_array();
    if (list == nullptr) return add(fmt::format("expected list, got &{{{}}}", detail::go_text(value)));
    FieldSet seen;
    for (std::size_t i = 0; i < list->size(); ++i) {
      PathElement element = PathElement::index(static_cast<std::int64_t>(i));
      if (schema.list != Schema::List::Atomic) {
        auto own = detail::element_of(schema, (*list)[i]);
        if (!own) return add(fmt::format("element {}: {}", i, own.error()));
        element = std::move(*own);
        const FieldPath path(&element, 1);
        if (seen.contains(path)) add(fmt::format("duplicate entries for key {}", element.str()));
        seen.insert(path);
      }
      path_.push_back(std::move(element));
      check((*list)[i], schema.items, keeps_unknown);
      path_.pop_back();
    }
  }

  void add(std::string what) {
    const std::string path = to_string(path_);
    errors_.push_back(path.empty() ? std::move(what) : fmt::format("{}: {}", path, what));
  }

  std::vector<PathElement> path_;
  std::vector<std::string> errors_;
};

}  // namespace

std::string check_config(const json::Value& config, const Schema& schema) {
  Checker checker;
  checker.check(config, &schema, false);
  return checker.str();
}

std::expected<json::Value, std::string> merge(json::Value live, const json::Value& config, const Schema& schema) {
  Merger merger;
  const bool absent = live.is_null();
  merger.merge(live, absent, config, &schema);
  if (!merger.error.empty()) return std::unexpected(std::move(merger.error));
  return live;
}

json::Value without(json::Value value, const FieldSet& fields, const Schema& schema) {
  if (fields.empty()) return value;
  if (!remove(value, fields, &schema)) return json::Value();
  return value;
}

}  // namespace kopper::plane
