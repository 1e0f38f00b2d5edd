#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "kopper/http/message.h"
#include "kopper/rt/stream.h"

namespace kopper::http::detail {

// The start line and the headers of a message.
struct H1Head {
  std::string method;  // of a request
  std::string target;
  int status = 0;  // of a response
  Headers headers;
  int version = 11;  // 10 or 11
  bool keep_alive = true;
  bool upgrade = false;
};

// Reads messages from a stream, one after the other: head(), then body() until it has nothing more. Throws
// Error{Invalid} when the bytes are no HTTP (with the status that says so: 400, 431 or 505), Error{Unavailable} when
// they end too early.
class H1Reader {
 public:
  enum class Kind : std::uint8_t { Requests, Responses };

  // `stream` outlives the reader.
  H1Reader(rt::Stream& stream, Kind kind, std::size_t max_header_bytes);
  ~H1Reader();
  H1Reader(const H1Reader&) = delete;
  H1Reader& operator=(const H1Reader&) = delete;

  // The next head; nothing when the stream ended before its first byte. `no_body`: this is the answer to a HEAD or
  // CONNECT.
  Task<std::optional<H1Head>> head(bool no_body = false);
  // The next piece of the body; nothing at its end. Valid until the next call.
  Task<std::optional<std::string_view>> body();
  // All of the message was read.
  bool done() const;
  // Nothing of the message came yet.
  bool untouched() const;

  // Waits for the first byte after a message, or the end.
  Task<> wait_for_data();
  // Waits for the end of the stream. What comes before it is kept for head(); false when that is more than a buffer
  // takes.
  Task<bool> wait_for_end();
  // What came after the message: after an upgrade it is not HTTP any more.
  std::string take_rest();

 private:
  class Parser;
  template <bool kIsRequest>
  class ParserOf;

  void restart();
  void discard();
  Task<bool> fill();  // false at the end of the stream

  rt::Stream& stream_;
  const Kind kind_;
  const std::size_t max_header_bytes_;
  std::unique_ptr<Parser> parser_;
  std::string buffer_;
  std::size_t size_ = 0;      // of buffer_, what was read
  std::size_t consumed_ = 0;  // of that, what was parsed
};

// The bytes that go before the body. Throw Error{Invalid} when a name or value has a line break in it.
std::string request_head(const Request& request, std::string_view target, std::string_view authority);
std::string response_head(const Response& response, bool chunked, bool keep_alive);

}  // namespace kopper::http::detail
