#pragma once

#include <cstdint>

#include "kopper/meta/type.h"

// What every interpreter of the tables needs.
namespace kopper::meta::detail {

template <class T>
const T& as(const void* p) {
  return *static_cast<const T*>(p);
}

inline const void* member(const void* record, const Field& field) {
  return static_cast<const char*>(record) + field.offset;
}

inline const void* item(const Type& list, const void* first, std::size_t index) {
  return static_cast<const char*>(first) + index * list.element->size;
}

inline const Field* find_field(const Type& record, std::string_view name) {
  for (const Field& field : record.fields)
    if (field.name == name) return &field;
  return nullptr;
}

// The type inside optionals.
inline const Type& unwrap(const Type& type) { return type.shape == Shape::Optional ? unwrap(*type.element) : type; }

std::uint64_t enumerator(const Type& type, const void* value);
// Says nothing: an encoded object leaves it out unless it is required.
bool empty(const Type& type, const void* value);
// A plain number, bool or enum that is 0, or a struct of nothing but zeros and empty things, required or not.
bool zero(const Type& type, const void* value);
bool omitted(const Field& field, const void* value);

}  // namespace kopper::meta::detail
