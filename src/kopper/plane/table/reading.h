#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "kopper/json/value.h"
#include "kopper/plane/reading.h"

// More ways to read JSON of any shape (plane/reading.h), for printing.
namespace kopper::plane::table {

using json::Array;
using json::Object;
using json::Value;

std::string text(const Value& value);
std::optional<std::chrono::sys_seconds> time_of(const Value& value);
// The condition of that type in a status; null when there is none.
const Value& condition(const Value& status, std::string_view type);

// `fallback` when empty.
std::string or_else(std::string value, std::string_view fallback);
// `fallback` when absent.
std::string text_or(const Value& value, std::string_view fallback);
std::string trimmed(std::string_view value);

}  // namespace kopper::plane::table
