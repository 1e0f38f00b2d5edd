#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kopper/base/error.h"
#include "kopper/json/value.h"

namespace kopper::json {

// A JSON pointer (RFC 6901): "/spec/containers/0/image", "" for the whole document, "~1" for '/' and "~0" for '~'.
class Pointer {
 public:
  Pointer() = default;
  explicit Pointer(std::vector<std::string> tokens) : tokens_(std::move(tokens)) {}
  static std::expected<Pointer, DecodeError> parse(std::string_view text);

  const std::vector<std::string>& tokens() const { return tokens_; }
  std::string str() const;

  // Null when nothing is there.
  const Value* find(const Value& root) const;
  Value* find(Value& root) const;

  friend bool operator==(const Pointer&, const Pointer&) = default;

 private:
  std::vector<std::string> tokens_;
};

// The array position that a token names: decimal digits, no leading zero. Not "-".
std::optional<std::size_t> pointer_index(std::string_view token);

}  // namespace kopper::json
