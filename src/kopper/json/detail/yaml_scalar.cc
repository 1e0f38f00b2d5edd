#include "kopper/json/detail/yaml_scalar.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

namespace kopper::json::detail {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view take_digits(std::string_view& text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
  const std::string_view digits(text.begin(), end);
  text.remove_prefix(digits.size());
  return digits;
}

bool take(std::string_view& text, std::string_view any_of) {
  if (text.empty() || any_of.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

template <std::size_t N>
bool one_of(std::string_view text, const std::array<std::string_view, N>& words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

std::optional<Value> word(std::string_view text) {
  constexpr std::array<std::string_view, 11> kTrue{"y",    "Y",    "yes", "Yes", "YES", "true",
                                                   "True", "TRUE", "on",  "On",  "ON"};
  constexpr std::array<std::string_view, 11> kFalse{"n",     "N",     "no",  "No",  "NO", "false",
                                                    "False", "FALSE", "off", "Off", "OFF"};
  constexpr std::array<std::string_view, 5> kNull{"", "~", "null", "Null", "NULL"};
  constexpr std::array<std::string_view, 6> kInf{".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"};
  constexpr std::array<std::string_view, 3> kNegativeInf{"-.inf", "-.Inf", "-.INF"};
  constexpr std::array<std::string_view, 3> kNan{".nan", ".NaN", ".NAN"};
  constexpr std::size_t kLongest = 5;
  if (text.size() > kLongest) return std::nullopt;
  if (one_of(text, kTrue)) return true;
  if (one_of(text, kFalse)) return false;
  if (one_of(text, kNull)) return Value();
  if (one_of(text, kInf)) return std::numeric_limits<double>::infinity();
  if (one_of(text, kNegativeInf)) return -std::numeric_limits<double>::infinity();
  if (one_of(text, kNan)) return std::numeric_limits<double>::quiet_NaN();
  return std::nullopt;
}

// [+-] and digits, with the prefixes that Go knows: 0x, 0o, 0b, and a plain 0 for octal.
std::optional<Value> integer(std::string_view text) {
  const bool negative = text.starts_with('-');
  const bool is_signed = take(text, "+-");
  int base = 10;
  if (text.starts_with('0')) {
    const char kind = text.size() >= 3 ? static_cast<char>(text[1] | 0x20) : '\0';
    base = kind == 'x' ? 16 : kind == 'b' ? 2 : 8;
    text.remove_prefix(kind == 'x' || kind == 'b' || kind == 'o' ? 2 : 1);
    if (text.empty()) return 0;
  }
  std::uint64_t magnitude = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), magnitude, base);
  if (text.empty() || end != text.data() + text.size() || error == std::errc::invalid_argument) return std::nullopt;
  constexpr std::uint64_t kMinimum = std::uint64_t{1} << 63U;
  const bool fits = error == std::errc() && (magnitude < kMinimum || (negative ? magnitude == kMinimum : !is_signed));
  if (fits) return negative ? Value(static_cast<std::int64_t>(-magnitude)) : Value(magnitude);
  if (base == 10) return std::nullopt;  // it reads as a float
  double real = 0;
  for (const char c : text) real = real * base + (is_digit(c) ? c - '0' : (c | 0x20) - 'a' + 10);
  return std::isfinite(real) ? std::optional<Value>(negative ? -real : real) : std::nullopt;
}

// [-+]? (.digits | digits [.digits?]) ([eE][-+]?digits)?
std::optional<Value> floating(std::string_view text) {
  const bool negative = text.starts_with('-');
  take(text, "+-");
  std::string_view rest = text;
  const std::string_view whole = take_digits(rest);
  const bool dot = take(rest, ".");
  const std::string_view fraction = dot ? take_digits(rest) : std::string_view();
  if (whole.empty() && fraction.empty()) return std::nullopt;
  bool tiny = whole.find_first_not_of('0') == std::string_view::npos;
  if (take(rest, "eE")) {
    tiny = rest.starts_with('-');
    take(rest, "+-");
    if (take_digits(rest).empty()) return std::nullopt;
  }
  if (!rest.empty()) return std::nullopt;
  double value = 0;
  const auto error = std::from_chars(text.data(), text.data() + text.size(), value).ec;
  if (error == std::errc::result_out_of_range && !tiny) return std::nullopt;  // Go reads what overflows as a string
  if (error == std::errc::result_out_of_range) value = 0;
  return negative ? -value : value;
}

// 2006-1-2, with an optional time after 'T', 't' or blanks.
bool is_timestamp(std::string_view text) {
  if (take_digits(text).size() != 4 || !take(text, "-")) return false;
  if (take_digits(text).empty() || !take(text, "-") || take_digits(text).empty()) return false;
  return text.empty() || text.front() == 'T' || text.front() == 't' || text.front() == ' ';
}

// 190:20:30.15
bool is_base60(std::string_view text) {
  take(text, "+-");
  return !take_digits(text).empty() && text.starts_with(':') &&
         text.find_first_not_of("0123456789_:.") == std::string_view::npos;
}

}  // namespace

Value resolve_plain(std::string_view text) {
  if (auto value = word(text)) return *value;
  const char first = text.front();
  if (first == '.') {
    if (auto value = floating(text)) return *value;
  } else if (is_digit(first) || first == '+' || first == '-') {
    std::string digits(text);
    std::erase(digits, '_');
    if (auto value = integer(digits)) return *value;
    if (auto value = floating(digits)) return *value;
  }
  return text;
}

bool plain_means_itself(std::string_view text) {
  return text != "<<" && text != "=" && !is_timestamp(text) && !is_base60(text) && resolve_plain(text).is_string();
}

std::optional<std::string> key_text(const Value& key) {
  if (const std::string* text = key.as_string()) return *text;
  if (const bool* flag = key.as_bool()) return *flag ? "true" : "false";
  const double* real = key.as_double();
  if (real == nullptr) return key.is_number() ? std::optional(dump(key)) : std::nullopt;
  if (std::isnan(*real)) return ".nan";
  // Go prints a float key with the digits that a 32-bit float needs, and an exponent from 1e+06 on.
  const auto narrow = static_cast<float>(*real);
  if (std::isinf(narrow)) return narrow > 0 ? ".inf" : "-.inf";
  std::array<char, 64> text{};
  auto end = std::to_chars(text.begin(), text.end(), narrow, std::chars_format::scientific).ptr;
  int exponent = 0;
  const char* digits = std::find(text.begin(), end, 'e') + 1;
  std::from_chars(*digits == '+' ? digits + 1 : digits, end, exponent);
  if (exponent >= -4 && exponent < 6)
    end = std::to_chars(text.begin(), text.end(), narrow, std::chars_format::fixed).ptr;
  return std::string(text.begin(), end);
}

std::optional<std::string> decode_base64(std::string_view text) {
  constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  std::uint32_t bits = 0;
  std::size_t count = 0;
  std::size_t padding = 0;
  for (const char c : text) {
    if (c == '\n' || c == '\r') continue;
    const auto digit = kAlphabet.find(c);
    if (c == '=') {
      ++padding;
    } else if (digit == std::string_view::npos || padding != 0) {
      return std::nullopt;
    }
    bits = bits << 6U | (c == '=' ? 0U : static_cast<std::uint32_t>(digit));
    if (++count % 4 != 0) continue;
    if (padding > 2) return std::nullopt;
    out += static_cast<char>(bits >> 16U & 0xFFU);
    if (padding < 2) out += static_cast<char>(bits >> 8U & 0xFFU);
    if (padding < 1) out += static_cast<char>(bits & 0xFFU);
    bits = 0;
  }
  if (count % 4 != 0) return std::nullopt;
  return out;
}

}  // namespace kopper::json::detail
