#pragma once

#include <string>

#include "kopper/json/value.h"

// How the server's messages print a value, which is how Go prints it.
namespace kopper::plane::detail {

std::string go_text(const json::Value& value);    // %v: foo, 1, map[a:1], [1 2]
std::string go_type(const json::Value& value);    // %T: string, int64, map[string]interface {}
std::string go_syntax(const json::Value& value);  // %#v of the value in its wrapper: &value.valueUnstructured{Value:1}

}  // namespace kopper::plane::detail
