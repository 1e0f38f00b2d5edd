#include "kopper/plane/apply/fields_of.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "kopper/json/writer.h"
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
  if (before != nullptr && after != nullptr && *before == *after) return {};
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

// ---- written_by_create ----------------------------------------------------------------------------------------------

// "f:" and the name, by one allocation at most.
std::string field_name(std::string_view name) {
  std::string out;
  out.resize_and_overwrite(name.size() + 2, [name](char* to, std::size_t) {
    to[0] = 'f';
    to[1] = ':';
    std::ranges::copy(name, to + 2);
    return name.size() + 2;
  });
  return out;
}

// A walk like compare() with nothing on the other side, which makes no sets: most objects that are created are large,
// and all of them is written.
class Created {
 public:
  // What the two sets say of a value and of what is in it; null: nothing.
  struct Less {
    const FieldSet* reset;
    const FieldSet* untracked;
  };

  // One field as a whole: there is nothing below it.
  static bool is_leaf(const json::Value& value, const Schema* schema) {
    const Form form = detail::form_of(schema, value);
    if (detail::is_atomic(schema, form)) return true;
    const json::Object* object = form == Form::Object ? value.as_object() : nullptr;
    const json::Array* list = form == Form::List ? value.as_array() : nullptr;
    return object != nullptr ? object->empty() : list == nullptr || list->empty();
  }

  // Of what is no leaf. `before` is what an absent member counts as; null: it is really absent. `owned`: the value
  // itself may be a field. Nothing when there is nothing to own.
  std::optional<json::Object> written(const json::Value* before, const json::Value& after, const Schema* schema,
                                      Less less, bool owned) {
    const Form form = detail::form_of(schema, after);
    const json::Object* object = form == Form::Object ? after.as_object() : nullptr;
    const json::Array* list = form == Form::List ? after.as_array() : nullptr;
    owned = owned && before == nullptr;
    std::vector<json::Object::Member> out;
    out.reserve((object != nullptr ? object->size() : list->size()) + 1);
    if (owned) out.emplace_back(".", json::Object());
    const std::size_t first = out.size();
    if (object != nullptr) {
      members(*object, before != nullptr && before->is_object(), schema, less, out);
    } else {
      items(*list, *schema, less, out);
    }
    if (out.size() == first) return owned ? std::optional(json::Object()) : std::nullopt;
    return json::Object(std::move(out));
  }

 private:
  using Named = std::pair<const json::Object::Member*, const Member*>;

  // `blanks`: what is absent counts as what an empty object has.
  void members(const json::Object& object, bool blanks, const Schema* schema, Less less,
               std::vector<json::Object::Member>& out) {
    const std::size_t base = named_.size();
    const Members* known = schema == nullptr ? nullptr : schema->members;
    std::size_t guess = 0;
    for (const auto& one : object)
      named_.emplace_back(&one, known == nullptr ? nullptr : known->find(one.first, guess));
    std::ranges::sort(named_.begin() + static_cast<std::ptrdiff_t>(base), named_.end(), {},
                      [](const Named& one) -> const std::string& { return one.first->first; });
    for (std::size_t i = base; i < base + object.size(); ++i) {
      const auto [one, member] = named_[i];
      const auto find = [&name = one->first](const FieldSet* in) {
        return in == nullptr ? nullptr : in->find(std::string_view(name));
      };
      add(
          find, blanks ? detail::blank_of(schema, member) : nullptr, one->second, detail::child_of(schema, member),
          less, [&name = one->first] { return field_name(name); }, out);
    }
    named_.resize(base);
  }

  void items(const json::Array& list, const Schema& schema, Less less, std::vector<json::Object::Member>& out) {
    if (named_items(list, schema, less, out)) return;
    const detail::Items items(schema, list);
    const std::span<const std::uint32_t> sorted = items.sorted();
    for (std::size_t i = 0; i < sorted.size();) {
      const PathElement& element = items.element(sorted[i]);
      std::size_t next = i + 1;
      while (next < sorted.size() && items.element(sorted[next]) == element) ++next;
      const auto find = [&element](const FieldSet* in) { return in == nullptr ? nullptr : in->find(element); };
      // Of an item that is there twice nobody can say what belongs to whom: it is one field.
      const bool twice = next > i + 1;
      add(
          find, nullptr, twice ? kEmptyObject : items.item(sorted[i]), twice ? nullptr : schema.items, less,
          [&element] { return element.encode(); }, out);
      i = next;
    }
  }

  // The usual list, told apart by one member that is a text: no elements have to be made. False when it is another.
  bool named_items(const json::Array& list, const Schema& schema, Less less, std::vector<json::Object::Member>& out) {
    if (schema.list != Schema::List::Map || schema.keys.size() != 1 || less.reset != nullptr ||
        less.untracked != nullptr)
      return false;
    std::vector<std::pair<std::string_view, const json::Value*>> sorted;
    sorted.reserve(list.size());
    for (const json::Value& item : list) {
      const std::string* key = item[schema.keys.front()].as_string();
      if (key == nullptr || has_html(*key)) return false;
      sorted.emplace_back(*key, &item);
    }
    const auto key = [](const auto& one) { return one.first; };
    std::ranges::sort(sorted, {}, key);
    if (std::ranges::adjacent_find(sorted, {}, key) != sorted.end()) return false;
    const auto find = [](const FieldSet*) -> const Node* { return nullptr; };
    for (const auto& one : sorted) {
      const auto name = [&] {
        std::string text = "k:{";
        text.reserve(schema.keys.front().size() + one.first.size() + 32);
        json::append_quoted(text, schema.keys.front());
        text += ':';
        json::append_quoted(text, one.first);
        return text += '}';
      };
      add(find, nullptr, *one.second, schema.items, less, name, out);
    }
    return true;
  }

  template <class Find, class Name>
  void add(Find find, const json::Value* before, const json::Value& after, const Schema* schema, Less less, Name name,
           std::vector<json::Object::Member>& out) {
    const Node* reset = find(less.reset);
    if (reset != nullptr && reset->member) return;
    const Node* untracked = find(less.untracked);
    const Less below{.reset = reset == nullptr ? nullptr : &reset->below,
                     .untracked = untracked == nullptr ? nullptr : &untracked->below};
    const bool owned = untracked == nullptr || !untracked->member;
    if (is_leaf(after, schema)) {
      if (owned && (before == nullptr || *before != after)) out.emplace_back(name(), json::Object());
      return;
    }
    if (auto fields = written(before, after, schema, below, owned)) out.emplace_back(name(), std::move(*fields));
  }

  std::vector<Named> named_;  // the members of the objects on the way, each sorted
};

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

json::Object written_by_create(const json::Value& object, const Schema& schema, const FieldSet* reset,
                               const FieldSet& untracked) {
  if (Created::is_leaf(object, &schema)) return {};
  auto out = Created().written(&kEmptyObject, object, &schema, {.reset = reset, .untracked = &untracked}, true);
  return out ? std::move(*out) : json::Object();
}

FieldSet with_named(FieldSet fields, const Schema& schema) { return named(fields, &schema); }

void join_atomic(FieldSet& fields, const Schema& schema) { fields = joined(fields, &schema); }

}  // namespace kopper::plane
