#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kopper::plane {

// A regular expression of the dialect that the server speaks (RE2): linear in the text, whatever the pattern.
class Pattern {
 public:
  // The error is what Go says of it: "error parsing regexp: missing closing ]: `[a`".
  static std::expected<Pattern, std::string> compile(std::string_view text);

  // Anywhere in `text`, unless the pattern says otherwise.
  bool matches(std::string_view text) const;
  // The first match, and at most `limit` of them.
  std::optional<std::string> find(std::string_view text) const;
  std::vector<std::string> find_all(std::string_view text, std::size_t limit) const;

 private:
  struct Compiled;
  explicit Pattern(std::shared_ptr<const Compiled> compiled);

  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace kopper::plane
