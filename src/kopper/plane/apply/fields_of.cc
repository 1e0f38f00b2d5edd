#include "kopper/plane/apply/fields_of.h"

#include <utility>
#include <vector>

#include "kopper/plane/apply/detail/typed.h"

namespace kopper::plane {
namespace {

using detail::Form;
using Node = FieldSet::Node;
using Nodes = std::vector<Node>;

const json::Value kEmptyObject = json::Object();

// ---- fields_of ------------------------------------------------------------------------------------------------------

// What is below a value, and whether the value itself is a field.
struct Seen {
  bool member = false;
  FieldSet below;
};

Seen see(const json::Value& value, const Schema* schema);

FieldSet see_members(const json::Object& object, const Schema* schema) {
  Nodes nodes;
  nodes.reserve(object.size());
  for (const auto& [name, value] : object) {
    const Member* member = detail::named_member(schema, name);
    Seen seen = see(value, detail::child_of(schema, member));
    const bool blank = value.is_null() || (value.is_object() && value.as_object()->empty());
    nodes.push_back({.element = PathElement::field(name),
                     .member = seen.member || blank || member == nullptr,
                     .below = std::move(seen.below)});
  }
  return FieldSet(std::move(nodes));
}

FieldSet see_items(const json::Array& list, const Schema& schema) {
  const detail::Items items(schema, list);
  Nodes nodes;
  nodes.reserve(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    Node node{.element = items.element(i), .member = true};
    // Of an item that is there twice nobody can say what belongs to whom: it is one field.
    if (items.find(node.element).size() == 1) node.below = see(items.item(i), schema.items).below;
    nodes.push_back(std::move(node));
  }
  return FieldSet(std::move(nodes));
}

Seen see(const json::Value& value, const Schema* schema) {
  const Form form = detail::form_of(schema, value);
  if (detail::is_atomic(schema, form)) return {.member = true, .below = {}};
  Seen out;
  if (const json::Object* object = value.as_object(); object != nullptr && form == Form::Object)
    out.below = see_members(*object, schema);
  if (const json::Array* list = value.as_array(); list != nullptr && form == Form::List)
    out.below = see_items(*list, *schema);
  return out;
}

// ---- changes --------------------------------------------------------------------------------------------------------

enum class Mark : std::uint8_t { None, Removed, Modified, Added };

// The nodes of one level, for each of the three sets.
struct Level {
  Nodes removed;
  Nodes modified;
  Nodes added;

  Changes done() && {
    return {.removed = FieldSet(std::move(removed)),
            .modified = FieldSet(std::move(modified)),
            .added = FieldSet(std::move(added))};
  }
  void add(PathElement element, Mark mark, Changes below) {
    put(removed, element, mark == Mark::Removed, below.removed);
    put(modified, element, mark == Mark::Modified, below.modified);
    put(added, element, mark == Mark::Added, below.added);
  }

