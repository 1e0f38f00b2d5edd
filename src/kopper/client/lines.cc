#include "kopper/client/lines.h"

#include <fmt/format.h>

#include "kopper/base/error.h"

namespace kopper::client {

Task<std::optional<std::string_view>> LineReader::next() {
  if (used_) partial_.clear();
  used_ = false;
  while (true) {
    const auto end = chunk_.find('\n');
    const auto line = chunk_.substr(0, end);
    if (partial_.size() + line.size() > max_) {
      throw Error(Code::Invalid, fmt::format("the server sent a line of more than {} bytes", max_));
    }
    if (end != std::string_view::npos) {
      chunk_.remove_prefix(end + 1);
      // The usual case costs no copy: the line lies in one chunk.
      if (partial_.empty()) co_return line;
      partial_ += line;
      used_ = true;
      co_return std::string_view(partial_);
    }
    partial_ += line;
    chunk_ = {};
    if (!ended_) {
      const auto more = co_await body_->read();
      if (more) {
        chunk_ = *more;
        continue;
      }
      ended_ = true;
    }
    if (partial_.empty()) co_return std::nullopt;
    used_ = true;
    co_return std::string_view(partial_);
  }
}

}  // namespace kopper::client
