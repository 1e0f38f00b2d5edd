#pragma once

#include <cstdint>

#include "kopper/json/value.h"

// Reading JSON that may be of any shape: what is not there, or is something else, reads as nothing.
namespace kopper::plane {

const json::Array& items(const json::Value& value);
const json::Object& members(const json::Value& value);
// 0 when it is no integer.
std::int64_t number(const json::Value& value);
bool is_true(const json::Value& value);
// Null, false, 0, or empty.
bool is_blank(const json::Value& value);

}  // namespace kopper::plane
