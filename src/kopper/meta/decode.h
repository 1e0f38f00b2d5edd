#pragma once

#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kopper/base/error.h"
#include "kopper/meta/reflect.h"

namespace kopper::meta {

struct DecodeOptions {
  std::size_t depth = 256;                      // how deep arrays and objects may nest
  std::vector<std::string>* unknown = nullptr;  // gets the path of every member that the type does not know
};

// `out` must be a default-constructed object of `type`; after an error it holds part of the input.
std::expected<void, DecodeError> decode_into(std::string_view json, const Type& type, void* out,
                                             DecodeOptions options = {});

// Reads one JSON document. Absent members and nulls keep the member initialiser's value (but null unsets an optional or
// a json::Value); members that T does not know are skipped. When T::kind exists, apiVersion and kind must be right
// where they are given. Any bytes are safe to pass.
template <class T>
std::expected<T, DecodeError> decode(std::string_view json, DecodeOptions options = {}) {
  T out{};
  if (auto done = decode_into(json, type_of<T>(), &out, options); !done)
    return std::unexpected(std::move(done.error()));
  return out;
}

// The same into a place of its own: large types need not be moved.
template <class T>
std::expected<std::shared_ptr<T>, DecodeError> decode_shared(std::string_view json, DecodeOptions options = {}) {
  auto out = std::make_shared<T>();
  if (auto done = decode_into(json, type_of<T>(), out.get(), options); !done)
    return std::unexpected(std::move(done.error()));
  return out;
}

// The same from a parsed document. Offsets in errors are those of json::dump(value).
template <class T>
std::expected<T, DecodeError> from_value(const json::Value& value, DecodeOptions options = {}) {
  return decode<T>(json::dump(value), options);
}

}  // namespace kopper::meta
