#pragma once

#include <chrono>
#include <compare>
#include <expected>
#include <string>
#include <string_view>

#include "kopper/base/error.h"
#include "kopper/meta/type.h"

namespace kopper::api {

// A point in time as the API carries it. Default constructed it is unset: null in JSON, omitted from objects, before
// every other time. Unit is the precision that it keeps and prints.
template <class Unit>
class BasicTime {
 public:
  using Point = std::chrono::sys_time<Unit>;

  constexpr BasicTime() = default;
  // Rounds down to the unit; a clock's now() can be passed as it is.
  template <class D>
  constexpr BasicTime(std::chrono::sys_time<D> at) : at_(std::chrono::floor<Unit>(at)) {}

  // RFC 3339, any offset, any number of fraction digits: "2026-01-31T10:00:00Z", "2026-01-31T11:00:00.5+01:00".
  // The year-one time that Go prints for an unset time is unset here as well.
  static std::expected<BasicTime, DecodeError> parse(std::string_view text);

  // In UTC; "" when unset.
  std::string str() const;

  constexpr bool is_set() const { return at_ != kUnset; }
  constexpr explicit operator bool() const { return is_set(); }
  // Only of a time that is set.
  constexpr Point point() const { return at_; }

  friend constexpr auto operator<=>(const BasicTime&, const BasicTime&) = default;

 private:
  static constexpr Point kUnset = Point::min();

  Point at_ = kUnset;
};

// "2026-01-31T10:00:00Z"
using Time = BasicTime<std::chrono::seconds>;
// "2026-01-31T10:00:00.123456Z": leases and events.
using MicroTime = BasicTime<std::chrono::microseconds>;

extern template class BasicTime<std::chrono::seconds>;
extern template class BasicTime<std::chrono::microseconds>;

}  // namespace kopper::api

template <class Unit>
struct kopper::meta::Codec<kopper::api::BasicTime<Unit>> {
  static bool read(Token token, api::BasicTime<Unit>& out);
  static void write(const api::BasicTime<Unit>& value, json::Writer& out);
  static bool empty(const api::BasicTime<Unit>& value) { return !value.is_set(); }
  static json::Value schema();
};
