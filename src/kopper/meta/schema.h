#pragma once

#include "kopper/json/value.h"
#include "kopper/meta/reflect.h"

namespace kopper::meta {

json::Value schema(const Type& type);

// The OpenAPI v3 schema of T as a CustomResourceDefinition wants it (a "structural schema"):
// - a member is required only when its rule says so; optional<> and plain members differ in C++, not in the schema;
// - a member initialiser other than 0, false and empty becomes the default; so does every enum's; none inside `status`;
// - json::Value takes any JSON; a type that holds itself takes any object from there on, because schemas cannot
// recurse;
// - of an object's own metadata the server knows all, so it is just an object; of metadata further inside (a pod
// template's)
//   what a user may set is named, or the server would prune it.
template <class T>
json::Value schema() {
  return schema(type_of<T>());
}

}  // namespace kopper::meta
