#include "kopper/json/writer.h"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

namespace kopper::json {
namespace {

// A byte of each lane is set in its top bit when the lane needs an escape: below 0x20, '"' or '\'.
std::uint64_t escapes(std::uint64_t word) {
  constexpr std::uint64_t kOnes = 0x0101010101010101U;
  constexpr std::uint64_t kTops = 0x8080808080808080U;
  const auto zero = [](std::uint64_t x) { return (x - kOnes) & ~x; };
  const std::uint64_t control = (word - kOnes * 0x20U) & ~word;
  return (control | zero(word ^ kOnes * '"') | zero(word ^ kOnes * '\\')) & kTops;
}

// How many bytes from `at` on can be copied as they are. A borrow between lanes can only report too early in a later
// lane, never hide one, and the first set lane is exact.
std::size_t clean_run(std::string_view text, std::size_t at) {
  const std::size_t begin = at;
  if constexpr (std::endian::native == std::endian::little) {
    for (std::uint64_t word = 0; at + sizeof word <= text.size(); at += sizeof word) {
      std::memcpy(&word, text.data() + at, sizeof word);
      if (const std::uint64_t found = escapes(word))
        return at + static_cast<std::size_t>(std::countr_zero(found)) / 8 - begin;
    }
  }
  while (at < text.size() && static_cast<unsigned char>(text[at]) >= 0x20 && text[at] != '"' && text[at] != '\\') ++at;
  return at - begin;
}

void append_escaped(std::string& out, char c) {
  constexpr std::string_view kHex = "0123456789abcdef";
  switch (c) {
    case '"': out += "\\\""; return;
    case '\\': out += "\\\\"; return;
    case '\b': out += "\\b"; return;
    case '\f': out += "\\f"; return;
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\t': out += "\\t"; return;
    default:
      out += "\\u00";
      out += kHex[static_cast<unsigned char>(c) >> 4U];
      out += kHex[static_cast<unsigned char>(c) & 0xFU];
  }
}

template <class Int>
void append_integer(std::string& out, Int value) {
  std::array<char, 24> text;
  const auto end = std::to_chars(text.begin(), text.end(), value).ptr;
  out.append(text.begin(), end);
}

void append_double(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  const double magnitude = std::abs(value);
  if (magnitude == 0) {
    out += std::signbit(value) ? "-0.0" : "0";  // "-0" would be read as the integer 0
    return;
  }
  const bool fixed = magnitude >= 1e-6 && magnitude < 1e21;
  std::array<char, 40> text;
  auto end =
      std::to_chars(text.begin(), text.end(), value, fixed ? std::chars_format::fixed : std::chars_format::scientific)
          .ptr;
  // 1e-07 is 1e-7 in Go.
  if (!fixed && end - text.begin() >= 4 && end[-4] == 'e' && end[-2] == '0') {
    end[-2] = end[-1];
    --end;
  }
  out.append(text.begin(), end);
}

void append_pretty(std::string& out, const Value& value, std::size_t indent);

void new_line(std::string& out, std::size_t indent) {
  out.push_back('\n');
  out.append(indent, ' ');
}

constexpr std::size_t kIndent = 4;

void append_pretty(std::string& out, const Object& object, std::size_t indent) {
  char before = '{';
  for (const auto& [key, value] : object) {
    out.push_back(std::exchange(before, ','));
    new_line(out, indent + kIndent);
    append_quoted(out, key);
    out += ": ";
    append_pretty(out, value, indent + kIndent);
  }
  new_line(out, indent);
  out.push_back('}');
}

void append_pretty(std::string& out, const Array& array, std::size_t indent) {
  char before = '[';
  for (const Value& value : array) {
    out.push_back(std::exchange(before, ','));
    new_line(out, indent + kIndent);
    append_pretty(out, value, indent + kIndent);
  }
  new_line(out, indent);
  out.push_back(']');
}

void append_pretty(std::string& out, const Value& value, std::size_t indent) {
  if (const Object* object = value.as_object(); object != nullptr && !object->empty())
    return append_pretty(out, *object, indent);
  if (const Array* array = value.as_array(); array != nullptr && !array->empty())
    return append_pretty(out, *array, indent);
  Writer(out).value(value);
}

struct AppendValue {
  Writer& w;

  void operator()(const Object& object) const {
    w.begin_object();
    for (const auto& [key, member] : object) w.key(key).value(member);
    w.end_object();
  }
  void operator()(const Array& array) const {
    w.begin_array();
    for (const Value& element : array) w.value(element);
    w.end_array();
  }
  template <class Scalar>
  void operator()(const Scalar& scalar) const {
    w.value(scalar);
  }
};

}  // namespace

void append_quoted(std::string& out, std::string_view text) {
  out.push_back('"');
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t run = clean_run(text, at);
    out.append(text, at, run);
    at += run;
    if (at < text.size()) append_escaped(out, text[at++]);
  }
  out.push_back('"');
}

Writer& Writer::key(std::string_view name) {
  comma();
  append_quoted(out_, name);
  out_.push_back(':');
  comma_ = false;
  return *this;
}

Writer& Writer::integer(std::int64_t v) {
  comma();
  append_integer(out_, v);
  comma_ = true;
  return *this;
}

Writer& Writer::integer(std::uint64_t v) {
  comma();
  append_integer(out_, v);
  comma_ = true;
  return *this;
}

Writer& Writer::value(double v) {
  comma();
  append_double(out_, v);
  comma_ = true;
  return *this;
}

Writer& Writer::value(std::string_view v) {
  comma();
  append_quoted(out_, v);
  comma_ = true;
  return *this;
}

Writer& Writer::value(const Value& v) {
  std::visit(AppendValue{*this}, v.data());
  return *this;
}

std::string dump(const Value& value) {
  std::string out;
  Writer(out).value(value);
  return out;
}

std::string dump_pretty(const Value& value) {
  std::string out;
  append_pretty(out, value, 0);
  out.push_back('\n');
  return out;
}

}  // namespace kopper::json
