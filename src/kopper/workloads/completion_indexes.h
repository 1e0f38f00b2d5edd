#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

namespace kopper::workloads {

// Numbers of an Indexed Job's pods as its status writes them: "1,3-5,7". Those that are `below` the limit; what makes
// no sense is left out. Pure.
std::set<std::int32_t> parse_indexes(std::string_view text, std::int32_t below);
std::string print_indexes(const std::set<std::int32_t>& indexes);

}  // namespace kopper::workloads
