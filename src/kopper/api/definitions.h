#pragma once

#include <span>
#include <string_view>

namespace kopper::api {

// The OpenAPI v3 schema of a built-in type, without prose.
struct Definition {
  std::string_view name;  // "io.k8s.api.core.v1.Pod"
  std::string_view json;  // refers to others as "#/components/schemas/<name>"
};

// Of all types in gen/, without lists (PodList), and of what those refer to. Sorted by name.
std::span<const Definition> definitions();

// How protobuf numbers the members of a built-in type.
struct WireType {
  std::string_view name;  // as a Definition's; also structs that are embedded in others and have none
  // "1s:name 6m*:ports=ContainerPort 7s%:labels 8m:=VolumeSource": number, kind, * for a list or % for a map, the name
  // in JSON (none: its members stand for it), and of a message its type, without the package when that is the same.
  // Kinds: s text, y bytes, i integer, b boolean, d double, m message, t Time, u MicroTime, q Quantity, o IntOrString,
  // r JSON inside a message, e list of texts inside a message.
  std::string_view fields;
};

// Sorted by name. Without the kinds of apiextensions and apiregistration.
std::span<const WireType> wire_types();

}  // namespace kopper::api
