#pragma once

#include <concepts>
#include <string>
#include <string_view>

#include "kopper/base/key.h"
#include "kopper/json/value.h"
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
  // "/api/v1" or "/apis/apps/v1".
  std::string prefix() const;
  // The path of the collection or of one object. An empty namespace of a namespaced resource means all of them
  // (collections only). `subresource` is appended when not empty. Every part is percent-encoded.
  std::string collection_path(std::string_view namespace_) const;
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
