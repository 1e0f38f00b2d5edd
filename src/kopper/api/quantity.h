#pragma once

#include <compare>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "kopper/base/error.h"
#include "kopper/meta/type.h"

namespace kopper::api {

// An amount of a resource: "100m", "64Mi", "1.5", "2e3". Exact: a whole number of nano units, no floating point.
//
// str() prints the canonical form of Kubernetes: the largest suffix that leaves no fraction ("1500m", not "1.5"), in
// the family of suffixes that the amount was written in. What is finer than a nano is rounded away from zero, as the
// server does. Binary amounts are capped at 2^63-1, and everything at 170141183460E.
class Quantity {
 public:
  enum class Format : std::uint8_t { DecimalSI, BinarySI, DecimalExponent };

  constexpr Quantity() = default;
  constexpr Quantity(int whole) : Quantity(std::int64_t{whole}) {}
  constexpr Quantity(std::int64_t whole) : nano_(Int{whole} * kNano) {}
  // Throws Error(Invalid): for text that the program itself writes, {{"cpu", "100m"}, {"memory", "64Mi"}}.
  Quantity(const char* text);
  Quantity(const std::string& text);

  static std::expected<Quantity, DecodeError> parse(std::string_view text);
  static constexpr Quantity milli(std::int64_t value) { return Quantity(Int{value} * kMilli, Format::DecimalSI); }
  static constexpr Quantity bytes(std::int64_t value) { return Quantity(Int{value} * kNano, Format::BinarySI); }

  std::string str() const;
  constexpr Format format() const { return format_; }

  // The exact value, or nothing when it has a fraction or does not fit.
  std::optional<std::int64_t> as_int64() const;
  // Rounded away from zero and clamped to what int64 holds.
  std::int64_t value() const;
  std::int64_t milli_value() const;
  // The nearest double.
  double as_double() const;

  constexpr bool is_zero() const { return nano_ == 0; }
  constexpr int sign() const { return nano_ < 0 ? -1 : nano_ > 0 ? 1 : 0; }

  // The sum keeps the format of the left side, unless that is zero. Results are capped, never wrapped.
  Quantity& operator+=(const Quantity& other);
  Quantity& operator-=(const Quantity& other);
  friend Quantity operator+(Quantity a, const Quantity& b) { return a += b; }
  friend Quantity operator-(Quantity a, const Quantity& b) { return a -= b; }
  Quantity operator-() const { return Quantity(-nano_, format_); }

  // By amount: "1000m" equals "1".
  friend constexpr bool operator==(const Quantity& a, const Quantity& b) { return a.nano_ == b.nano_; }
  friend constexpr std::strong_ordering operator<=>(const Quantity& a, const Quantity& b) {
    return a.nano_ <=> b.nano_;
  }

 private:
  __extension__ using Int = __int128;
  static constexpr Int kNano = 1'000'000'000;
  static constexpr Int kMilli = 1'000'000;

  constexpr Quantity(Int nano, Format format) : nano_(nano), format_(format) {}

  Int nano_ = 0;
  Format format_ = Format::DecimalSI;
};

}  // namespace kopper::api

// A string, or a number as a person may write it in YAML.
template <>
struct kopper::meta::Codec<kopper::api::Quantity> {
  static bool read(Token token, api::Quantity& out);
  static void write(const api::Quantity& value, json::Writer& out);
  static json::Value schema();
};
