#include "kopper/base/error.h"

#include <utility>

#include <fmt/format.h>

namespace kopper {

std::string_view to_string(Code code) {
  switch (code) {
    case Code::Internal: return "Internal";
    case Code::Invalid: return "Invalid";
    case Code::Unauthorized: return "Unauthorized";
    case Code::Forbidden: return "Forbidden";
    case Code::NotFound: return "NotFound";
    case Code::AlreadyExists: return "AlreadyExists";
    case Code::Conflict: return "Conflict";
    case Code::Gone: return "Gone";
    case Code::TooMany: return "TooMany";
    case Code::Unavailable: return "Unavailable";
    case Code::Timeout: return "Timeout";
    case Code::Unsupported: return "Unsupported";
  }
  return "Unknown";
}

Error::Error(Code c, std::string text, std::source_location location)
    : code(c), message(std::move(text)), where(location), what_(message) {}

Error& Error::with(std::string_view context) & {
  what_ = fmt::format("{}: {}", context, what_);
  return *this;
}

Error&& Error::with(std::string_view context) && { return std::move(with(context)); }

bool Error::retryable() const { return code == Code::TooMany || code == Code::Unavailable || code == Code::Timeout; }

int exit_code(Code code) {
  switch (code) {
    case Code::Timeout: return 3;
    case Code::Conflict:
    case Code::AlreadyExists: return 4;
    case Code::Invalid: return 5;
    case Code::Unavailable: return 6;
    default: return 1;
  }
}

std::string DecodeError::str() const {
  if (path.empty()) return fmt::format("{} (offset {})", what, offset);
  return fmt::format("{}: {} (offset {})", path, what, offset);
}

void throw_error(const DecodeError& error, std::string_view context, std::source_location where) {
  Error thrown(Code::Invalid, error.str(), where);
  if (!context.empty()) thrown.with(context);
  throw thrown;
}

}  // namespace kopper
