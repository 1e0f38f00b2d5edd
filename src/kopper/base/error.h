#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

namespace kopper {

// What went wrong, as far as a caller can act on it. A failed API call maps its HTTP status to one of these.
enum class Code : std::uint8_t {
  Internal,       // a bug, or an answer that makes no sense
  Invalid,        // the input is wrong: 400, 422, a bad file, a bad flag
  Unauthorized,   // 401: who you are is not known
  Forbidden,      // 403: who you are may not
  NotFound,       // 404
  AlreadyExists,  // 409 reason AlreadyExists
  Conflict,       // 409: somebody else changed it, or owns the field
  Gone,           // 410: the resourceVersion or continue token expired
  TooMany,        // 429
  Unavailable,    // no connection, 5xx that may pass
  Timeout,        // our deadline, or 504
  Unsupported,    // the server does not know this verb, kind or media type
};

std::string_view to_string(Code code);

// One field that a server refused, as in a 422 answer.
struct Cause {
  std::string field;
  std::string reason;
  std::string message;

  friend bool operator==(const Cause&, const Cause&) = default;
};

// The one error type of Kopper. Thrown in coroutines, carried as a value where a caller must handle it.
// `what()` is one line a person understands: "context: context: message".
class Error : public std::exception {
 public:
  Error(Code code, std::string message, std::source_location where = std::source_location::current());

  Code code;
  std::string message;
  int http_status = 0;        // 0 when no server answered
  std::string reason;         // the server's machine-readable reason, "FieldManagerConflict"
  std::vector<Cause> causes;  // what the server refused, field by field
  std::optional<std::chrono::milliseconds> retry_after;
  std::source_location where;

  // Puts `context` in front: Error(…, "no such file").with("kubeconfig /a/b") reads "kubeconfig /a/b: no such file".
  Error& with(std::string_view context) &;
  Error&& with(std::string_view context) &&;

  // True when the same call may succeed later without anybody changing anything.
  bool retryable() const;

  const char* what() const noexcept override { return what_.c_str(); }

 private:
  std::string what_;
};

// The exit code of a program that ends with this error: 1 failure, 3 time-out, 4 conflict, 5 invalid, 6 unreachable.
int exit_code(Code code);

// Why bytes could not be decoded, and where: a JSON path such as "spec.containers[0].image" and a byte offset.
struct DecodeError {
  std::string what;
  std::string path;
  std::size_t offset = 0;

  // "spec.size: expected an integer, found a string (offset 41)"
  std::string str() const;
  friend bool operator==(const DecodeError&, const DecodeError&) = default;
};

[[noreturn]] void throw_error(const DecodeError& error, std::string_view context = {},
                              std::source_location where = std::source_location::current());

}  // namespace kopper
