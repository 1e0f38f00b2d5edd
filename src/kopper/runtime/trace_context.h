#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kopper::runtime {

// What ties spans together across processes: the header `traceparent` of W3C Trace Context.
struct TraceContext {
  std::array<std::uint8_t, 16> trace_id{};
  std::array<std::uint8_t, 8> span_id{};
  bool sampled = false;

  // Nothing for a header that the standard tells to ignore.
  static std::optional<TraceContext> parse(std::string_view traceparent);
  std::string str() const;  // "00-<trace id>-<span id>-01"
  explicit operator bool() const { return trace_id != decltype(trace_id)(); }
  friend bool operator==(const TraceContext&, const TraceContext&) = default;
};

}  // namespace kopper::runtime
