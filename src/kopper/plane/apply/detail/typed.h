#pragma once

#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kopper/plane/apply/field_set.h"
#include "kopper/plane/schema.h"

// How server-side apply sees a value through its schema. A schema that is null stands for what no schema describes:
// objects merge member by member, lists are one value.
namespace kopper::plane::detail {

enum class Form : std::uint8_t { Object, List, Scalar };

// What the value is to be taken for. Null and values of the wrong type are taken for what the schema says.
inline Form form_of(const Schema* schema, const json::Value& value) {
  if (schema != nullptr && schema->type != Schema::Type::Any) {
    if (schema->type == Schema::Type::Object) return Form::Object;
    return schema->type == Schema::Type::List ? Form::List : Form::Scalar;
  }
  if (value.is_object() || value.is_null()) return Form::Object;
  return value.is_array() ? Form::List : Form::Scalar;
}

// One value, owned as a whole.
inline bool is_atomic(const Schema* schema, Form form) {
  if (form == Form::Scalar) return true;
  if (schema == nullptr) return form == Form::List;
  if (schema->type == Schema::Type::Any) return form == Form::List || schema->atomic || schema->builtin != nullptr;
  return form == Form::List ? schema->list == Schema::List::Atomic : schema->atomic;
}

inline const Member* named_member(const Schema* schema, std::string_view name) {
  return schema == nullptr || schema->members == nullptr ? nullptr : schema->members->find(name);
}

inline const Schema* child_of(const Schema* schema, const Member* member) {
  if (member != nullptr) return member->schema;
  return schema == nullptr ? nullptr : schema->values;
}

inline const Schema* items_of(const Schema* schema) { return schema == nullptr ? nullptr : schema->items; }

// What an absent member of a built-in kind counts as: Go has no absent struct, number or list without "omitempty".
// Null: it is really absent.
const json::Value* blank_of(const Schema* schema, const Member* member);

// Looks up many members of one object: a search of small ones, a sorted table of large ones.
class MemberIndex {
 public:
  explicit MemberIndex(const json::Object* object);  // null: has none
  const json::Value* find(std::string_view name) const;

 private:
  const json::Object* object_;
  std::vector<const json::Object::Member*> sorted_;
};

// Which item of a set or map list this is; the error is the server's text.
std::expected<PathElement, std::string> element_of(const Schema& list, const json::Value& item);

// The items of a set or map list, found by element. Items that have none are left out.
class Items {
 public:
  Items(const Schema& list, const json::Array& items);

  std::size_t size() const { return elements_.size(); }
  const PathElement& element(std::size_t i) const { return elements_[i]; }
  const json::Value& item(std::size_t i) const { return *items_[i]; }
  // Positions of all items with that element, in order.
  std::span<const std::uint32_t> find(const PathElement& element) const;
  bool contains(const PathElement& element) const { return !find(element).empty(); }
  // Positions of all items in the order of their elements.
  std::span<const std::uint32_t> sorted() const { return sorted_; }
  // "element 2: …" of the first item that has no element; "" when all have one.
  const std::string& error() const { return error_; }

 private:
  std::vector<PathElement> elements_;
  std::vector<const json::Value*> items_;
  std::vector<std::uint32_t> sorted_;
  std::string error_;
};

}  // namespace kopper::plane::detail
