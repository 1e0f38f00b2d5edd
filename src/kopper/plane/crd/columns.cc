#include "kopper/plane/crd/columns.h"

#include <fmt/format.h>

#include "kopper/plane/crd/go_text.h"
#include "kopper/plane/crd/json_path.h"

namespace kopper::plane {
namespace {

const json::Value& version_of(const json::Value& crd, std::string_view name) {
  static const json::Value kNone;
  if (const json::Array* versions = crd["spec"]["versions"].as_array())
    for (const json::Value& version : *versions)
      if (version.text("name") == name) return version;
  return kNone;
}

}  // namespace

std::vector<CustomColumn> columns_of(const json::Value& crd, std::string_view version) {
  std::vector<CustomColumn> out;
  const json::Array* written = version_of(crd, version)["additionalPrinterColumns"].as_array();
  if (written == nullptr || written->empty()) {
    out.push_back({.name = "Age", .type = "date", .json_path = ".metadata.creationTimestamp"});
  } else {
    for (const json::Value& column : *written) {
      const std::int64_t* priority = column["priority"].as_int();
      out.push_back({.name = std::string(column.text("name")),
                     .type = std::string(column.text("type")),
                     .format = std::string(column.text("format")),
                     .description = std::string(column.text("description")),
                     .json_path = std::string(column.text("jsonPath")),
                     .priority = priority != nullptr ? *priority : 0});
    }
  }
  for (CustomColumn& column : out)
    if (column.description.empty())
      column.description = "Custom resource definition column (in JSONPath format): " + column.json_path;
  return out;
}

json::Value cell_of(const CustomColumn& column, const json::Value& object) {
  const auto path = JsonPath::parse(column.json_path);
  const json::Value* found = path ? path->first(object) : nullptr;
  if (found == nullptr || found->is_null()) return {};
  if (column.type == "string") {
    if (found->is_string()) return *found;
    if (found->as_double() != nullptr) return go_float(*found->as_double());
    return json::dump(*found);
  }
  if (column.type == "integer") {
    if (found->as_int() != nullptr) return *found;
    const auto number = found->number();
    if (number && *number > -9.2e18 && *number < 9.2e18) return static_cast<std::int64_t>(*number);
    return {};
  }
  if (column.type == "number") return found->is_number() ? *found : json::Value();
  if (column.type == "boolean") return found->as_bool() != nullptr ? *found : json::Value();
  if (column.type == "date" && found->is_string())
    return parse_rfc3339(*found->as_string()) ? *found : json::Value("<invalid>");
  return {};
}

}  // namespace kopper::plane
