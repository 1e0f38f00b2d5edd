#pragma once

#include <string_view>
#include <vector>

namespace kopper::plane {

// One choice of an Accept header: application/json;as=Table;v=v1;g=meta.k8s.io
struct MediaRange {
  std::string_view type;
  std::string_view parameters;

  // "" when it is not given.
  std::string_view parameter(std::string_view name) const;
};

// The choices of an Accept header, the most wanted (q) first, equals in their order. They point into `accept`.
std::vector<MediaRange> parse_accept(std::string_view accept);

}  // namespace kopper::plane
