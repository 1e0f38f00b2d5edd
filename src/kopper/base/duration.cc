#include "kopper/base/duration.h"

#include <charconv>
#include <cstdint>

namespace kopper {

std::optional<std::chrono::seconds> parse_duration(std::string_view text) {
  if (text.empty()) return std::nullopt;
  std::chrono::seconds total{0};
  while (!text.empty()) {
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc()) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    const char unit = text.empty() ? 's' : text.front();
    if (unit != 's' && unit != 'm' && unit != 'h') return std::nullopt;
    if (!text.empty()) text.remove_prefix(1);
    total += std::chrono::seconds(std::int64_t{number} * (unit == 'h' ? 3600 : unit == 'm' ? 60 : 1));
  }
  return total;
}

}  // namespace kopper
