#pragma once

#include "kopper/meta/reflect.h"

namespace kopper::meta {

bool equal(const Type& type, const void* a, const void* b);
bool covers(const Type& type, const void* live, const void* desired);

// Member by member, for structs that define no operator==.
template <class T>
bool equal(const T& a, const T& b) {
  return equal(type_of<T>(), &a, &b);
}

// True when `live` holds all that encode(desired) would write: more map entries, more items in lists that merge by key
// or as a set, and members that `desired` leaves out do not matter. Other lists must have the same length.
template <class T>
bool covers(const T& live, const T& desired) {
  return covers(type_of<T>(), &live, &desired);
}

}  // namespace kopper::meta
