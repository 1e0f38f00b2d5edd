#include "kopper/runtime/trace_context.h"

#include <charconv>

#include <fmt/format.h>

namespace kopper::runtime {
namespace {

template <std::size_t N>
std::string hex(const std::array<std::uint8_t, N>& bytes) {
  return fmt::format("{:02x}", fmt::join(bytes, ""));
}

// Lower case only, as the standard has it.
template <std::size_t N>
bool from_hex(std::string_view text, std::array<std::uint8_t, N>& out) {
  if (text.size() != 2 * N) return false;
  for (const char c : text)
    if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) return false;
  for (std::size_t i = 0; i < N; ++i) std::from_chars(text.data() + (2 * i), text.data() + (2 * i) + 2, out[i], 16);
  return true;
}

}  // namespace

std::optional<TraceContext> TraceContext::parse(std::string_view text) {
  // version "-" trace id "-" span id "-" flags; a version we do not know may have more after it
  if (text.size() < 55 || text[2] != '-' || text[35] != '-' || text[52] != '-') return std::nullopt;
  std::array<std::uint8_t, 1> version{};
  std::array<std::uint8_t, 1> flags{};
  TraceContext context;
  if (!from_hex(text.substr(0, 2), version) || version[0] == 0xff) return std::nullopt;
  if (version[0] == 0 ? text.size() != 55 : text.size() > 55 && text[55] != '-') return std::nullopt;
  if (!from_hex(text.substr(3, 32), context.trace_id) || !from_hex(text.substr(36, 16), context.span_id) ||
      !from_hex(text.substr(53, 2), flags))
    return std::nullopt;
  if (!context || context.span_id == decltype(context.span_id)()) return std::nullopt;
  context.sampled = (flags[0] & 1U) != 0;
  return context;
}

std::string TraceContext::str() const {
  return fmt::format("00-{}-{}-{:02x}", hex(trace_id), hex(span_id), sampled ? 1 : 0);
}

}  // namespace kopper::runtime
