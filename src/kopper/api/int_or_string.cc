#include "kopper/api/int_or_string.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include <fmt/format.h>

#include "kopper/json/writer.h"

namespace kopper::api {

std::string IntOrString::str() const {
  if (const auto* number = as_int()) return std::to_string(*number);
  return *as_string();
}

std::expected<std::int32_t, DecodeError> scaled(const IntOrString& value, std::int32_t total, Rounding rounding) {
  if (const auto* number = value.as_int()) return *number;
  const std::string_view text = *value.as_string();
  std::int32_t percent = 0;
  const auto* end = text.data() + (text.ends_with('%') ? text.size() - 1 : 0);
  const auto [ptr, error] = std::from_chars(text.data(), end, percent);
  if (error != std::errc{} || ptr != end) {
    return std::unexpected(
        DecodeError{fmt::format("neither a number nor a percentage: \"{}\"", text.substr(0, 64)), "", 0});
  }
  const auto product = std::int64_t{percent} * total;
  auto part = product / 100;
  if (product % 100 != 0 && (product > 0) == (rounding == Rounding::Up)) part += product > 0 ? 1 : -1;
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(part, std::numeric_limits<std::int32_t>::min(),
                                                            std::numeric_limits<std::int32_t>::max()));
}

}  // namespace kopper::api

namespace kopper::meta {

bool Codec<api::IntOrString>::read(Token token, api::IntOrString& out) {
  if (token.quoted) {
    out = token.text;
    return true;
  }
  int number = 0;
  const auto* end = token.text.data() + token.text.size();
  const auto result = std::from_chars(token.text.data(), end, number);
  if (result.ec != std::errc{} || result.ptr != end) return false;
  out = number;
  return true;
}

void Codec<api::IntOrString>::write(const api::IntOrString& value, json::Writer& out) {
  if (const auto* number = value.as_int())
    out.value(*number);
  else
    out.value(*value.as_string());
}

json::Value Codec<api::IntOrString>::schema() {
  return json::Object{{"anyOf", json::Array{json::Object{{"type", "integer"}}, json::Object{{"type", "string"}}}},
                      {"x-kubernetes-int-or-string", true}};
}

}  // namespace kopper::meta
