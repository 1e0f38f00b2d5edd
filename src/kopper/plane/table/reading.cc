#include "kopper/plane/table/reading.h"

#include "kopper/api/time.h"

namespace kopper::plane::table {

std::string text(const Value& value) {
  const std::string* at = value.as_string();
  return at == nullptr ? std::string() : *at;
}

std::optional<std::chrono::sys_seconds> time_of(const Value& value) {
  const std::string* at = value.as_string();
  if (at == nullptr) return std::nullopt;
  const auto parsed = api::Time::parse(*at);
  if (!parsed || !parsed->is_set()) return std::nullopt;
  return parsed->point();
}

const Value& condition(const Value& status, std::string_view type) {
  static const Value kNone;
  for (const Value& one : items(status["conditions"]))
    if (one.text("type") == type) return one;
  return kNone;
}

std::string or_else(std::string value, std::string_view fallback) {
  return value.empty() ? std::string(fallback) : value;
}

std::string text_or(const Value& value, std::string_view fallback) {
  const std::string* at = value.as_string();
  return at == nullptr ? std::string(fallback) : *at;
}

std::string trimmed(std::string_view value) {
  constexpr std::string_view kSpace = " \t\n\v\f\r";
  const std::size_t from = value.find_first_not_of(kSpace);
  return from == std::string_view::npos ? std::string()
                                        : std::string(value.substr(from, value.find_last_not_of(kSpace) + 1 - from));
}

}  // namespace kopper::plane::table
