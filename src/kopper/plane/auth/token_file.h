#pragma once

#include <expected>
#include <string_view>
#include <utility>
#include <vector>

#include "kopper/base/error.h"
#include "kopper/plane/call.h"

namespace kopper::plane {

// Users by their bearer token, from the lines of kube-apiserver's --token-auth-file:
//
//   token,user name,uid,"group1,group2"
//
// It is CSV as Go reads it: quoted fields may hold commas, line breaks and doubled quotes; empty lines are skipped. A
// line without a token is skipped; of two with the same token, the later counts.
std::expected<std::vector<std::pair<std::string, User>>, DecodeError> parse_token_file(std::string_view text);

}  // namespace kopper::plane
