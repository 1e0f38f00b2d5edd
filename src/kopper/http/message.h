#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kopper/rt/task.h"

namespace kopper::http {

// Equal without regard to ASCII case, as header names are.
bool same_name(std::string_view a, std::string_view b);

// Header fields in order. Names are compared without regard to case; h2 sends them in lower case.
class Headers {
 public:
  using Entry = std::pair<std::string, std::string>;

  Headers() = default;
  Headers(std::initializer_list<Entry> entries) : entries_(entries) {}

  // The first value of `name`, or nothing.
  std::optional<std::string_view> get(std::string_view name) const;
  std::vector<std::string_view> all(std::string_view name) const;
  void add(std::string_view name, std::string_view value);
  void set(std::string_view name, std::string_view value);  // replaces all of that name
  void remove(std::string_view name);

  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  std::size_t size() const { return entries_.size(); }

 private:
  std::vector<Entry> entries_;
};

// A stream of bytes that is pulled: while nobody reads, the peer is held back (h2 flow control).
// Destroying it before its end gives the rest up (h2: RST_STREAM).
class Body {
 public:
  virtual ~Body() = default;
  // The next chunk, never empty; nothing at the end. Valid until the next read. Throws Error when the stream breaks.
  virtual Task<std::optional<std::string_view>> read() = 0;
};

// A body that is all there already.
std::unique_ptr<Body> whole(std::string bytes);
// Reads to the end; `body` outlives the await. Throws Error{Invalid} when there are more than `limit` bytes.
Task<std::string> read_all(Body& body, std::size_t limit = std::size_t{1} << 30U);

// Who the client is, by the certificate it showed.
struct Peer {
  std::string common_name;
  std::vector<std::string> organizations;

  friend bool operator==(const Peer&, const Peer&) = default;
};

struct Request {
  std::string method = "GET";
  std::string target = "/";  // path and query, encoded
  Headers headers;
  std::string body;  // requests of the Kubernetes API are small: no streaming up
  // A stream that stays open (watch, log -f): the client keeps it apart from ordinary calls, and no idle time-out ends
  // it.
  bool long_running = false;
  std::optional<Peer> peer;  // set by a server when the client's certificate was verified
};

struct Response {
  int status = 200;
  Headers headers;
  std::unique_ptr<Body> body;  // never null when it comes from a Handler
};

// A response whose body is `text`, with its type and length.
Response text_response(int status, std::string text, std::string_view type = "text/plain; charset=utf-8");

}  // namespace kopper::http
