#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kopper/plane/crd/cel/type.h"
#include "kopper/plane/crd/cel/value.h"

namespace kopper::plane::cel {

// One form of a function: what it takes, what it gives, and how it is done. The checker and the evaluator choose by
// the same table.
struct Overload {
  std::vector<Type> takes;
  Type gives;
  bool method = false;  // called on its first argument
  Value (*run)(std::span<const Value> args) = nullptr;
};

// Null when there is no function of the name.
const std::vector<Overload>* find_function(std::string_view name);

// Whether a value is of a type, as far as one can see without looking inside.
bool fits(const Value& value, const Type& type);

// Steps beyond the first that a call takes, for what grows with its arguments.
std::uint64_t cost_of_call(std::string_view name, std::span<const Value> args);

}  // namespace kopper::plane::cel
