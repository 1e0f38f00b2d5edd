#include "kopper/json/writer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "kopper/json/detail/plain_run.h"

namespace kopper::json {
namespace {

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
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  const std::size_t plain = detail::plain_run(begin, end);
  // Room for the quotes and the plain start in one step: most texts are plain to their end.
  const std::size_t before = out.size();
  const std::size_t after = before + plain + 2;
  out.resize_and_overwrite(after, [&](char* to, std::size_t) {
    to[before] = '"';
    std::copy_n(begin, plain, to + before + 1);
    to[after - 1] = '"';
    return plain == text.size() ? after : after - 1;
  });
  if (plain == text.size()) return;
  for (const char* at = begin + plain; at != end;) {
    append_escaped(out, *at++);
    const std::size_t run = detail::plain_run(at, end);
    out.append(at, run);
    at += run;
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
