#include "kopper/plane/problems.h"

#include <algorithm>

#include <fmt/format.h>

namespace kopper::plane {
namespace {

// As the messages of kube-apiserver print a value: texts quoted, the rest as JSON.
std::string printed(const json::Value& value) { return value.is_null() ? "null" : json::dump(value); }

}  // namespace

void Problems::add(std::string path, std::string reason, std::string message) {
  causes_.push_back({.field = std::move(path), .reason = std::move(reason), .message = std::move(message)});
}

void Problems::required(std::string path, std::string_view detail) {
  add(std::move(path), "FieldValueRequired",
      detail.empty() ? "Required value" : fmt::format("Required value: {}", detail));
}

void Problems::invalid(std::string path, const json::Value& value, std::string_view detail) {
  add(std::move(path), "FieldValueInvalid",
      detail.empty() ? fmt::format("Invalid value: {}", printed(value))
                     : fmt::format("Invalid value: {}: {}", printed(value), detail));
}

void Problems::type_invalid(std::string path, const json::Value& value, std::string_view detail) {
  add(std::move(path), "FieldValueTypeInvalid", fmt::format("Invalid value: {}: {}", printed(value), detail));
}

void Problems::not_supported(std::string path, const json::Value& value, const std::vector<std::string>& supported) {
  std::string list;
  for (const std::string& one : supported) list += fmt::format("{}\"{}\"", list.empty() ? "" : ", ", one);
  add(std::move(path), "FieldValueNotSupported",
      list.empty() ? fmt::format("Unsupported value: {}", printed(value))
                   : fmt::format("Unsupported value: {}: supported values: {}", printed(value), list));
}

void Problems::duplicate(std::string path, const json::Value& value) {
  add(std::move(path), "FieldValueDuplicate", fmt::format("Duplicate value: {}", printed(value)));
}

void Problems::forbidden(std::string path, std::string_view detail) {
  add(std::move(path), "FieldValueForbidden", fmt::format("Forbidden: {}", detail));
}

void Problems::too_long(std::string path, std::size_t limit) {
  add(std::move(path), "FieldValueTooLong", fmt::format("Too long: may not be more than {} bytes", limit));
}

void Problems::too_many(std::string path, std::size_t count, std::size_t limit) {
  add(std::move(path), "FieldValueTooMany", fmt::format("Too many: {}: must have at most {} items", count, limit));
}

void Problems::not_found(std::string path, const json::Value& value) {
  add(std::move(path), "FieldValueNotFound", fmt::format("Not found: {}", printed(value)));
}

void Problems::internal(std::string path, std::string_view detail) {
  add(std::move(path), "InternalError", fmt::format("Internal error: {}", detail));
}

std::string Problems::str() const {
  std::string out;
  for (const Cause& cause : causes_)
    out += fmt::format("{}{}: {}", out.empty() ? "" : ", ", cause.field, cause.message);
  return causes_.size() == 1 ? out : fmt::format("[{}]", out);
}

std::string at(std::string_view path, std::string_view member) {
  return path.empty() ? std::string(member) : fmt::format("{}.{}", path, member);
}

std::string at(std::string_view path, std::size_t index) { return fmt::format("{}[{}]", path, index); }

std::string at_key(std::string_view path, std::string_view key) { return fmt::format("{}[{}]", path, key); }

}  // namespace kopper::plane
