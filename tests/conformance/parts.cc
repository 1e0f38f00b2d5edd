#include <optional>
#include <span>

#include "kopper/json/pointer.h"

#include "conformance/normalise.h"

// Cutting bodies down to the parts that a case is about.
namespace kopper::conformance {
namespace {

using Tokens = std::span<const std::string>;

std::vector<std::string> tokens_of(const std::string& pattern) {
  const auto pointer = json::Pointer::parse(pattern);
  if (!pointer) throw_error(pointer.error(), pattern);
  return pointer->tokens();
}

// Items that are not wanted stay as null, so that positions are right.
void copy_part(const json::Value& from, json::Value& to, Tokens path) {
  if (path.empty()) {
    to = from;
    return;
  }
  const auto& token = path.front();
  if (const auto* object = from.as_object()) {
    for (const auto& [key, value] : *object) {
      if (token == "*" || token == key) copy_part(value, to[key], path.subspan(1));
    }
  } else if (const auto* array = from.as_array()) {
    if (!to.is_array()) to = json::Array();
    to.as_array()->resize(array->size());
    for (std::size_t i = 0; i < array->size(); ++i) {
      if (token == "*" || token == std::to_string(i)) copy_part((*array)[i], (*to.as_array())[i], path.subspan(1));
    }
  }
}

void erase_part(json::Value& from, Tokens path) {
  const auto& token = path.front();
  if (auto* object = from.as_object()) {
    if (path.size() == 1 && token != "*") {
      object->erase(token);
      return;
    }
    for (auto& [key, value] : *object) {
      if (token == "*" || token == key) erase_part(value, path.subspan(1));
    }
  } else if (auto* array = from.as_array()) {
    for (std::size_t i = 0; i < array->size(); ++i) {
      if (token == "*" || token == std::to_string(i)) erase_part((*array)[i], path.subspan(1));
    }
  }
}

}  // namespace

json::Value keep_only(const json::Value& body, const std::vector<std::string>& patterns) {
  json::Value out;
  for (const auto& pattern : patterns) copy_part(body, out, tokens_of(pattern));
  return out;
}

void drop(json::Value& body, const std::vector<std::string>& patterns) {
  for (const auto& pattern : patterns) erase_part(body, tokens_of(pattern));
}

}  // namespace kopper::conformance
