#include "kopper/workloads/completion_indexes.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>

#include <fmt/format.h>

namespace kopper::workloads {

namespace {

std::optional<std::int32_t> number(std::string_view text) {
  std::int32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

}  // namespace

std::set<std::int32_t> parse_indexes(std::string_view text, std::int32_t below) {
  std::set<std::int32_t> out;
  while (!text.empty()) {
    const auto comma = std::min(text.find(','), text.size());
    const auto part = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    const auto dash = part.find('-');
    const auto first = number(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : number(part.substr(dash + 1));
    if (!first || !last) continue;
    for (auto i = *first; i <= *last && i < below; ++i) out.insert(i);
  }
  return out;
}

std::string print_indexes(const std::set<std::int32_t>& indexes) {
  std::string out;
  for (auto at = indexes.begin(); at != indexes.end();) {
    const auto first = *at;
    auto last = first;
    while (++at != indexes.end() && *at == last + 1) last = *at;
    if (!out.empty()) out += ',';
    // Two in a row are two numbers.
    if (first == last) {
      out += fmt::format("{}", first);
    } else {
      out += fmt::format("{}{}{}", first, last == first + 1 ? ',' : '-', last);
    }
  }
  return out;
}

}  // namespace kopper::workloads
