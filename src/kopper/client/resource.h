#pragma once

#include <concepts>
#include <string>
#include <string_view>

#include "kopper/base/key.h"
#include "kopper/meta/kind.h"

namespace kopper::client {

// A collection of the API server: where objects of a kind are read and written.
struct Resource {
  std::string group;  // "" for core
  std::string version;
  std::string plural;
  std::string kind;
  bool namespaced = true;

  // "v1" or "apps/v1".
  std::string api_version() const;
  // "pods" or "deployments.apps", as error messages name it.
  std::string name() const;
  // "/api/v1" or "/apis/apps/v1".
  std::string prefix() const;
  // The path of the collection. An empty namespace of a namespaced resource means all of them. Parts are
  // percent-encoded.
  std::string collection_path(std::string_view namespace_) const;
  // The path of one object; `subresource` is appended when not empty. Throws Error{Invalid} when the name is empty or
  // "." or "..", when a namespaced object has no namespace, or when a cluster-scoped one has.
  std::string object_path(const Key& key, std::string_view subresource = {}) const;

  friend bool operator==(const Resource&, const Resource&) = default;
};

// A C++ type that stands for a Kubernetes kind: generated, or a user's struct.
template <class T>
concept Object = requires(T object) {
  { T::kind } -> std::convertible_to<const Kind&>;
  object.metadata.name;
};

Resource resource_of(const Kind& kind);

template <Object T>
Resource resource_of() {
  return resource_of(T::kind);
}

}  // namespace kopper::client
