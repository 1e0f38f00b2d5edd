#pragma once

#include "kopper/json/strategic.h"
#include "kopper/meta/reflect.h"

namespace kopper::meta {

// The merge keys of a type, for json::apply_strategic_patch.
json::MergeSchema merge_schema(const Type& type);

template <class T>
json::MergeSchema merge_schema() {
  return merge_schema(type_of<T>());
}

}  // namespace kopper::meta
