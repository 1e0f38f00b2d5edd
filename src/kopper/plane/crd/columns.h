#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kopper/json/value.h"

namespace kopper::plane {

// One column of the table of a custom resource, without the first, which is always its name.
struct CustomColumn {
  std::string name;
  std::string type;  // integer, number, string, boolean, date
  std::string format;
  std::string description;
  std::string json_path;
  std::int64_t priority = 0;
};

// Those of `additionalPrinterColumns`, or the age alone when a version has none.
std::vector<CustomColumn> columns_of(const json::Value& crd, std::string_view version);

// The cell of an object; null when it has none. A date is left as its RFC 3339 text: how long ago is the caller's.
json::Value cell_of(const CustomColumn& column, const json::Value& object);

}  // namespace kopper::plane
