#include "kopper/plane/reading.h"

#include <cstddef>
#include <type_traits>
#include <variant>

namespace kopper::plane {

const json::Array& items(const json::Value& value) {
  static const json::Array kNone;
  const json::Array* all = value.as_array();
  return all == nullptr ? kNone : *all;
}

const json::Object& members(const json::Value& value) {
  static const json::Object kNone;
  const json::Object* all = value.as_object();
  return all == nullptr ? kNone : *all;
}

std::int64_t number(const json::Value& value) {
  const std::int64_t* at = value.as_int();
  return at == nullptr ? 0 : *at;
}

bool is_true(const json::Value& value) { return value.as_bool() != nullptr && *value.as_bool(); }

bool is_blank(const json::Value& value) {
  return std::visit(
      []<class T>(const T& v) {
        if constexpr (std::is_same_v<T, std::nullptr_t>) {
          return true;
        } else if constexpr (std::is_arithmetic_v<T>) {
          return v == T{};
        } else {
          return v.empty();
        }
      },
      value.data());
}

}  // namespace kopper::plane
