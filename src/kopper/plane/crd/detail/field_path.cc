#include "kopper/plane/crd/detail/field_path.h"

#include <fmt/format.h>

#include "kopper/plane/problems.h"

namespace kopper::plane::detail {
namespace {

constexpr const char* kEnd = "unexpected end of JSON path";
constexpr const char* kNoField = "does not refer to a valid field";

std::string_view next_token(std::string_view& rest) {
  std::size_t end = 0;
  if (rest.starts_with('\'')) {
    end = 1;
    while (end < rest.size() && !(rest[end] == '\'' && rest[end - 1] != '\\')) ++end;
    end = std::min(end + 1, rest.size());
  } else {
    end = rest.find_first_of(".[]");
    if (end == 0) end = 1;
    if (end == std::string_view::npos) end = rest.size();
  }
  const std::string_view token = rest.substr(0, end);
  rest.remove_prefix(end);
  return token;
}

std::expected<std::string, std::string> unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    constexpr std::string_view kNames = "abfnrtv'\\";
    constexpr std::string_view kChars = "\a\b\f\n\r\t\v'\\";
    const std::size_t at = kNames.find(text[++i]);
    if (at == std::string_view::npos)
      return std::unexpected(fmt::format("invalid string literal: invalid escape char \\{}", text[i]));
    out += kChars[at];
  }
  return out;
}

// Follows one name; null when the schema has no such member.
const Schema* follow(const Schema& schema, const std::string& name, FieldPath& path) {
  const Member* member = schema.members != nullptr ? schema.members->find(name) : nullptr;
  const bool named = schema.members != nullptr;
  if (path.str.empty()) path.root = name;
  path.str = named ? at(path.str, name) : at_key(path.str, name);
  if (named) return member != nullptr ? member->schema : nullptr;
  return schema.values;
}

}  // namespace

std::expected<FieldPath, std::string> parse_field_path(std::string_view text, const Schema& schema, bool brackets) {
  FieldPath out{.schema = &schema};
  while (!text.empty()) {
    const std::string_view token = next_token(text);
    std::string name;
    if (token == "[") {
      if (!brackets) return std::unexpected("array notation is not allowed");
      if (text.empty()) return std::unexpected(kEnd);
      const std::string_view quoted = next_token(text);
      if (quoted.size() < 2 || quoted.front() != '\'' || quoted.back() != '\'')
        return std::unexpected(fmt::format("expected single quoted string but got {}", quoted));
      auto plain = unescaped(quoted.substr(1, quoted.size() - 2));
      if (!plain) return std::unexpected(plain.error());
      name = std::move(*plain);
      if (text.empty()) return std::unexpected(kEnd);
      const std::string_view close = next_token(text);
      if (close != "]") return std::unexpected(fmt::format("expected ] but got {}", close));
    } else if (token == ".") {
      if (text.empty()) return std::unexpected(kEnd);
      name = next_token(text);
    } else {
      return std::unexpected(fmt::format("expected [ or . but got: {}", token));
    }
    out.schema = follow(*out.schema, name, out);
    if (out.schema == nullptr) return std::unexpected(kNoField);
  }
  return out;
}

}  // namespace kopper::plane::detail
