#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "kopper/json/value.h"
#include "kopper/meta/reflect.h"

namespace kopper::meta {

// Where the API server sends objects to be converted between versions. Either a service or a URL.
struct ConversionWebhook {
  std::string service_namespace{};
  std::string service_name{};
  std::string path = "/convert";
  std::int32_t port = 443;
  std::string url{};
  Bytes ca_bundle{};  // PEM
};

struct CrdOptions {
  std::optional<ConversionWebhook> conversion{};  // none: versions differ in name only
};

json::Value crd(std::span<const Type* const> versions, const CrdOptions& options = {});

namespace detail {

template <class First, class... Rest>
consteval bool same_kind() {
  return ((First::kind.group == Rest::kind.group && First::kind.kind == Rest::kind.kind &&
           First::kind.scope == Rest::kind.scope && First::kind.plural == Rest::kind.plural &&
           First::kind.version != Rest::kind.version) &&
          ...);
}

}  // namespace detail

// The CustomResourceDefinition (apiextensions.k8s.io/v1) of a type, from T::kind, its schema and its rules. The same
// bytes every time. With several versions, the first one gives the names; one of them, no more, has storage = true. A
// `status` member makes the status subresource.
template <class... Versions>
json::Value crd(const CrdOptions& options = {}) {
  static_assert(detail::same_kind<Versions...>(),
                "versions of one kind differ in version, and in nothing else of the name");
  static_assert((0 + ... + (Versions::kind.storage ? 1 : 0)) == 1,
                "exactly one version is stored: set .storage = false");
  const Type* types[] = {&type_of<Versions>()...};
  return crd(types, options);
}

}  // namespace kopper::meta
