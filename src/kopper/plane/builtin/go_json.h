#pragma once

#include <span>
#include <string_view>

#include "kopper/meta/type.h"
#include "kopper/plane/schema.h"

namespace kopper::plane::builtin {

// What the Go struct behind a built-in type says of a field that our own table does not: whether it is a pointer, its
// type as decoding errors name it, and the struct that it is embedded by ("" when it is the record itself).
struct GoField {
  std::string_view record;  // "corev1::Probe"
  std::string_view field;
  Member::Blank blank;
  std::string_view type;      // "v1.RestartPolicy"; "" when it follows from our table
  std::string_view embedded;  // "ProbeHandler"
};

// Sorted by record and field.
std::span<const GoField> go_fields();
// Null for most: then our table says it all.
const GoField* go_field(const meta::Type& record, std::string_view field);

// "corev1::Probe" of the record whose name is "kopper::api::corev1::Probe".
std::string_view go_record(const meta::Type& record);

}  // namespace kopper::plane::builtin
