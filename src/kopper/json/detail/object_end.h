#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kopper::json::detail {

// How far into an object a scan is, between two pieces of its text.
struct ObjectScan {
  std::uint64_t depth = 0;  // of open braces
  bool in_string = false;
  bool escaped = false;  // the last byte was a backslash that escapes the next
};

// Looks through `text`, which goes on where `scan` is, for the brace that closes the object: the position after it, or
// npos when it is not there yet. Counts braces outside strings and nothing else: whether it is JSON is for a parser to
// say. Both give the same answer for any bytes.
using ObjectEnd = std::size_t (*)(std::string_view text, ObjectScan& scan);
std::size_t object_end_scalar(std::string_view text, ObjectScan& scan);
// The fastest that this processor runs: AVX2 and carry-less multiplication on x86-64, else the scalar one.
ObjectEnd object_end_best();

}  // namespace kopper::json::detail
