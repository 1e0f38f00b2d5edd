#pragma once

#include <concepts>
#include <string>

#include "kopper/api/gen/meta_v1.h"
#include "kopper/api/labels.h"
#include "kopper/base/key.h"
#include "kopper/meta/kind.h"

namespace kopper::api {

// A C++ type that stands for a Kubernetes kind: generated, or a user's struct.
template <class T>
concept ObjectType = requires(const T& object) {
  { T::kind } -> std::convertible_to<const Kind&>;
  { object.metadata } -> std::convertible_to<const metav1::ObjectMeta&>;
};

inline Key key_of(const metav1::ObjectMeta& metadata) { return {metadata.namespace_, metadata.name}; }

template <ObjectType T>
Key key_of(const T& object) {
  return key_of(object.metadata);
}

// Deletion was asked for; finalizers are what it waits for.
template <ObjectType T>
bool is_deleting(const T& object) {
  return object.metadata.deletionTimestamp.is_set();
}

bool has_finalizer(const metav1::ObjectMeta& metadata, std::string_view name);
// True when it changed something.
bool add_finalizer(metav1::ObjectMeta& metadata, std::string_view name);
bool remove_finalizer(metav1::ObjectMeta& metadata, std::string_view name);

}  // namespace kopper::api
