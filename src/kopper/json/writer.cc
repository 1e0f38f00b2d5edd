#include "kopper/json/writer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <memory>
#include <utility>

#include "kopper/json/detail/plain_run.h"

namespace kopper::json {
namespace {

// How much more than the text copy_plain() may write.
constexpr std::size_t kCopySlack = 16;

// Copies from the front as much as is plain, and says how much that is. `to` has room for the whole text and
// kCopySlack.
#ifdef __SSE2__
inline std::size_t copy_plain(char* to, const char* from, std::size_t size) {
  if (size >= 16) {
    const auto sixteen = [&](std::size_t at) {
      const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to + at), bytes);
      return detail::special_bytes(bytes);
    };
    std::size_t at = 0;
    for (; at + 16 <= size; at += 16)
      if (const unsigned special = sixteen(at)) return at + static_cast<std::size_t>(std::countr_zero(special));
    if (at == size) return size;
    const unsigned special = sixteen(size - 16);  // what it sees twice is plain
    return special == 0 ? size : size - 16 + static_cast<std::size_t>(std::countr_zero(special));
  }
  // The first and the last bytes of a short text, which may overlap, as one word.
  const auto ends = [from, size]<class Part>(Part head) {
    Part tail = 0;
    std::memcpy(&head, from, sizeof head);
    std::memcpy(&tail, from + size - sizeof tail, sizeof tail);
    return std::pair(std::uint64_t{head}, std::uint64_t{tail});
  };
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  if (size >= 8) {
    const auto [head, tail] = ends(std::uint64_t{});
    low = head;
    high = size == 8 ? 0 : tail >> (16 - size) * 8;
  } else if (size >= 4) {
    const auto [head, tail] = ends(std::uint32_t{});
    low = head | tail << (size - 4) * 8;
  } else if (size >= 2) {
    const auto [head, tail] = ends(std::uint16_t{});
    low = head | tail << (size - 2) * 8;
  } else if (size == 1) {
    low = static_cast<unsigned char>(*from);
  }
  const __m128i bytes = _mm_set_epi64x(static_cast<std::int64_t>(high), static_cast<std::int64_t>(low));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), bytes);
  const unsigned special = detail::special_bytes(bytes) & ((1U << size) - 1);
  return special == 0 ? size : static_cast<std::size_t>(std::countr_zero(special));
}
#else
inline std::size_t copy_plain(char* to, const char* from, std::size_t size) {
  const std::size_t plain = detail::plain_run(from, from + size);
  std::copy_n(from, plain, to);
  return plain;
}
#endif

// Six bytes at most.
char* put_escaped(char* to, char c) {
  constexpr std::string_view kHex = "0123456789abcdef";
  constexpr std::string_view kShort = "\"\\\b\f\n\r\t";
  constexpr std::string_view kLetters = "\"\\bfnrt";
  *to++ = '\\';
  if (const std::size_t known = kShort.find(c); known != std::string_view::npos) {
    *to++ = kLetters[known];
    return to;
  }
  for (const char digit :
       {'u', '0', '0', kHex[static_cast<unsigned char>(c) >> 4U], kHex[static_cast<unsigned char>(c) & 0xFU]})
    *to++ = digit;
  return to;
}

void append_escaped(std::string& out, char c) {
  std::array<char, 6> text;
  out.append(text.begin(), put_escaped(text.begin(), c));
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

// Writes a whole value into memory of its thread, which stays for the next one, and from there into a string of the
// right size: most of what a server writes is kept for long.
class Dumper {
 public:
  std::string run(const Value& root) {
    at_ = memory_.bytes.get();
    end_ = at_ + memory_.capacity;
    value(root);
    std::string out(memory_.bytes.get(), at_);
    constexpr std::size_t kKeepBytes = std::size_t{4} << 20U;
    if (memory_.capacity > kKeepBytes) memory_ = Memory();
    return out;
  }

 private:
  struct Memory {
    std::unique_ptr<char[]> bytes;
    std::size_t capacity = 0;
  };

  void value(const Value& v) {
    switch (v.data().index()) {
      case 2: return integer(*v.as_int());
      case 5: return text(*v.as_string());
      case 6: return elements(*v.as_array());
      case 7: return members(*v.as_object());
      default: break;
    }
    rare_.clear();
    Writer(rare_).value(v);
    room(rare_.size());
    at_ = std::ranges::copy(rare_, at_).out;
  }

  void integer(std::int64_t number) {
    room(kSlack);
    at_ = std::to_chars(at_, end_, number).ptr;
  }

  void members(const Object& object) {
    room(1);
    *at_++ = '{';
    bool first = true;
    for (const auto& [key, member] : object) {
      if (!std::exchange(first, false)) *at_++ = ',';
      text(key);
      *at_++ = ':';
      value(member);
    }
    room(1);
    *at_++ = '}';
  }

  void elements(const Array& array) {
    room(1);
    *at_++ = '[';
    bool first = true;
    for (const Value& element : array) {
      if (!std::exchange(first, false)) *at_++ = ',';
      value(element);
    }
    room(1);
    *at_++ = ']';
  }

  void text(std::string_view s) {
    room(s.size());
    *at_++ = '"';
    for (;;) {
      const std::size_t plain = copy_plain(at_, s.data(), s.size());
      at_ += plain;
      if (plain == s.size()) break;
      at_ = put_escaped(at_, s[plain]);
      s.remove_prefix(plain + 1);
      room(s.size());
    }
    *at_++ = '"';
  }

  // So many bytes, and kSlack more for what goes with them: quotes, a comma, a colon, what copy_plain() writes too
  // much.
  void room(std::size_t bytes) {
    if (static_cast<std::size_t>(end_ - at_) < bytes + kSlack) grow(bytes + kSlack);
  }

  void grow(std::size_t bytes) {
    const auto used = static_cast<std::size_t>(at_ - memory_.bytes.get());
    Memory more{.bytes = nullptr, .capacity = std::max(std::size_t{4096}, (used + bytes) * 2)};
    more.bytes = std::make_unique_for_overwrite<char[]>(more.capacity);
    std::copy_n(memory_.bytes.get(), used, more.bytes.get());
    memory_ = std::move(more);
    at_ = memory_.bytes.get() + used;
    end_ = memory_.bytes.get() + memory_.capacity;
  }

  static constexpr std::size_t kSlack = 32;

  Memory memory_;
  std::string rare_;
  char* at_ = nullptr;
  char* end_ = nullptr;
};

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
  const char* const end = text.data() + text.size();
  const std::size_t before = out.size();
  // Room for the quotes and the text in one step: most texts are plain to their end.
  const char* at = nullptr;
  out.resize_and_overwrite(before + text.size() + 2 + kCopySlack, [&](char* to, std::size_t) {
    to[before] = '"';
    const std::size_t plain = copy_plain(to + before + 1, text.data(), text.size());
    at = text.data() + plain;
    to[before + 1 + plain] = '"';
    return before + 1 + plain + (at == end ? 1 : 0);
  });
  while (at != end) {
    append_escaped(out, *at++);
    const std::size_t run = detail::plain_run(at, end);
    out.append(at, run);
    at += run;
    if (at == end) out.push_back('"');
  }
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
  thread_local Dumper dumper;
  return dumper.run(value);
}

std::string dump_pretty(const Value& value) {
  std::string out;
  append_pretty(out, value, 0);
  out.push_back('\n');
  return out;
}

}  // namespace kopper::json
