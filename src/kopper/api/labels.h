#pragma once

#include <map>
#include <string>

namespace kopper::api {

using Labels = std::map<std::string, std::string>;

}  // namespace kopper::api
