#include "kopper/plane/table/reading.h"

#include "kopper/api/time.h"

namespace kopper::plane::table {

const Array& items(const Value& value) {
  static const Array kNone;
  const Array* all = value.as_array();
  return all == nullptr ? kNone : *all;
}

const Object& members(const Value& value) {
  static const Object kNone;
  const Object* all = value.as_object();
  return all == nullptr ? kNone : *all;
}

std::string text(const Value& value) {
  const std::string* at = value.as_string();
  return at == nullptr ? std::string() : *at;
}

std::int64_t number(const Value& value) {
  const std::int64_t* at = value.as_int();
  return at == nullptr ? 0 : *at;
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
