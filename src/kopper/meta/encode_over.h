#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "kopper/base/error.h"
#include "kopper/meta/reflect.h"

namespace kopper::meta {

std::expected<std::string, DecodeError> encode_over(std::string_view raw, const Type& type, const void* value);

// Encodes `value` for a full replace (PUT) of the object that `raw` is, without losing what T does not know: members of
// `raw` that T has no name for are kept, at every depth. What T knows is as `value` has it, also when that is absent.
// Items of a list are paired by their keys where the field has some, and by position otherwise.
// Fails when `raw` is not JSON.
template <class T>
std::expected<std::string, DecodeError> encode_over(std::string_view raw, const T& value) {
  return encode_over(raw, type_of<T>(), &value);
}

}  // namespace kopper::meta
