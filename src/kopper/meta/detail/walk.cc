#include "kopper/meta/detail/walk.h"

#include <cstring>

namespace kopper::meta::detail {

std::uint64_t enumerator(const Type& type, const void* value) {
  // By memcpy: an enum may not be read through its underlying type.
  const auto read = [&]<class Int>(Int out) {
    std::memcpy(&out, value, sizeof out);
    return static_cast<std::uint64_t>(out);
  };
  switch (type.size) {
    case 1: return read(std::uint8_t{});
    case 2: return read(std::uint16_t{});
    case 4: return read(std::uint32_t{});
    default: return read(std::uint64_t{});
  }
}

bool empty(const Type& type, const void* value, const void* sample) {
  switch (type.shape) {
    case Shape::String: return as<std::string>(value).empty();
    case Shape::Bytes: return as<Bytes>(value).data.empty();
    case Shape::Value: return as<json::Value>(value).is_null();
    case Shape::Scalar:
    case Shape::Custom: return type.empty != nullptr && type.empty(value);
    case Shape::Optional:
    case Shape::List: return type.items(value).second == 0;
    case Shape::Map: return type.size_of(value) == 0;
    case Shape::Record:
      if (type.kind != nullptr) return false;
      for (const Field& field : type.fields)
        if (!omitted(field, member(value, field), sample_of(field, sample))) return false;
      return true;
    default: return false;
  }
}

bool zero(const Type& type, const void* value) {
  switch (type.shape) {
    case Shape::Bool: return !as<bool>(value);
    case Shape::Int32:
    case Shape::Uint32: return as<std::uint32_t>(value) == 0;
    case Shape::Int64:
    case Shape::Uint64: return as<std::uint64_t>(value) == 0;
    case Shape::Double: return as<double>(value) == 0;
    case Shape::Enum: return enumerator(type, value) == 0;
    case Shape::Record:
      if (type.kind != nullptr) return false;
      for (const Field& field : type.fields) {
        const void* at = member(value, field);
        if (!empty(*field.type, at, nullptr) && !zero(*field.type, at)) return false;
      }
      return true;
    default: return false;
  }
}

bool omitted(const Field& field, const void* value, const void* sample) {
  const Type& type = *field.type;
  // There is nothing to write of an optional that is not set, required or not.
  if (field.required && !field.omit_zero && type.shape != Shape::Optional) return false;
  // empty() compares a record with its sample member by member.
  if (empty(type, value, sample) && (sample == nullptr || type.shape == Shape::Record || empty(type, sample, nullptr)))
    return true;
  return field.omit_zero && zero(type, value) && (sample == nullptr || zero(type, sample));
}

}  // namespace kopper::meta::detail
