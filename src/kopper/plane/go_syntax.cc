#include "kopper/plane/go_syntax.h"

#include <cctype>
#include <vector>

#include <fmt/format.h>

namespace kopper::plane {
namespace {

constexpr const char* kEnd = "unexpected end of JSON input";

// As Go writes a byte that it takes for a rune.
std::string quoted(char c) {
  const auto byte = static_cast<unsigned char>(c);
  switch (c) {
    case '\'': return "'\\''";
    case '\\': return "'\\\\'";
    case '\a': return "'\\a'";
    case '\b': return "'\\b'";
    case '\f': return "'\\f'";
    case '\n': return "'\\n'";
    case '\r': return "'\\r'";
    case '\t': return "'\\t'";
    case '\v': return "'\\v'";
    default: break;
  }
  if (byte < 0x20 || byte == 0x7f) return fmt::format("'\\x{:02x}'", byte);
  if (byte < 0x80) return fmt::format("'{}'", c);
  if (byte < 0xa0 || byte == 0xad) return fmt::format("'\\u{:04x}'", byte);
  return fmt::format("'{}{}'", static_cast<char>(0xc0 | (byte >> 6U)), static_cast<char>(0x80 | (byte & 0x3fU)));
}

// Walks over one value without keeping anything of it, and without recursion: what is read here comes from anywhere.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::string run() {
    if (!value()) return error_;
    while (!open_.empty())
      if (!after_value()) return error_;
    space();
    if (at_ < text_.size()) fail("after top-level value");
    return error_;
  }

 private:
  bool fail(std::string_view where) {
    error_ = at_ < text_.size() ? fmt::format("invalid character {} {}", quoted(text_[at_]), where) : kEnd;
    return false;
  }

  void space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r' || text_[at_] == '\n'))
      ++at_;
  }

  bool peek(char c) const { return at_ < text_.size() && text_[at_] == c; }

  bool take(char c) {
    if (!peek(c)) return false;
    ++at_;
    return true;
  }

  // One value, or the beginning of a container: then its first value, and so on.
  bool value() {
    constexpr const char* kBegin = "looking for beginning of value";
    for (;;) {
      space();
      if (at_ == text_.size()) return fail(kBegin);
      const char c = text_[at_];
      if (c == '"') return string();
      if (c == '-' || std::isdigit(static_cast<unsigned char>(c)) != 0) return number();
      if (c == 't') return literal("true");
      if (c == 'f') return literal("false");
      if (c == 'n') return literal("null");
      if (c != '{' && c != '[') return fail(kBegin);
      ++at_;
      space();
      if (take(c == '{' ? '}' : ']')) return true;
      open_.push_back(c);
      if (c == '{' && !key()) return false;
    }
  }

  bool key() {
    space();
    if (!peek('"')) return fail("looking for beginning of object key string");
    if (!string()) return false;
    space();
    return take(':') || fail("after object key");
  }

  bool after_value() {
    space();
    const bool object = open_.back() == '{';
    if (take(object ? '}' : ']')) {
      open_.pop_back();
      return true;
    }
    if (!take(',')) return fail(object ? "after object key:value pair" : "after array element");
    return (!object || key()) && value();
  }

  bool string() {
    ++at_;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (static_cast<unsigned char>(c) < 0x20) return fail("in string literal");
      ++at_;
      if (c == '"') return true;
      if (c == '\\' && !escape()) return false;
    }
    return fail("");
  }

  bool escape() {
    if (at_ == text_.size() || std::string_view("bfnrt\\/\"u").find(text_[at_]) == std::string_view::npos)
      return fail("in string escape code");
    if (text_[at_++] != 'u') return true;
    for (int i = 0; i < 4; ++i, ++at_)
      if (at_ == text_.size() || std::isxdigit(static_cast<unsigned char>(text_[at_])) == 0)
        return fail("in \\u hexadecimal character escape");
    return true;
  }

  bool digits(const char* where) {
    if (at_ == text_.size() || std::isdigit(static_cast<unsigned char>(text_[at_])) == 0) return fail(where);
    while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    return true;
  }

  bool number() {
    take('-');
    if (!take('0') && !digits("in numeric literal")) return false;
    if (take('.') && !digits("after decimal point in numeric literal")) return false;
    if (!take('e') && !take('E')) return true;
    if (!take('+')) take('-');
    return digits("in exponent of numeric literal");
  }

  bool literal(std::string_view word) {
    for (const char c : word)
      if (!take(c)) return fail(fmt::format("in literal {} (expecting '{}')", word, c));
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<char> open_;  // containers around the present value
  std::string error_;
};

}  // namespace

std::string go_json_error(std::string_view text) { return Scanner(text).run(); }

std::string go_yaml_error(std::string_view what) {
  const std::size_t comma = what.find(", column ");
  const std::size_t colon = what.find(": ");
  if (!what.starts_with("line ") || comma == std::string_view::npos || colon == std::string_view::npos)
    return fmt::format("yaml: {}", what);
  const std::string_view line = what.substr(5, comma - 5);
  const std::string_view message = what.substr(colon + 2);
  return line == "1" ? fmt::format("yaml: {}", message) : fmt::format("yaml: line {}: {}", line, message);
}

}  // namespace kopper::plane
