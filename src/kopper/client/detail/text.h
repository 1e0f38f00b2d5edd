#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "kopper/meta/base64.h"

namespace kopper::client::detail {

inline std::string trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const auto begin = text.find_first_not_of(kSpace);
  if (begin == text.npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(kSpace) - begin + 1));
}

// A header's value must not have one: what follows a line break would be a header of its own.
inline bool has_control(std::string_view text) {
  return std::ranges::any_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

inline bool is_token(std::string_view text) { return !has_control(text) && text.find(' ') == text.npos; }

inline std::string to_base64(std::string_view bytes) {
  std::string out;
  meta::append_base64(out, bytes);
  return out;
}

}  // namespace kopper::client::detail
