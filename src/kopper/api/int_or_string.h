#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "kopper/base/error.h"
#include "kopper/meta/type.h"

namespace kopper::api {

// A number or a text, as ports (8080 or "http") and rollout limits (1 or "25%") are.
class IntOrString {
 public:
  IntOrString() = default;
  IntOrString(int value) : value_(std::int32_t{value}) {}
  IntOrString(std::string text) : value_(std::move(text)) {}
  IntOrString(std::string_view text) : value_(std::string(text)) {}
  IntOrString(const char* text) : value_(std::string(text)) {}

  bool is_int() const { return value_.index() == 0; }
  bool is_string() const { return value_.index() == 1; }
  // Null when it is the other one.
  const std::int32_t* as_int() const { return std::get_if<std::int32_t>(&value_); }
  const std::string* as_string() const { return std::get_if<std::string>(&value_); }
  // The text, or the number as text.
  std::string str() const;

  friend bool operator==(const IntOrString&, const IntOrString&) = default;

 private:
  std::variant<std::int32_t, std::string> value_{std::int32_t{0}};
};

enum class Rounding : std::uint8_t { Up, Down };

// A number is itself; "25%" is that part of `total`. Any other text is an error. Kubernetes rounds maxSurge up and
// maxUnavailable down.
std::expected<std::int32_t, DecodeError> scaled(const IntOrString& value, std::int32_t total, Rounding rounding);

}  // namespace kopper::api

template <>
struct kopper::meta::Codec<kopper::api::IntOrString> {
  static bool read(Token token, api::IntOrString& out);
  static void write(const api::IntOrString& value, json::Writer& out);
  static json::Value schema();
};
