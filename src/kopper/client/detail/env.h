#pragma once

#include <cstdlib>
#include <string>

#include "kopper/client/config.h"

namespace kopper::client::detail {

inline std::string env(const LoadOptions& options, const char* name) {
  if (options.env) return options.env(name);
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace kopper::client::detail
