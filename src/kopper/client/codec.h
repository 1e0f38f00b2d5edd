#pragma once

#include <expected>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "kopper/base/error.h"
#include "kopper/base/key.h"
#include "kopper/client/resource.h"
#include "kopper/json/value.h"
#include "kopper/meta/decode.h"
#include "kopper/meta/encode.h"

// One spelling for the three ways to hold an object: a struct, a json::Value, its metadata.
namespace kopper::client {

template <class T>
std::expected<T, DecodeError> from_json(std::string_view json) {
  return meta::decode<T>(json);
}
template <>
inline std::expected<json::Value, DecodeError> from_json<json::Value>(std::string_view json) {
  return json::parse(json);
}

// The same of an object in a list, where servers leave apiVersion and kind out: a json::Value gets them.
template <class T>
std::expected<T, DecodeError> from_item(std::string_view json, const Resource& /*resource*/) {
  return from_json<T>(json);
}
template <>
std::expected<json::Value, DecodeError> from_item<json::Value>(std::string_view json, const Resource& resource);

template <class T>
std::string to_json(const T& object) {
  return meta::encode(object);
}
inline std::string to_json(const json::Value& object) { return json::dump(object); }

template <class T>
Key key_of(const T& object) {
  return {object.metadata.namespace_, object.metadata.name};
}
inline Key key_of(const json::Value& object) {
  const auto& metadata = object["metadata"];
  return {std::string(metadata.text("namespace")), std::string(metadata.text("name"))};
}

// "demo/web: spec.replicas: expected an integer, found a string (offset 41)"
inline Error undecodable(const Key& key, const DecodeError& why) {
  return Error(Code::Invalid, fmt::format("{}: {}", key.str(), why.str()));
}

}  // namespace kopper::client
