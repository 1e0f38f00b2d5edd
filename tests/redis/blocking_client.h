#pragma once

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

// A Redis client for tests: blocking, of its own making, so that it verifies the one of the product.

namespace redis::testing {

struct Answer {
  enum class Kind : std::uint8_t { Text, Error, Integer, Null, Array };
  Kind kind = Kind::Null;
  std::string text;  // of Text and Error
  std::int64_t integer = 0;
  std::vector<Answer> items;

  bool is_error(std::string_view start = "") const { return kind == Kind::Error && text.starts_with(start); }
  bool is_text(std::string_view whole) const { return kind == Kind::Text && text == whole; }
  // For messages: "OK", "(error) …", "7", "(nil)", "[a, b]".
  std::string str() const;
};

// The connection is of no use any more, and it is not known whether the server did what it was asked.
class Broken : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// No answer came in time: the server may still do it.
class TimedOut : public Broken {
  using Broken::Broken;
};

// A connection to one server. Of one thread.
class BlockingClient {
 public:
  // Throws Broken, also when the password is not taken.
  explicit BlockingClient(const std::string& address, const std::string& password = "",
                          std::chrono::milliseconds timeout = std::chrono::seconds(2), std::uint16_t port = 6379);
  ~BlockingClient();
  BlockingClient(BlockingClient&& other) noexcept;
  BlockingClient& operator=(BlockingClient&&) = delete;

  Answer call(const std::vector<std::string>& words);
  // All in one write, the answers in the same order.
  std::vector<Answer> pipeline(const std::vector<std::vector<std::string>>& commands);

 private:
  void send_all(std::string_view bytes) const;
  Answer read();
  std::string line();
  std::string bytes(std::size_t count);
  void more();

  int fd_ = -1;
  std::string in_;
  std::size_t at_ = 0;
};

}  // namespace redis::testing
