#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kopper/base/error.h"

// The protocol of Redis, version 2. Pure.

namespace redis {

using Words = std::vector<std::string>;

// An answer. An error is one as well: callers often expect it.
struct Reply {
  enum class Type : std::uint8_t { Text, Error, Integer, Null, Array };
  Type type = Type::Null;
  std::string text;  // of Text (simple or bulk) and Error ("MOVED 1 127.0.0.1:6379")
  std::int64_t integer = 0;
  std::vector<Reply> items;

  bool is_error() const { return type == Type::Error; }
  // An error whose text begins so.
  bool is_error(std::string_view start) const { return is_error() && text.starts_with(start); }
};

// A command as it goes over the wire, put behind what `out` has.
void encode(const Words& words, std::string& out);

// Makes replies of bytes, in whatever pieces they come.
class Decoder {
 public:
  // Answers longer than this are refused.
  static constexpr std::size_t kMostBytes = std::size_t{512} << 20U;
  static constexpr std::size_t kMostItems = std::size_t{1} << 20U;
  static constexpr std::size_t kDeepest = 8;
  static constexpr std::size_t kLongestLine = std::size_t{64} << 10U;

  void feed(std::string_view bytes);
  // The next whole reply; nothing when there is none yet. After an error the stream is of no use any more.
  std::expected<std::optional<Reply>, kopper::Error> next();

 private:
  // An array whose items have not all come.
  struct Open {
    Reply array;
    std::size_t missing = 0;
  };
  // The line at at_, without its end; nothing when it is not whole yet.
  std::expected<std::optional<std::string_view>, kopper::Error> line();
  // The next value that is whole by itself, or the start of an array with items, which is put on open_.
  std::expected<std::optional<Reply>, kopper::Error> value();
  std::expected<void, kopper::Error> begin_array(std::int64_t items);

  std::string buffer_;
  std::size_t at_ = 0;               // what is before is done
  std::size_t searched_ = 0;         // no line ends between at_ and here
  std::optional<std::size_t> bulk_;  // at_ is in front of a string of this length
  std::vector<Open> open_;           // outermost first
  std::size_t bytes_ = 0;            // of the reply that is being read, so far
  std::size_t items_ = 0;
};

}  // namespace redis
