#include "kopper/json/detail/path.h"

#include <algorithm>

#include <fmt/format.h>

namespace kopper::json::detail {
namespace {

bool plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '$';
}

std::string_view separator(std::string_view rest) { return rest.empty() || rest.front() == '[' ? "" : "."; }

}  // namespace

void prepend_key(std::string& path, std::string_view key) {
  const bool bracket = key.empty() || !std::all_of(key.begin(), key.end(), plain);
  path = fmt::format("{}{}{}{}{}", bracket ? "[" : "", key, bracket ? "]" : "", separator(path), path);
}

void prepend_index(std::string& path, std::size_t index) {
  path = fmt::format("[{}]{}{}", index, separator(path), path);
}

}  // namespace kopper::json::detail
