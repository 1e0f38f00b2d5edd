#pragma once

#include <concepts>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kopper/base/error.h"

namespace kopper::http {

// scheme://user:password@host:port/path?query, taken apart. `user`, `password` and `host` are decoded; `path` and
// `query` stay as they were written, since decoding them before they are split would lose what was escaped. A fragment
// is dropped.
struct Url {
  std::string scheme;  // lower case
  std::string user;
  std::string password;
  std::string host;        // lower case; an IPv6 address without its brackets
  std::uint16_t port = 0;  // the scheme's own when the text has none: http 80, https 443, socks5 1080
  std::string path;        // empty or begins with '/'
  std::string query;       // without the '?'

  std::string authority() const;  // host, and the port unless it is the scheme's own: what Host and :authority carry
  std::string host_port() const;  // host and port, always both: what CONNECT carries
  std::string target() const;     // path and query; "/" when the path is empty
  std::string str() const;        // without user and password: for people to read

  friend bool operator==(const Url&, const Url&) = default;
};

// Needs a scheme and a host; at most 64 KiB. Space, control bytes and bad escapes are refused.
std::expected<Url, DecodeError> parse_url(std::string_view text);

// One segment of a path, or one name or value of a query: all but the unreserved characters becomes %XX.
std::string escape(std::string_view text);
// Undoes escape(); `plus_is_space` as in queries. Nothing when an escape is cut short or not hexadecimal.
std::optional<std::string> unescape(std::string_view text, bool plus_is_space = false);

// The segments of an absolute path, decoded: "/api/v1//a%2Fb/" is {"api", "v1", "", "a/b", ""}. Nothing when it does
// not begin with '/' or has a bad escape.
std::optional<std::vector<std::string>> split_path(std::string_view path);

// The parameters of a query, in order.
//   Query().add("watch", true).add("limit", 500).on("/api/v1/pods")  →  "/api/v1/pods?watch=true&limit=500"
class Query {
 public:
  using Entry = std::pair<std::string, std::string>;

  // Splits and decodes "a=1&b=x%20y"; at most 1,000 parameters.
  static std::expected<Query, DecodeError> parse(std::string_view text);

  Query& add(std::string_view name, std::string_view value) &;
  Query& add(std::string_view name, const char* value) & { return add(name, std::string_view(value)); }
  Query& add(std::string_view name, std::integral auto value) & {
    if constexpr (std::same_as<decltype(value), bool>) return add(name, std::string_view(value ? "true" : "false"));
    return add(name, std::to_string(value));
  }
  template <class T>
  Query&& add(std::string_view name, const T& value) && {
    return std::move(add(name, value));
  }
  // Adds nothing when there is nothing to add.
  template <class T>
  Query& add(std::string_view name, const std::optional<T>& value) & {
    return value ? add(name, *value) : *this;
  }

  std::optional<std::string_view> get(std::string_view name) const;  // the first of that name
  bool empty() const { return entries_.empty(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

  std::string str() const;                      // encoded, no '?'
  std::string on(std::string_view path) const;  // path, and "?query" unless it is empty

 private:
  std::vector<Entry> entries_;
};

}  // namespace kopper::http
