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

// What a default-constructed `type` holds, or null: nothing to speak of. The sample of a member lies inside that of its
// record, whose initialiser may say otherwise than the member's own type.
inline const void* sample_of(const Type& type) { return type.defaults == nullptr ? nullptr : type.defaults(); }
inline const void* sample_of(const Field& field, const void* sample) {
  return sample == nullptr ? nullptr : member(sample, field);
}

// Says nothing: an unset optional, an empty string, a struct of which nothing would be written.
bool empty(const Type& type, const void* value, const void* sample);
// A plain number, bool or enum that is 0, or a struct of nothing but zeros and empty things, required or not.
bool zero(const Type& type, const void* value);
// An encoded object leaves it out: it says nothing, and says so also when it is absent.
bool omitted(const Field& field, const void* value, const void* sample);

}  // namespace kopper::meta::detail
