#pragma once

#include <cstddef>
#include <expected>
#include <functional>
#include <string>
#include <string_view>

#include "kopper/base/error.h"

namespace kopper::json {

// Cuts a watch stream into lines as it arrives. Empty lines are left out, a '\r' before the '\n' too.
// After an error only destruction makes sense.
class LineSplitter {
 public:
  // The line's bytes, without its end, are valid during the call.
  using Sink = std::function<void(std::string_view line)>;

  explicit LineSplitter(std::size_t max_line_bytes = std::size_t{16} << 20U) : max_(max_line_bytes) {}

  std::expected<void, DecodeError> feed(std::string_view chunk, const Sink& sink);
  // The stream is over. An error when it ends inside a line: that event is lost.
  std::expected<void, DecodeError> finish() const;

 private:
  std::size_t max_;
  std::size_t fed_ = 0;
  std::string partial_;
};

}  // namespace kopper::json
