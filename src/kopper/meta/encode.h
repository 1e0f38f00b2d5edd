#pragma once

#include <string>

#include "kopper/meta/reflect.h"

namespace kopper::meta {

// Appends `value` as JSON. What is written:
// - an optional that is not set, an empty string, list or map, and a null json::Value are left out, unless required;
// - so is a struct of which nothing would be written, unless required, or inside an optional that is set;
// - but not where the member initialiser says otherwise: it would come back when the member is absent;
// - plain numbers, bools and enums are written, unless omit_zero and zero;
// - a struct with a `kind` starts with apiVersion and kind.
void encode_to(std::string& out, const Type& type, const void* value);

template <class T>
std::string encode(const T& value) {
  std::string out;
  encode_to(out, type_of<T>(), &value);
  return out;
}

void encode_to(json::Writer& out, const Type& type, const void* value);

template <class T>
void encode(const T& value, json::Writer& out) {
  encode_to(out, type_of<T>(), &value);
}

json::Value value_of(const Type& type, const void* value);

template <class T>
json::Value to_value(const T& value) {
  return value_of(type_of<T>(), &value);
}

}  // namespace kopper::meta
