#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kopper/json/value.h"

namespace kopper::json {

// parse(), but of members with the same key the last one counts, as most readers of JSON have it. `duplicates` gets
// their paths ("data.k", "items[0].name"), one for each that was dropped.
std::expected<Value, DecodeError> parse_lenient(std::string_view text, std::vector<std::string>& duplicates,
                                                Limits limits = {});

}  // namespace kopper::json
