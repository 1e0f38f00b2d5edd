#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "kopper/http/message.h"
#include "kopper/rt/task.h"

namespace kopper::client {

// Cuts a body into lines while it arrives.
class LineReader {
 public:
  static constexpr std::size_t kMaxLine = std::size_t{64} << 20U;

  // A line longer than `max` ends the reading with Error{Invalid}.
  explicit LineReader(std::unique_ptr<http::Body> body, std::size_t max = kMaxLine)
      : body_(std::move(body)), max_(max) {}

  // The next line without its end; a last one may lack it. Nothing at the end. Valid until the next call.
  Task<std::optional<std::string_view>> next();

 private:
  std::unique_ptr<http::Body> body_;
  std::size_t max_;
  std::string_view chunk_;  // what is left of the body's last chunk
  std::string partial_;     // a line that began in an earlier chunk
  bool used_ = false;       // partial_ was given out
  bool ended_ = false;
};

}  // namespace kopper::client