 private:
  static void put(Nodes& nodes, const PathElement& element, bool member, FieldSet& below) {
    if (member || !below.empty()) nodes.push_back({.element = element, .member = member, .below = std::move(below)});
  }
};

struct Compared {
  Mark mark = Mark::None;
  Changes below;
};

Compared compare(const json::Value* before, const json::Value* after, const Schema* schema);

void compare_member(const std::string& name, const json::Value* before, const json::Value* after, const Schema* schema,
                    Level& level) {
  const Member* member = detail::named_member(schema, name);
  Compared child = compare(before, after, detail::child_of(schema, member));
  if (child.mark == Mark::None && child.below.empty()) return;
  level.add(PathElement::field(name), child.mark, std::move(child.below));
}

// One of the two may be null: that side has no object at all.
Changes compare_objects(const json::Object* before, const json::Object* after, const Schema* schema) {
  Level level;
  const detail::MemberIndex old(before);
  const detail::MemberIndex now(after);
  const auto or_blank = [schema](const json::Value* found, const std::string& name, const json::Object* parent) {
    if (found != nullptr || parent == nullptr) return found;
    return detail::blank_of(schema, detail::named_member(schema, name));
  };
  if (after != nullptr) {
    for (const auto& [name, value] : *after)
      compare_member(name, or_blank(old.find(name), name, before), &value, schema, level);
  }
  if (before != nullptr) {
    for (const auto& [name, value] : *before) {
      if (now.find(name) == nullptr) compare_member(name, &value, or_blank(nullptr, name, after), schema, level);
    }
  }
  return std::move(level).done();
}

void compare_item(const PathElement& element, const json::Value* before, const json::Value* after, const Schema* schema,
                  Level& level) {
  Compared child = compare(before, after, schema);
  if (child.mark == Mark::None && child.below.empty()) return;
  level.add(element, child.mark, std::move(child.below));
}

void compare_found(const PathElement& element, const detail::Items& before, const detail::Items& after,
                   const Schema& schema, Level& level) {
  const std::span<const std::uint32_t> old = before.find(element);
  const std::span<const std::uint32_t> now = after.find(element);
  const auto first_of = [](const detail::Items& items, std::span<const std::uint32_t> at) {
    return at.empty() ? nullptr : &items.item(at.front());
  };
  if (old.size() <= 1 && now.size() <= 1) {
    compare_item(element, first_of(before, old), first_of(after, now), schema.items, level);
  } else if (old.size() >= 2 && now.size() >= 2) {
    bool same = old.size() == now.size();
    for (std::size_t i = 0; same && i < old.size(); ++i) same = before.item(old[i]) == after.item(now[i]);
    if (!same) level.add(element, Mark::Modified, {});
  } else if (old.size() >= 2) {
    if (!now.empty()) compare_item(element, nullptr, first_of(after, now), schema.items, level);
    level.add(element, Mark::Removed, {});
  } else {
    if (!old.empty()) compare_item(element, first_of(before, old), nullptr, schema.items, level);
    level.add(element, Mark::Added, {});
  }
}

Changes compare_lists(const json::Array* before, const json::Array* after, const Schema& schema) {
  if (before != nullptr && after != nullptr && *before == *after) return {};
  const json::Array none;
  const detail::Items old(schema, before == nullptr ? none : *before);
  const detail::Items now(schema, after == nullptr ? none : *after);
  Level level;
  for (std::size_t i = 0; i < old.size(); ++i) {
    if (old.find(old.element(i)).front() == i) compare_found(old.element(i), old, now, schema, level);
  }
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (!old.contains(now.element(i)) && now.find(now.element(i)).front() == i)
      compare_found(now.element(i), old, now, schema, level);
  }
  return std::move(level).done();
}

// Both sides taken for the same form.
Compared compare_as(Form form, const json::Value* before, const json::Value* after, const Schema* schema) {
  Compared out;
  if (before == nullptr) out.mark = Mark::Added;
  if (after == nullptr) out.mark = Mark::Removed;
  const auto leaf = [&] {
    if (before != nullptr && after != nullptr && *before != *after) out.mark = Mark::Modified;
    return std::move(out);
  };
  if (detail::is_atomic(schema, form)) return leaf();
  if (form == Form::Object) {
    const json::Object* old = before == nullptr ? nullptr : before->as_object();
    const json::Object* now = after == nullptr ? nullptr : after->as_object();
    if ((old == nullptr || old->empty()) && (now == nullptr || now->empty())) return leaf();
    out.below = compare_objects(old, now, schema);
  } else {
    const json::Array* old = before == nullptr ? nullptr : before->as_array();
    const json::Array* now = after == nullptr ? nullptr : after->as_array();
    if ((old == nullptr || old->empty()) && (now == nullptr || now->empty())) return leaf();
    out.below = compare_lists(old, now, *schema);
  }
  return out;
}

Compared compare(const json::Value* before, const json::Value* after, const Schema* schema) {
  const json::Value& some = after == nullptr ? *before : *after;
  const Form form = detail::form_of(schema, some);
  Compared out = compare_as(form, before, after, schema);
  if (before == nullptr || after == nullptr) return out;
  // Something of no fixed type that has become something else: what was in it is gone.
  const Form old_form = detail::form_of(schema, *before);
  if (old_form == form) return out;
  Compared old = compare_as(old_form, before, after, schema);
  out.below.removed |= std::move(old.below.removed);
  out.below.modified |= std::move(old.below.modified);
  out.below.added |= std::move(old.below.added);
  if (out.mark == Mark::None) out.mark = old.mark;
  return out;
}

FieldSet named(const FieldSet& fields, const Schema* schema) {
  Nodes nodes;
  nodes.reserve(fields.nodes().size());
  const bool object = schema != nullptr && (schema->type == Schema::Type::Object || schema->type == Schema::Type::Any);
  for (const Node& node : fields.nodes()) {
    Node out{.element = node.element, .member = node.member};
    const Schema* child = nullptr;
    if (node.element.kind() == PathElement::Kind::Field && object) {
      const Member* member = detail::named_member(schema, node.element.name());
      out.member |= member != nullptr && !node.below.empty();
      child = detail::child_of(schema, member);
    } else if (node.element.kind() == PathElement::Kind::Key) {
      child = detail::items_of(schema);
    }
    out.below = named(node.below, child);
    nodes.push_back(std::move(out));
  }
  return FieldSet(std::move(nodes));
}

FieldSet joined(const FieldSet& fields, const Schema* schema) {
  Nodes nodes;
  nodes.reserve(fields.nodes().size());
  for (const Node& node : fields.nodes()) {
    const bool field = node.element.kind() == PathElement::Kind::Field;
    const Schema* child =
        field ? detail::child_of(schema, detail::named_member(schema, node.element.name())) : detail::items_of(schema);
    const bool container =
        child != nullptr && (child->type == Schema::Type::Object || child->type == Schema::Type::List);
    const Form form = container && child->type == Schema::Type::List ? Form::List : Form::Object;
    if (!container || node.below.empty()) {
      nodes.push_back(node);
    } else if (detail::is_atomic(child, form)) {
      nodes.push_back({.element = node.element, .member = true});
    } else {
      nodes.push_back({.element = node.element, .member = node.member, .below = joined(node.below, child)});
    }
  }
  return FieldSet(std::move(nodes));
}

}  // namespace

FieldSet fields_of(const json::Value& value, const Schema& schema) { return see(value, &schema).below; }

Changes changes(const json::Value& before, const json::Value& after, const Schema& schema) {
  const json::Value& old = before.is_null() ? kEmptyObject : before;
  return compare(&old, &after, &schema).below;
}

FieldSet with_named(FieldSet fields, const Schema& schema) { return named(fields, &schema); }

void join_atomic(FieldSet& fields, const Schema& schema) { fields = joined(fields, &schema); }

}  // namespace kopper::plane
