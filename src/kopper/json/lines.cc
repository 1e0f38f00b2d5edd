#include "kopper/json/lines.h"

#include <fmt/format.h>

namespace kopper::json {

std::expected<void, DecodeError> LineSplitter::feed(std::string_view chunk, const Sink& sink) {
  const auto emit = [&sink](std::string_view line) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) sink(line);
  };
  while (!chunk.empty()) {
    const std::size_t end = chunk.find('\n');  // memchr
    const std::string_view piece = chunk.substr(0, end);
    if (partial_.size() + piece.size() > max_) {
      return std::unexpected(DecodeError{fmt::format("a line of more than {} bytes", max_), "", fed_});
    }
    const std::size_t used = end == std::string_view::npos ? piece.size() : piece.size() + 1;
    fed_ += used;
    chunk.remove_prefix(used);
    if (end == std::string_view::npos) {
      partial_ += piece;
    } else if (partial_.empty()) {
      emit(piece);
    } else {
      partial_ += piece;
      emit(partial_);
      partial_.clear();
    }
  }
  return {};
}

std::expected<void, DecodeError> LineSplitter::finish() const {
  if (!partial_.empty()) return std::unexpected(DecodeError{"the stream ends inside a line", "", fed_});
  return {};
}

}  // namespace kopper::json
