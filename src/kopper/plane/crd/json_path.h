#pragma once

#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kopper/json/value.h"

namespace kopper::plane {

// The paths that printer columns, the scale subresource and selectable fields are written in:
//   .spec.size    .metadata.labels.app\.x    .spec['a.b']    .spec.items[0]    .items[-1]    .items[*].name
//   .status.conditions[?(@.type=="Ready")].status    ..name
class JsonPath {
 public:
  // The error says what is wrong: "unterminated filter".
  static std::expected<JsonPath, std::string> parse(std::string_view text);

  // All that it points at, in order; empty when there is nothing.
  std::vector<const json::Value*> find(const json::Value& root) const;
  // The first of them, or null.
  const json::Value* first(const json::Value& root) const;

 private:
  struct Steps;
  explicit JsonPath(std::shared_ptr<const Steps> steps);

  std::shared_ptr<const Steps> steps_;
};

}  // namespace kopper::plane
