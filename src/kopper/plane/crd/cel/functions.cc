#include "kopper/plane/crd/cel/functions.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "kopper/plane/crd/go_text.h"
#include "kopper/plane/crd/pattern.h"

namespace kopper::plane::cel {
namespace {

using Args = std::span<const Value>;
using Int = std::int64_t;
using Uint = std::uint64_t;
using Text = std::string;
using std::chrono::nanoseconds;
using UrlPtr = std::shared_ptr<const Url>;
using SemverPtr = std::shared_ptr<const Semver>;

constexpr std::size_t kLongestText = 10'000'000;

template <class T>
const T& get(const Value& value) {
  return *value.as<T>();
}

// ---- numbers, times ------------------------------------------------------------------------------------------------

Value overflow() { return make_error("integer overflow"); }

Value add_int(Args a) {
  Int out = 0;
  return __builtin_add_overflow(get<Int>(a[0]), get<Int>(a[1]), &out) ? overflow() : Value(out);
}
Value sub_int(Args a) {
  Int out = 0;
  return __builtin_sub_overflow(get<Int>(a[0]), get<Int>(a[1]), &out) ? overflow() : Value(out);
}
Value mul_int(Args a) {
  Int out = 0;
  return __builtin_mul_overflow(get<Int>(a[0]), get<Int>(a[1]), &out) ? overflow() : Value(out);
}
Value div_int(Args a) {
  const Int x = get<Int>(a[0]);
  const Int y = get<Int>(a[1]);
  if (y == 0) return make_error("division by zero");
  if (y == -1 && x == std::numeric_limits<Int>::min()) return overflow();
  return x / y;
}
Value mod_int(Args a) {
  const Int x = get<Int>(a[0]);
  const Int y = get<Int>(a[1]);
  if (y == 0) return make_error("modulus by zero");
  if (y == -1) return x == std::numeric_limits<Int>::min() ? overflow() : Value(Int{0});
  return x % y;
}
Value neg_int(Args a) {
  const Int x = get<Int>(a[0]);
  return x == std::numeric_limits<Int>::min() ? overflow() : Value(-x);
}
Value unsigned_overflow() { return make_error("unsigned integer overflow"); }
Value add_uint(Args a) {
  Uint out = 0;
  return __builtin_add_overflow(get<Uint>(a[0]), get<Uint>(a[1]), &out) ? unsigned_overflow() : Value(out);
}
Value sub_uint(Args a) {
  Uint out = 0;
  return __builtin_sub_overflow(get<Uint>(a[0]), get<Uint>(a[1]), &out) ? unsigned_overflow() : Value(out);
}
Value mul_uint(Args a) {
  Uint out = 0;
  return __builtin_mul_overflow(get<Uint>(a[0]), get<Uint>(a[1]), &out) ? unsigned_overflow() : Value(out);
}
Value div_uint(Args a) {
  return get<Uint>(a[1]) == 0 ? make_error("division by zero") : Value(get<Uint>(a[0]) / get<Uint>(a[1]));
}
Value mod_uint(Args a) {
  return get<Uint>(a[1]) == 0 ? make_error("modulus by zero") : Value(get<Uint>(a[0]) % get<Uint>(a[1]));
}

std::optional<Int> nanos_sum(Int a, Int b) {
  Int out = 0;
  if (__builtin_add_overflow(a, b, &out)) return std::nullopt;
  return out;
}
Int nanos(const Value& value) {
  if (const auto* span = value.as<Span>()) return span->count();
  return get<Instant>(value).time_since_epoch().count();
}
Value add_time(Args a) {
  const auto sum = nanos_sum(nanos(a[0]), nanos(a[1]));
  if (!sum) return make_error("duration overflow");
  const bool point = a[0].as<Instant>() != nullptr || a[1].as<Instant>() != nullptr;
  return point ? Value(Instant(nanoseconds(*sum))) : Value(nanoseconds(*sum));
}
Value sub_time(Args a) {
  Int out = 0;
  if (__builtin_sub_overflow(nanos(a[0]), nanos(a[1]), &out)) return make_error("duration overflow");
  const bool point = a[0].as<Instant>() != nullptr && a[1].as<Span>() != nullptr;
  return point ? Value(Instant(nanoseconds(out))) : Value(nanoseconds(out));
}
Value neg_time(Args a) {
  const Int n = nanos(a[0]);
  return n == std::numeric_limits<Int>::min() ? make_error("duration overflow") : Value(nanoseconds(-n));
}

Value less(Args a) { return order(a[0], a[1]) == -1; }
Value less_equal(Args a) {
  const auto o = order(a[0], a[1]);
  return o && *o <= 0;
}
Value greater(Args a) { return order(a[0], a[1]) == 1; }
Value greater_equal(Args a) {
  const auto o = order(a[0], a[1]);
  return o && *o >= 0;
}
Value equals(Args a) { return equal(a[0], a[1]); }
Value differs(Args a) { return !equal(a[0], a[1]); }

Value no_conversion(const Value& from, std::string_view to) {
  return make_error(fmt::format("type conversion error from '{}' to '{}'", type_name(from), to));
}

template <class T>
Value parsed_number(const Value& from, std::string_view to) {
  const Text& text = get<Text>(from);
  T out{};
  const char* begin = text.data();
  if (text.size() > 1 && text[0] == '+') ++begin;
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), out);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return no_conversion(from, to);
  return out;
}
Value to_int(Args a) {
  if (const auto* n = a[0].as<Uint>()) {
    if (*n > static_cast<Uint>(std::numeric_limits<Int>::max())) return overflow();
    return static_cast<Int>(*n);
  }
  if (const auto* n = a[0].as<double>()) {
    if (!(*n > -9223372036854775808.0 && *n < 9223372036854775808.0)) return overflow();
    return static_cast<Int>(*n);
  }
  if (a[0].as<Text>() != nullptr) return parsed_number<Int>(a[0], "int");
  if (a[0].as<Instant>() != nullptr)
    return static_cast<Int>(std::chrono::floor<std::chrono::seconds>(get<Instant>(a[0])).time_since_epoch().count());
  if (a[0].as<Span>() != nullptr) return nanos(a[0]);
  return a[0];
}
Value to_uint(Args a) {
  if (const auto* n = a[0].as<Int>()) return *n < 0 ? unsigned_overflow() : Value(static_cast<Uint>(*n));
  if (const auto* n = a[0].as<double>())
    return *n >= 0 && *n < 18446744073709551616.0 ? Value(static_cast<Uint>(*n)) : unsigned_overflow();
  if (a[0].as<Text>() != nullptr) return parsed_number<Uint>(a[0], "uint");
  return a[0];
}
Value to_double(Args a) {
  if (const auto* n = a[0].as<Int>()) return static_cast<double>(*n);
  if (const auto* n = a[0].as<Uint>()) return static_cast<double>(*n);
  if (a[0].as<Text>() != nullptr) return parsed_number<double>(a[0], "double");
  return a[0];
}
Value to_bool(Args a) {
  const Text& text = get<Text>(a[0]);
  for (const char* yes : {"1", "t", "T", "TRUE", "true", "True"})
    if (text == yes) return true;
  for (const char* no : {"0", "f", "F", "FALSE", "false", "False"})
    if (text == no) return false;
  return no_conversion(a[0], "bool");
}
Value to_text(Args a) { return printed(a[0]); }
Value to_duration(Args a) {
  if (const auto span = parse_go_duration(get<Text>(a[0]))) return *span;
  return no_conversion(a[0], "google.protobuf.Duration");
}
Value to_timestamp(Args a) {
  if (const auto* seconds = a[0].as<Int>()) {
    Int out = 0;
    if (__builtin_mul_overflow(*seconds, Int{1'000'000'000}, &out)) return make_error("timestamp overflow");
    return Instant(nanoseconds(out));
  }
  if (const auto at = parse_rfc3339(get<Text>(a[0]))) return Instant(*at);
  return no_conversion(a[0], "google.protobuf.Timestamp");
}

std::chrono::year_month_day date_of(const Value& value) {
  return std::chrono::year_month_day(std::chrono::floor<std::chrono::days>(get<Instant>(value)));
}
Int of_day(const Value& value, Int unit, Int count) {  // hours, minutes … of a time, or all of a duration
  if (value.as<Span>() != nullptr) return nanos(value) / unit;
  const auto time = get<Instant>(value);
  const Int inside = (time - std::chrono::floor<std::chrono::days>(time)).count();
  return inside / unit % count;
}
constexpr Int kHour = 3'600'000'000'000;
constexpr Int kMinute = 60'000'000'000;
constexpr Int kSecond = 1'000'000'000;
constexpr Int kMilli = 1'000'000;

// ---- text ----------------------------------------------------------------------------------------------------------

std::vector<std::string_view> characters(std::string_view text) {
  std::vector<std::string_view> out;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i + 1;
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) ++end;
    out.push_back(text.substr(i, end - i));
    i = end;
  }
  return out;
}
std::size_t byte_of(std::string_view text, Int character) {
  std::size_t i = 0;
  for (Int n = 0; i < text.size(); ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xC0U) != 0x80U && n++ == character) return i;
  return text.size();
}
Int character_of(std::string_view text, std::size_t byte) { return static_cast<Int>(runes(text.substr(0, byte))); }

Value out_of_range(Int index) { return make_error(fmt::format("index out of range: {}", index)); }

Value text_index_of(Args a) {
  const Text& text = get<Text>(a[0]);
  const Int from = a.size() > 2 ? get<Int>(a[2]) : 0;
  if (from < 0 || from > static_cast<Int>(runes(text))) return out_of_range(from);
  const std::size_t found = text.find(get<Text>(a[1]), byte_of(text, from));
  return found == Text::npos ? Int{-1} : character_of(text, found);
}
Value text_last_index_of(Args a) {
  const Text& text = get<Text>(a[0]);
  std::size_t from = Text::npos;
  if (a.size() > 2) {
    const Int index = get<Int>(a[2]);
    if (index < 0 || index > static_cast<Int>(runes(text))) return out_of_range(index);
    from = byte_of(text, index);
  }
  const std::size_t found = text.rfind(get<Text>(a[1]), from);
  return found == Text::npos ? Int{-1} : character_of(text, found);
}
Value char_at(Args a) {
  const Text& text = get<Text>(a[0]);
  const Int index = get<Int>(a[1]);
  const auto size = static_cast<Int>(runes(text));
  if (index < 0 || index > size) return out_of_range(index);
  if (index == size) return Text();
  return Text(characters(text)[static_cast<std::size_t>(index)]);
}
Value substring(Args a) {
  const Text& text = get<Text>(a[0]);
  const auto size = static_cast<Int>(runes(text));
  const Int begin = get<Int>(a[1]);
  const Int end = a.size() > 2 ? get<Int>(a[2]) : size;
  if (a.size() > 2 && begin > end)
    return make_error(fmt::format("invalid substring range. start: {}, end: {}", begin, end));
  if (begin < 0 || begin > size) return out_of_range(begin);
  if (end < 0 || end > size) return out_of_range(end);
  const std::size_t first = byte_of(text, begin);
  return text.substr(first, byte_of(text, end) - first);
}
Value replace(Args a) {
  const Text& text = get<Text>(a[0]);
  const Text& old = get<Text>(a[1]);
  const Text& fresh = get<Text>(a[2]);
  Int left = a.size() > 3 ? get<Int>(a[3]) : -1;
  Text out;
  std::size_t at = 0;
  if (old.empty()) {  // before every character and at the end
    for (const std::string_view c : characters(text)) {
      if (left != 0) out += fresh;
      if (left > 0) --left;
      out += c;
      if (out.size() > kLongestText) return make_error("string too long");
    }
    if (left != 0) out += fresh;
    return out;
  }
  while (left != 0) {
    const std::size_t found = text.find(old, at);
    if (found == Text::npos) break;
    out.append(text, at, found - at).append(fresh);
    if (out.size() > kLongestText) return make_error("string too long");
    at = found + old.size();
    if (left > 0) --left;
  }
  return out.append(text, at);
}
Value split(Args a) {
  const Text& text = get<Text>(a[0]);
  const Text& by = get<Text>(a[1]);
  Int limit = a.size() > 2 ? get<Int>(a[2]) : -1;
  std::vector<Value> out;
  if (limit == 0) return make_list({});
  if (by.empty()) {
    for (const std::string_view c : characters(text)) out.emplace_back(Text(c));
    return make_list(std::move(out));
  }
  std::size_t at = 0;
  while (limit < 0 || static_cast<Int>(out.size()) + 1 < limit) {
    const std::size_t found = text.find(by, at);
    if (found == Text::npos) break;
    out.emplace_back(text.substr(at, found - at));
    at = found + by.size();
  }
  out.emplace_back(text.substr(at));
  return make_list(std::move(out));
}
Value join(Args a) {
  Text out;
  for (std::size_t i = 0; i < a[0].size(); ++i) {
    const Value item = a[0].at(i);
    const Text* text = item.as<Text>();
    if (text == nullptr) return make_error("no such overload");
    if (i > 0 && a.size() > 1) out += get<Text>(a[1]);
    out += *text;
    if (out.size() > kLongestText) return make_error("string too long");
  }
  return out;
}
Value lower_ascii(Args a) {
  Text out = get<Text>(a[0]);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return out;
}
Value upper_ascii(Args a) {
  Text out = get<Text>(a[0]);
  for (char& c : out) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  return out;
}
Value trim(Args a) {
  std::string_view text = get<Text>(a[0]);
  constexpr std::string_view kBlank = " \t\n\v\f\r";
  const std::size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return Text();
  return Text(text.substr(begin, text.find_last_not_of(kBlank) - begin + 1));
}
Value matches(Args a) {
  const auto pattern = Pattern::compile(get<Text>(a[1]));
  return pattern ? Value(pattern->matches(get<Text>(a[0]))) : make_error(pattern.error());
}
Value find(Args a) {
  const auto pattern = Pattern::compile(get<Text>(a[1]));
  if (!pattern) return make_error("Illegal regex: " + pattern.error());
  return pattern->find(get<Text>(a[0])).value_or("");
}
Value find_all(Args a) {
  const auto pattern = Pattern::compile(get<Text>(a[1]));
  if (!pattern) return make_error("Illegal regex: " + pattern.error());
  const Int limit = a.size() > 2 ? get<Int>(a[2]) : -1;
  std::vector<Value> out;
  for (Text& hit : pattern->find_all(get<Text>(a[0]), limit < 0 ? kLongestText : static_cast<std::size_t>(limit)))
    out.emplace_back(std::move(hit));
  return make_list(std::move(out));
}

Value quote(Args a) { return go_quoted(get<Text>(a[0])); }

Text formatted_one(char verb, std::optional<int> precision, const Value& value, Text& trouble) {
  if (verb == 's') return printed(value);
  const auto* whole = value.as<Int>();
  const auto* natural = value.as<Uint>();
  const auto integer = [&](auto number) -> Text {
    switch (verb) {
      case 'd': return fmt::format("{}", number);
      case 'b': return fmt::format("{:b}", number);
      case 'o': return fmt::format("{:o}", number);
      case 'x': return fmt::format("{:x}", number);
      default: return fmt::format("{:X}", number);
    }
  };
  if (std::string_view("dboxX").find(verb) != std::string_view::npos) {
    if (whole != nullptr) return integer(*whole);
    if (natural != nullptr) return integer(*natural);
    if (const auto* flag = value.as<bool>(); flag != nullptr && verb == 'b') return *flag ? "1" : "0";
    if (const auto* text = value.as<Text>(); text != nullptr && (verb == 'x' || verb == 'X')) {
      Text out;
      for (const char c : *text)
        out += verb == 'x' ? fmt::format("{:02x}", static_cast<unsigned char>(c))
                           : fmt::format("{:02X}", static_cast<unsigned char>(c));
      return out;
    }
  }
  if (verb == 'f' || verb == 'e') {
    const double* real = value.as<double>();
    const double number = real != nullptr      ? *real
                          : whole != nullptr   ? static_cast<double>(*whole)
                          : natural != nullptr ? static_cast<double>(*natural)
                                               : std::nan("");
    if (real != nullptr || whole != nullptr || natural != nullptr)
      return verb == 'f' ? fmt::format("{:.{}f}", number, precision.value_or(6))
                         : fmt::format("{:.{}e}", number, precision.value_or(6));
  }
  trouble =
      fmt::format("error during formatting: could not convert argument of type {} to %{}", type_name(value), verb);
  return {};
}
Value format(Args a) {
  const Text& text = get<Text>(a[0]);
  Text out;
  std::size_t used = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (++i >= text.size()) return make_error("unexpected end of string");
    if (text[i] == '%') {
      out += '%';
      continue;
    }
    std::optional<int> precision;
    if (text[i] == '.') {
      int digits = 0;
      for (++i; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i)
        digits = std::min(digits * 10 + text[i] - '0', 100);
      precision = digits;
      if (i >= text.size()) return make_error("unexpected end of string");
    }
    if (used >= a[1].size()) return make_error(fmt::format("index {} out of range", used));
    Text trouble;
    out += formatted_one(text[i], precision, a[1].at(used++), trouble);
    if (!trouble.empty()) return make_error(trouble);
  }
  return out;
}

// ---- lists ---------------------------------------------------------------------------------------------------------

// A set of the request takes what it does not hold; a list with keys replaces the items it holds.
Value add_lists(Args a) {
  std::vector<Value> out;
  const Schema* schema = a[0].list_schema();
  for (std::size_t i = 0; i < a[0].size(); ++i) out.push_back(a[0].at(i));
  for (std::size_t i = 0; i < a[1].size(); ++i) {
    Value item = a[1].at(i);
    if (schema != nullptr && schema->list != Schema::List::Atomic) {
      const auto same = [&](const Value& known) {
        if (schema->list == Schema::List::Set) return equal(known, item);
        return std::ranges::all_of(schema->keys, [&](const Text& key) {
          Value x;
          Value y;
          return known.find(key, x) == item.find(key, y) && equal(x, y);
        });
      };
      if (const auto known = std::ranges::find_if(out, same); known != out.end()) {
        *known = std::move(item);
        continue;
      }
    }
    out.push_back(std::move(item));
  }
  return make_list(std::move(out));
}
Value in_list(Args a) {
  for (std::size_t i = 0; i < a[1].size(); ++i)
    if (equal(a[0], a[1].at(i))) return true;
  return false;
}
Value in_map(Args a) {
  Value ignored;
  return a[1].find(a[0], ignored);
}
Value list_at(Args a) {
  const Int* index = a[1].as<Int>();
  Int whole = index != nullptr ? *index : 0;
  if (index == nullptr) {
    const auto* real = a[1].as<double>();
    const auto* natural = a[1].as<Uint>();
    if (real != nullptr && *real == std::trunc(*real) && std::abs(*real) < 9e15) {
      whole = static_cast<Int>(*real);
    } else if (natural != nullptr && *natural < kLongestText) {
      whole = static_cast<Int>(*natural);
    } else {
      return make_error("no such overload");
    }
  }
  if (whole < 0 || whole >= static_cast<Int>(a[0].size()))
    return make_error(fmt::format("index out of bounds: {}", whole));
  return a[0].at(static_cast<std::size_t>(whole));
}
Value map_at(Args a) {
  Value out;
  if (!a[0].find(a[1], out)) return make_error(fmt::format("no such key: {}", printed(a[1])));
  return out;
}
Value optional_at(Args a) {
  Value from = a[0];
  if (const auto* wrapped = a[0].as<Optional>()) {
    if (wrapped->value == nullptr) return no_optional();
    from = *wrapped->value;
  }
  const Value args[] = {from, a[1]};
  Value out = from.is_list() ? list_at(args) : map_at(args);
  return out.is_error() ? no_optional() : make_optional(std::move(out));
}
Value size(Args a) { return static_cast<Int>(a[0].size()); }
Value is_sorted(Args a) {
  for (std::size_t i = 1; i < a[0].size(); ++i)
    if (order(a[0].at(i - 1), a[0].at(i)) == 1) return false;
  return true;
}
Value sum(Args a) {
  if (a[0].size() == 0) return Int{0};
  Value out = a[0].at(0);
  for (std::size_t i = 1; i < a[0].size() && !out.is_error(); ++i) {
    const Value both[] = {out, a[0].at(i)};
    if (fits(both[0], {Type::Kind::Int}) && fits(both[1], {Type::Kind::Int})) {
      out = add_int(both);
    } else if (fits(both[0], {Type::Kind::Double}) && fits(both[1], {Type::Kind::Double})) {
      out = get<double>(both[0]) + get<double>(both[1]);
    } else if (fits(both[0], {Type::Kind::Uint}) && fits(both[1], {Type::Kind::Uint})) {
      out = add_uint(both);
    } else if (fits(both[0], {Type::Kind::Duration}) && fits(both[1], {Type::Kind::Duration})) {
      out = add_time(both);
    } else {
      return make_error("no such overload");
    }
  }
  return out;
}
Value extreme(Args a, int wanted) {
  if (a[0].size() == 0) return make_error(wanted < 0 ? "min called on empty list" : "max called on empty list");
  Value best = a[0].at(0);
  for (std::size_t i = 1; i < a[0].size(); ++i) {
    Value item = a[0].at(i);
    if (order(item, best) == wanted) best = std::move(item);
  }
  return best;
}
Value list_index_of(Args a) {
  for (std::size_t i = 0; i < a[0].size(); ++i)
    if (equal(a[0].at(i), a[1])) return static_cast<Int>(i);
  return Int{-1};
}
Value list_last_index_of(Args a) {
  for (std::size_t i = a[0].size(); i > 0; --i)
    if (equal(a[0].at(i - 1), a[1])) return static_cast<Int>(i - 1);
  return Int{-1};
}
Value slice(Args a) {
  const Int begin = get<Int>(a[1]);
  const Int end = get<Int>(a[2]);
  const auto count = static_cast<Int>(a[0].size());
  if (begin < 0 || end < 0)
    return make_error(fmt::format("cannot slice({}, {}), negative indexes not supported", begin, end));
  if (begin > end)
    return make_error(
        fmt::format("cannot slice({}, {}), start index must be less than or equal to end index", begin, end));
  if (end > count) return make_error(fmt::format("cannot slice({}, {}), list is length {}", begin, end, count));
  std::vector<Value> out;
  for (Int i = begin; i < end; ++i) out.push_back(a[0].at(static_cast<std::size_t>(i)));
  return make_list(std::move(out));
}
void flatten_into(const Value& list, Int depth, std::vector<Value>& out) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    Value item = list.at(i);
    if (item.is_list() && depth > 0) {
      flatten_into(item, depth - 1, out);
    } else {
      out.push_back(std::move(item));
    }
  }
}
Value flatten(Args a) {
  const Int depth = a.size() > 1 ? get<Int>(a[1]) : 1;
  if (depth < 0) return make_error("level must be non-negative");
  std::vector<Value> out;
  flatten_into(a[0], std::min<Int>(depth, 256), out);
  return make_list(std::move(out));
}
Value distinct(Args a) {
  std::vector<Value> out;
  for (std::size_t i = 0; i < a[0].size(); ++i) {
    Value item = a[0].at(i);
    if (std::ranges::none_of(out, [&](const Value& known) { return equal(known, item); }))
      out.push_back(std::move(item));
  }
  return make_list(std::move(out));
}
Value reverse(Args a) {
  std::vector<Value> out;
  for (std::size_t i = a[0].size(); i > 0; --i) out.push_back(a[0].at(i - 1));
  return make_list(std::move(out));
}
Value sort(Args a) {
  std::vector<Value> out;
  for (std::size_t i = 0; i < a[0].size(); ++i) out.push_back(a[0].at(i));
  std::ranges::stable_sort(out, [](const Value& x, const Value& y) { return order(x, y) == -1; });
  return make_list(std::move(out));
}
Value range(Args a) {
  const Int count = get<Int>(a[0]);
  if (count > 1'000'000) return make_error("list is too long");
  std::vector<Value> out;
  for (Int i = 0; i < count; ++i) out.emplace_back(i);
  return make_list(std::move(out));
}
bool holds_all(const Value& list, const Value& of) {
  for (std::size_t i = 0; i < of.size(); ++i) {
    const Value pair[] = {of.at(i), list};
    if (!get<bool>(in_list(pair))) return false;
  }
  return true;
}
Value intersects(Args a) {
  for (std::size_t i = 0; i < a[0].size(); ++i) {
    const Value pair[] = {a[0].at(i), a[1]};
    if (get<bool>(in_list(pair))) return true;
  }
  return false;
}

// ---- optionals -----------------------------------------------------------------------------------------------------

bool is_zero(const Value& value) {
  if (value.is_null()) return true;
  if (value.is_list() || value.is_map() || value.as<Text>() != nullptr || value.as<Bytes>() != nullptr)
    return value.size() == 0;
  if (const auto* flag = value.as<bool>()) return !*flag;
  if (const auto* span = value.as<Span>()) return span->count() == 0;
  return order(value, Int{0}) == 0;
}

// ---- Kubernetes ----------------------------------------------------------------------------------------------------

Value to_quantity(Args a) {
  auto amount = api::Quantity::parse(get<Text>(a[0]));
  return amount ? Value(*amount)
                : make_error(
                      "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
}
Value quantity_sum(Args a, int direction) {
  api::Quantity other = a[1].as<Int>() != nullptr ? api::Quantity(get<Int>(a[1])) : get<api::Quantity>(a[1]);
  api::Quantity out = get<api::Quantity>(a[0]);
  return direction > 0 ? out += other : out -= other;
}
Value quantity_integer(Args a) {
  const auto whole = get<api::Quantity>(a[0]).as_int64();
  return whole ? Value(*whole) : make_error("cannot convert value to integer");
}

std::optional<Ip> plain_ip(const Text& text) {
  auto ip = Ip::parse(text);
  if (!ip || ip->is_mapped()) return std::nullopt;
  return ip;
}
std::optional<Cidr> plain_cidr(const Text& text) {
  auto cidr = Cidr::parse(text);
  if (!cidr || cidr->ip.is_mapped()) return std::nullopt;
  return cidr;
}
Value to_ip(Args a) {
  const Text& text = get<Text>(a[0]);
  if (const auto ip = plain_ip(text)) return *ip;
  return make_error(
      fmt::format("IP Address {} parse error during conversion from string: ParseAddr({}): unable to parse IP",
                  go_quoted(text), go_quoted(text)));
}
Value to_cidr(Args a) {
  const Text& text = get<Text>(a[0]);
  if (const auto cidr = plain_cidr(text)) return *cidr;
  return make_error(fmt::format(
      "network address parse error during conversion from string: netip.ParsePrefix({}): no '/'", go_quoted(text)));
}
bool loopback(const Ip& ip) {
  if (!ip.v6) return ip.bytes[0] == 127;
  return ip == *Ip::parse("::1");
}
bool unspecified(const Ip& ip) {
  return std::ranges::all_of(ip.bytes, [](std::uint8_t b) { return b == 0; });
}
bool link_local_multicast(const Ip& ip) {
  if (!ip.v6) return ip.bytes[0] == 224 && ip.bytes[1] == 0 && ip.bytes[2] == 0;
  return ip.bytes[0] == 0xFF && (ip.bytes[1] & 0x0FU) == 2;
}
bool link_local_unicast(const Ip& ip) {
  if (!ip.v6) return ip.bytes[0] == 169 && ip.bytes[1] == 254;
  return ip.bytes[0] == 0xFE && (ip.bytes[1] & 0xC0U) == 0x80;
}
bool global_unicast(const Ip& ip) {
  const bool multicast = ip.v6 ? ip.bytes[0] == 0xFF : (ip.bytes[0] & 0xF0U) == 0xE0;
  const bool broadcast = !ip.v6 && ip.str() == "255.255.255.255";
  return !multicast && !broadcast && !unspecified(ip) && !loopback(ip) && !link_local_unicast(ip);
}
Value contains_ip(Args a) {
  const Cidr& cidr = get<Cidr>(a[0]);
  if (const auto* ip = a[1].as<Ip>()) return cidr.contains(*ip);
  const auto ip = plain_ip(get<Text>(a[1]));
  return ip ? Value(cidr.contains(*ip)) : to_ip(a.subspan(1));
}
Value contains_cidr(Args a) {
  const Cidr& cidr = get<Cidr>(a[0]);
  std::optional<Cidr> other;
  if (const auto* given = a[1].as<Cidr>()) {
    other = *given;
  } else {
    other = plain_cidr(get<Text>(a[1]));
    if (!other) return to_cidr(a.subspan(1));
  }
  return other->length >= cidr.length && cidr.contains(other->ip);
}

// As Go's ParseRequestURI, with a scheme or a path from the root.
std::optional<Url> parsed_url(const Text& text) {
  static const auto kBad = Pattern::compile(R"([\x00-\x20\x7f]|%([^0-9A-Fa-f]|.[^0-9A-Fa-f]|.?$))");
  if (text.empty() || kBad->matches(text)) return std::nullopt;
  Url out{.text = text};
  std::string_view rest = text;
  static const auto kScheme = Pattern::compile(R"(^[a-zA-Z][a-zA-Z0-9+.-]*:)");
  if (kScheme->matches(rest)) {
    const std::size_t colon = rest.find(':');
    const Value scheme = Text(rest.substr(0, colon));
    out.scheme = get<Text>(lower_ascii({&scheme, 1}));
    rest.remove_prefix(colon + 1);
    if (!rest.starts_with('/')) return std::nullopt;
  } else if (!rest.starts_with('/')) {
    return std::nullopt;
  }
  if (rest.starts_with("//") && !out.scheme.empty()) {
    rest.remove_prefix(2);
    const std::size_t end = std::min(rest.find_first_of("/?#"), rest.size());
    std::string_view authority = rest.substr(0, end);
    if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) authority.remove_prefix(at + 1);
    const std::size_t colon = authority.rfind(':');
    const bool bracketed = authority.starts_with('[');
    const std::size_t close = authority.find(']');
    if (bracketed && close == std::string_view::npos) return std::nullopt;
    if (colon != std::string_view::npos && (!bracketed || colon > close))
      if (!std::ranges::all_of(authority.substr(colon + 1), [](char c) { return c >= '0' && c <= '9'; }))
        return std::nullopt;
    out.host = authority;
    rest.remove_prefix(end);
  }
  if (const std::size_t query = rest.find('?'); query != std::string_view::npos) {
    out.query = rest.substr(query + 1);
    rest = rest.substr(0, query);
  }
  out.path = rest;
  return out;
}
Value to_url(Args a) {
  if (auto url = parsed_url(get<Text>(a[0]))) return std::make_shared<const Url>(std::move(*url));
  return make_error(fmt::format("URL parse error during conversion from string: parse {}: invalid URI for request",
                                go_quoted(get<Text>(a[0]))));
}
std::pair<Text, Text> host_and_port(const Url& url) {
  const std::size_t colon = url.host.rfind(':');
  const std::size_t close = url.host.rfind(']');
  const bool has_port = colon != Text::npos && (close == Text::npos || colon > close);
  Text host = has_port ? url.host.substr(0, colon) : url.host;
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return {std::move(host), has_port ? url.host.substr(colon + 1) : Text()};
}
Text decoded_query(std::string_view text) {
  Text out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(text.data() + i + 1, text.data() + i + 3, value, 16).ec == std::errc()) {
      out += static_cast<char>(value);
      i += 2;
    } else {
      out += text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}
Value url_query(Args a) {
  std::map<Text, std::vector<Value>> all;
  std::string_view rest = get<UrlPtr>(a[0])->query;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('&'), rest.size());
    const std::string_view part = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const std::size_t equals_sign = part.find('=');
    if (part.empty()) continue;
    all[decoded_query(part.substr(0, equals_sign))].emplace_back(
        decoded_query(equals_sign == std::string_view::npos ? std::string_view() : part.substr(equals_sign + 1)));
  }
  std::vector<std::pair<Value, Value>> out;
  for (auto& [key, values] : all) out.emplace_back(Text(key), make_list(std::move(values)));
  return std::make_shared<const std::vector<std::pair<Value, Value>>>(std::move(out));
}

std::optional<Semver> parsed_semver(std::string_view text, bool lenient) {
  static const auto kForm = Pattern::compile(
      R"(^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$)");
  Text fixed(text);
  if (lenient) {
    if (fixed.starts_with('v')) fixed.erase(0, 1);
    const std::size_t end = std::min(fixed.find_first_of("-+"), fixed.size());
    const auto dots = std::count(fixed.begin(), fixed.begin() + static_cast<std::ptrdiff_t>(end), '.');
    for (auto missing = dots; missing < 2; ++missing)
      fixed.insert(std::min(fixed.find_first_of("-+"), fixed.size()), ".0");
  }
  if (!kForm->matches(fixed)) return std::nullopt;
  Semver out;
  fixed = fixed.substr(0, fixed.find('+'));
  const std::size_t dash = fixed.find('-');
  if (dash != Text::npos) {
    const Value parts[] = {fixed.substr(dash + 1), Text(".")};
    const Value list = split(parts);
    for (std::size_t i = 0; i < list.size(); ++i) out.before.push_back(get<Text>(list.at(i)));
  }
  const char* at = fixed.data();
  for (Int* number : {&out.major, &out.minor, &out.patch}) {
    const auto [end, error] = std::from_chars(at, fixed.data() + fixed.size(), *number);
    if (error != std::errc()) return std::nullopt;
    at = end + 1;
  }
  return out;
}
Value to_semver(Args a) {
  auto made = parsed_semver(get<Text>(a[0]), a.size() > 1 && get<bool>(a[1]));
  if (!made) return make_error("No Major.Minor.Patch elements found");
  return std::make_shared<const Semver>(std::move(*made));
}
Value compare_to(Args a) { return static_cast<Int>(order(a[0], a[1]).value_or(0)); }

// ---- the table -----------------------------------------------------------------------------------------------------

// "string.int,int->string": called on a string; "A,list(A)->bool": not called on anything.
class Signature {
 public:
  explicit Signature(std::string_view text) : rest_(text) {}

  Overload read() {
    Overload out;
    if (!rest_.starts_with("->")) {
      out.takes.push_back(type());
      while (rest_[0] == ',' || rest_[0] == '.') {
        const bool dot = rest_[0] == '.';
        out.method = out.method || dot;
        rest_.remove_prefix(1);
        if (dot && rest_.starts_with("->")) break;
        out.takes.push_back(type());
      }
    }
    rest_.remove_prefix(2);
    out.gives = type();
    return out;
  }

 private:
  Type type() {
    const std::size_t end = std::min(rest_.find_first_of("(),.-"), rest_.size());
    const std::string_view name = rest_.substr(0, end);
    rest_.remove_prefix(end);
    Type out;
    if (name.size() == 1 && name[0] >= 'A' && name[0] <= 'Z') {
      out.kind = Type::Kind::Param;
      out.param = name[0];
      return out;
    }
    out.kind = kinds().at(name);
    if (rest_.starts_with('(')) {
      do {
        rest_.remove_prefix(1);
        out.of.push_back(type());
      } while (rest_[0] == ',');
      rest_.remove_prefix(1);
    }
    return out;
  }

  static const std::map<std::string_view, Type::Kind>& kinds() {
    using K = Type::Kind;
    static const std::map<std::string_view, K> kKinds{
        {"dyn", K::Dyn},           {"null", K::Null},
        {"bool", K::Bool},         {"int", K::Int},
        {"uint", K::Uint},         {"double", K::Double},
        {"string", K::String},     {"bytes", K::Bytes},
        {"list", K::List},         {"map", K::Map},
        {"duration", K::Duration}, {"timestamp", K::Timestamp},
        {"quantity", K::Quantity}, {"ip", K::Ip},
        {"cidr", K::Cidr},         {"url", K::Url},
        {"semver", K::Semver},     {"optional", K::Optional},
        {"type", K::TypeType},
    };
    return kKinds;
  }

  std::string_view rest_;
};

using Table = std::map<std::string, std::vector<Overload>, std::less<>>;

class Maker {
 public:
  using Run = Value (*)(Args);

  void add(const char* name, std::initializer_list<const char*> signatures, Run run) {
    for (const char* text : signatures) {
      Overload overload = Signature(text).read();
      overload.run = run;
      table_[name].push_back(std::move(overload));
    }
  }
  Table table_;
};

void add_operators(Maker& m) {
  m.add("_+_", {"int,int->int"}, add_int);
  m.add("_+_", {"uint,uint->uint"}, add_uint);
  m.add("_+_", {"double,double->double"}, [](Args a) -> Value { return get<double>(a[0]) + get<double>(a[1]); });
  m.add("_+_", {"string,string->string"}, [](Args a) -> Value {
    if (get<Text>(a[0]).size() + get<Text>(a[1]).size() > kLongestText) return make_error("string too long");
    return get<Text>(a[0]) + get<Text>(a[1]);
  });
  m.add("_+_", {"bytes,bytes->bytes"},
        [](Args a) -> Value { return Bytes{get<Bytes>(a[0]).data + get<Bytes>(a[1]).data}; });
  m.add("_+_", {"list(A),list(A)->list(A)"}, add_lists);
  m.add("_+_", {"duration,duration->duration", "timestamp,duration->timestamp", "duration,timestamp->timestamp"},
        add_time);
  m.add("_-_", {"int,int->int"}, sub_int);
  m.add("_-_", {"uint,uint->uint"}, sub_uint);
  m.add("_-_", {"double,double->double"}, [](Args a) -> Value { return get<double>(a[0]) - get<double>(a[1]); });
  m.add("_-_", {"duration,duration->duration", "timestamp,duration->timestamp", "timestamp,timestamp->duration"},
        sub_time);
  m.add("_*_", {"int,int->int"}, mul_int);
  m.add("_*_", {"uint,uint->uint"}, mul_uint);
  m.add("_*_", {"double,double->double"}, [](Args a) -> Value { return get<double>(a[0]) * get<double>(a[1]); });
  m.add("_/_", {"int,int->int"}, div_int);
  m.add("_/_", {"uint,uint->uint"}, div_uint);
  m.add("_/_", {"double,double->double"}, [](Args a) -> Value { return get<double>(a[0]) / get<double>(a[1]); });
  m.add("_%_", {"int,int->int"}, mod_int);
  m.add("_%_", {"uint,uint->uint"}, mod_uint);
  m.add("-_", {"int->int"}, neg_int);
  m.add("-_", {"double->double"}, [](Args a) -> Value { return -get<double>(a[0]); });
  m.add("-_", {"duration->duration"}, neg_time);
  m.add("!_", {"bool->bool"}, [](Args a) -> Value { return !get<bool>(a[0]); });
  m.add("_==_", {"A,A->bool"}, equals);
  m.add("_!=_", {"A,A->bool"}, differs);
  struct Order {
    const char* name;
    Maker::Run run;
  };
  for (const auto& [name, run] :
       {Order{"_<_", less}, Order{"_<=_", less_equal}, Order{"_>_", greater}, Order{"_>=_", greater_equal}})
    m.add(name,
          {"bool,bool->bool", "int,int->bool", "int,double->bool", "int,uint->bool", "uint,uint->bool",
           "uint,double->bool", "uint,int->bool", "double,double->bool", "double,int->bool", "double,uint->bool",
           "string,string->bool", "bytes,bytes->bool", "timestamp,timestamp->bool", "duration,duration->bool"},
          run);
  m.add("@in", {"A,list(A)->bool"}, in_list);
  m.add("@in", {"A,map(A,B)->bool"}, in_map);
  m.add("_[_]", {"list(A),int->A"}, list_at);
  m.add("_[_]", {"map(A,B),A->B"}, map_at);
  m.add("_[_]", {"optional(list(A)),int->optional(A)", "optional(map(A,B)),A->optional(B)"}, optional_at);
  m.add("_[?_]",
        {"list(A),int->optional(A)", "map(A,B),A->optional(B)", "optional(list(A)),int->optional(A)",
         "optional(map(A,B)),A->optional(B)"},
        optional_at);
}

void add_conversions(Maker& m) {
  m.add("int", {"int->int", "uint->int", "double->int", "string->int", "timestamp->int", "duration->int"}, to_int);
  m.add("uint", {"uint->uint", "int->uint", "double->uint", "string->uint"}, to_uint);
  m.add("double", {"double->double", "int->double", "uint->double", "string->double"}, to_double);
  m.add("bool", {"string->bool"}, to_bool);
  m.add("bool", {"bool->bool"}, [](Args a) -> Value { return a[0]; });
  m.add("string",
        {"string->string", "int->string", "uint->string", "double->string", "bool->string", "bytes->string",
         "timestamp->string", "duration->string", "ip->string", "cidr->string"},
        to_text);
  m.add("bytes", {"string->bytes"}, [](Args a) -> Value { return Bytes{get<Text>(a[0])}; });
  m.add("bytes", {"bytes->bytes"}, [](Args a) -> Value { return a[0]; });
  m.add("duration", {"string->duration"}, to_duration);
  m.add("duration", {"duration->duration"}, [](Args a) -> Value { return a[0]; });
  m.add("timestamp", {"string->timestamp", "int->timestamp"}, to_timestamp);
  m.add("timestamp", {"timestamp->timestamp"}, [](Args a) -> Value { return a[0]; });
  m.add("type", {"A->type"}, [](Args a) -> Value { return TypeName{Text(type_name(a[0]))}; });
  m.add("dyn", {"A->dyn"}, [](Args a) -> Value { return a[0]; });
  m.add("size",
        {"string->int", "bytes->int", "list(A)->int", "map(A,B)->int", "string.->int", "bytes.->int", "list(A).->int",
         "map(A,B).->int"},
        size);
}

void add_text(Maker& m) {
  m.add("contains", {"string.string->bool"},
        [](Args a) -> Value { return get<Text>(a[0]).find(get<Text>(a[1])) != Text::npos; });
  m.add("startsWith", {"string.string->bool"},
        [](Args a) -> Value { return get<Text>(a[0]).starts_with(get<Text>(a[1])); });
  m.add("endsWith", {"string.string->bool"},
        [](Args a) -> Value { return get<Text>(a[0]).ends_with(get<Text>(a[1])); });
  m.add("matches", {"string.string->bool", "string,string->bool"}, matches);
  m.add("charAt", {"string.int->string"}, char_at);
  m.add("indexOf", {"string.string->int", "string.string,int->int"}, text_index_of);
  m.add("lastIndexOf", {"string.string->int", "string.string,int->int"}, text_last_index_of);
  m.add("join", {"list(string).->string", "list(string).string->string"}, join);
  m.add("lowerAscii", {"string.->string"}, lower_ascii);
  m.add("upperAscii", {"string.->string"}, upper_ascii);
  m.add("replace", {"string.string,string->string", "string.string,string,int->string"}, replace);
  m.add("split", {"string.string->list(string)", "string.string,int->list(string)"}, split);
  m.add("substring", {"string.int->string", "string.int,int->string"}, substring);
  m.add("trim", {"string.->string"}, trim);
  m.add("format", {"string.list(dyn)->string"}, format);
  m.add("strings.quote", {"string->string"}, quote);
  m.add("find", {"string.string->string"}, find);
  m.add("findAll", {"string.string->list(string)", "string.string,int->list(string)"}, find_all);
}

void add_lists_library(Maker& m) {
  m.add("isSorted",
        {"list(int).->bool", "list(uint).->bool", "list(double).->bool", "list(bool).->bool", "list(duration).->bool",
         "list(timestamp).->bool", "list(string).->bool", "list(bytes).->bool"},
        is_sorted);
  m.add("sum", {"list(int).->int", "list(uint).->uint", "list(double).->double", "list(duration).->duration"}, sum);
  const auto ordered = {"list(int).->int",       "list(uint).->uint",         "list(double).->double",
                        "list(bool).->bool",     "list(duration).->duration", "list(timestamp).->timestamp",
                        "list(string).->string", "list(bytes).->bytes"};
  m.add("min", ordered, [](Args a) -> Value { return extreme(a, -1); });
  m.add("max", ordered, [](Args a) -> Value { return extreme(a, 1); });
  m.add("indexOf", {"list(A).A->int"}, list_index_of);
  m.add("lastIndexOf", {"list(A).A->int"}, list_last_index_of);
  m.add("includes", {"list(A).A->bool"}, [](Args a) -> Value {
    const Value pair[] = {a[1], a[0]};
    return in_list(pair);
  });
  m.add("slice", {"list(A).int,int->list(A)"}, slice);
  m.add("flatten", {"list(list(A)).->list(A)", "list(A).int->list(dyn)"}, flatten);
  m.add("distinct", {"list(A).->list(A)"}, distinct);
  m.add("reverse", {"list(A).->list(A)"}, reverse);
  m.add("sort",
        {"list(int).->list(int)", "list(uint).->list(uint)", "list(double).->list(double)", "list(bool).->list(bool)",
         "list(duration).->list(duration)", "list(timestamp).->list(timestamp)", "list(string).->list(string)",
         "list(bytes).->list(bytes)"},
        sort);
  m.add("lists.range", {"int->list(int)"}, range);
  m.add("sets.contains", {"list(A),list(A)->bool"}, [](Args a) -> Value { return holds_all(a[0], a[1]); });
  m.add("sets.equivalent", {"list(A),list(A)->bool"},
        [](Args a) -> Value { return holds_all(a[0], a[1]) && holds_all(a[1], a[0]); });
  m.add("sets.intersects", {"list(A),list(A)->bool"}, intersects);
}

void add_times(Maker& m) {
  m.add("getFullYear", {"timestamp.->int"},
        [](Args a) -> Value { return Int{static_cast<int>(date_of(a[0]).year())}; });
  m.add("getMonth", {"timestamp.->int"},
        [](Args a) -> Value { return Int{static_cast<unsigned>(date_of(a[0]).month())} - 1; });
  m.add("getDate", {"timestamp.->int"},
        [](Args a) -> Value { return Int{static_cast<unsigned>(date_of(a[0]).day())}; });
  m.add("getDayOfMonth", {"timestamp.->int"},
        [](Args a) -> Value { return Int{static_cast<unsigned>(date_of(a[0]).day())} - 1; });
  m.add("getDayOfWeek", {"timestamp.->int"}, [](Args a) -> Value {
    return Int{std::chrono::weekday(std::chrono::floor<std::chrono::days>(get<Instant>(a[0]))).c_encoding()};
  });
  m.add("getDayOfYear", {"timestamp.->int"}, [](Args a) -> Value {
    const auto day = std::chrono::floor<std::chrono::days>(get<Instant>(a[0]));
    return Int{(day - std::chrono::sys_days(date_of(a[0]).year() / 1 / 1)).count()};
  });
  m.add("getHours", {"timestamp.->int", "duration.->int"}, [](Args a) -> Value { return of_day(a[0], kHour, 24); });
  m.add("getMinutes", {"timestamp.->int", "duration.->int"}, [](Args a) -> Value { return of_day(a[0], kMinute, 60); });
  m.add("getSeconds", {"timestamp.->int", "duration.->int"}, [](Args a) -> Value { return of_day(a[0], kSecond, 60); });
  m.add("getMilliseconds", {"timestamp.->int"}, [](Args a) -> Value { return of_day(a[0], kMilli, 1000); });
  m.add("getMilliseconds", {"duration.->int"}, [](Args a) -> Value { return nanos(a[0]) / kMilli % 1000; });
}

void add_optionals(Maker& m) {
  m.add("optional.of", {"A->optional(A)"}, [](Args a) -> Value { return make_optional(a[0]); });
  m.add("optional.none", {"->optional(A)"}, [](Args) -> Value { return no_optional(); });
  m.add("optional.ofNonZeroValue", {"A->optional(A)"},
        [](Args a) -> Value { return is_zero(a[0]) ? no_optional() : make_optional(a[0]); });
  m.add("hasValue", {"optional(A).->bool"}, [](Args a) -> Value { return get<Optional>(a[0]).value != nullptr; });
  m.add("value", {"optional(A).->A"}, [](Args a) -> Value {
    const auto& held = get<Optional>(a[0]).value;
    return held != nullptr ? *held : make_error("optional.none() dereference");
  });
  m.add("or", {"optional(A).optional(A)->optional(A)"},
        [](Args a) -> Value { return get<Optional>(a[0]).value != nullptr ? a[0] : a[1]; });
  m.add("orValue", {"optional(A).A->A"}, [](Args a) -> Value {
    const auto& held = get<Optional>(a[0]).value;
    return held != nullptr ? *held : a[1];
  });
}

void add_kubernetes(Maker& m) {
  using api::Quantity;
  m.add("quantity", {"string->quantity"}, to_quantity);
  m.add("isQuantity", {"string->bool"}, [](Args a) -> Value { return Quantity::parse(get<Text>(a[0])).has_value(); });
  m.add("sign", {"quantity->int"}, [](Args a) -> Value { return Int{get<Quantity>(a[0]).sign()}; });
  m.add("isGreaterThan", {"quantity.quantity->bool", "semver.semver->bool"}, greater);
  m.add("isLessThan", {"quantity.quantity->bool", "semver.semver->bool"}, less);
  m.add("compareTo", {"quantity.quantity->int", "semver.semver->int"}, compare_to);
  m.add("asApproximateFloat", {"quantity.->double"}, [](Args a) -> Value { return get<Quantity>(a[0]).as_double(); });
  m.add("asInteger", {"quantity.->int"}, quantity_integer);
  m.add("isInteger", {"quantity.->bool"}, [](Args a) -> Value { return get<Quantity>(a[0]).as_int64().has_value(); });
  m.add("add", {"quantity.quantity->quantity", "quantity.int->quantity"},
        [](Args a) -> Value { return quantity_sum(a, 1); });
  m.add("sub", {"quantity.quantity->quantity", "quantity.int->quantity"},
        [](Args a) -> Value { return quantity_sum(a, -1); });

  m.add("ip", {"string->ip"}, to_ip);
  m.add("ip", {"cidr.->ip"}, [](Args a) -> Value { return get<Cidr>(a[0]).ip; });
  m.add("isIP", {"string->bool"}, [](Args a) -> Value { return plain_ip(get<Text>(a[0])).has_value(); });
  m.add("ip.isCanonical", {"string->bool"}, [](Args a) -> Value {
    const auto ip = plain_ip(get<Text>(a[0]));
    return ip ? Value(ip->str() == get<Text>(a[0])) : to_ip(a);
  });
  m.add("family", {"ip.->int"}, [](Args a) -> Value { return Int{get<Ip>(a[0]).v6 ? 6 : 4}; });
  m.add("isUnspecified", {"ip.->bool"}, [](Args a) -> Value { return unspecified(get<Ip>(a[0])); });
  m.add("isLoopback", {"ip.->bool"}, [](Args a) -> Value { return loopback(get<Ip>(a[0])); });
  m.add("isLinkLocalMulticast", {"ip.->bool"}, [](Args a) -> Value { return link_local_multicast(get<Ip>(a[0])); });
  m.add("isLinkLocalUnicast", {"ip.->bool"}, [](Args a) -> Value { return link_local_unicast(get<Ip>(a[0])); });
  m.add("isGlobalUnicast", {"ip.->bool"}, [](Args a) -> Value { return global_unicast(get<Ip>(a[0])); });
  m.add("cidr", {"string->cidr"}, to_cidr);
  m.add("isCIDR", {"string->bool"}, [](Args a) -> Value { return plain_cidr(get<Text>(a[0])).has_value(); });
  m.add("containsIP", {"cidr.string->bool", "cidr.ip->bool"}, contains_ip);
  m.add("containsCIDR", {"cidr.string->bool", "cidr.cidr->bool"}, contains_cidr);
  m.add("prefixLength", {"cidr.->int"}, [](Args a) -> Value { return Int{get<Cidr>(a[0]).length}; });
  m.add("masked", {"cidr.->cidr"}, [](Args a) -> Value { return get<Cidr>(a[0]).masked(); });

  m.add("url", {"string->url"}, to_url);
  m.add("isURL", {"string->bool"}, [](Args a) -> Value { return parsed_url(get<Text>(a[0])).has_value(); });
  m.add("getScheme", {"url.->string"}, [](Args a) -> Value { return get<UrlPtr>(a[0])->scheme; });
  m.add("getHost", {"url.->string"}, [](Args a) -> Value { return get<UrlPtr>(a[0])->host; });
  m.add("getHostname", {"url.->string"}, [](Args a) -> Value { return host_and_port(*get<UrlPtr>(a[0])).first; });
  m.add("getPort", {"url.->string"}, [](Args a) -> Value { return host_and_port(*get<UrlPtr>(a[0])).second; });
  m.add("getEscapedPath", {"url.->string"}, [](Args a) -> Value { return get<UrlPtr>(a[0])->path; });
  m.add("getQuery", {"url.->map(string,list(string))"}, url_query);

  m.add("semver", {"string->semver", "string,bool->semver"}, to_semver);
  m.add("isSemver", {"string->bool", "string,bool->bool"},
        [](Args a) -> Value { return parsed_semver(get<Text>(a[0]), a.size() > 1 && get<bool>(a[1])).has_value(); });
  m.add("major", {"semver.->int"}, [](Args a) -> Value { return get<SemverPtr>(a[0])->major; });
  m.add("minor", {"semver.->int"}, [](Args a) -> Value { return get<SemverPtr>(a[0])->minor; });
  m.add("patch", {"semver.->int"}, [](Args a) -> Value { return get<SemverPtr>(a[0])->patch; });
}

const Table& table() {
  static const Table kTable = [] {
    Maker maker;
    add_operators(maker);
    add_conversions(maker);
    add_text(maker);
    add_lists_library(maker);
    add_times(maker);
    add_optionals(maker);
    add_kubernetes(maker);
    return std::move(maker.table_);
  }();
  return kTable;
}

std::uint64_t weight(const Value& value) {
  if (const auto* text = value.as<Text>()) return text->size();
  if (value.is_list() || value.is_map() || value.as<Bytes>() != nullptr) return value.size();
  return 1;
}

}  // namespace

const std::vector<Overload>* find_function(std::string_view name) {
  const auto at = table().find(name);
  return at != table().end() ? &at->second : nullptr;
}

bool fits(const Value& value, const Type& type) {
  using K = Type::Kind;
  switch (type.kind) {
    case K::Dyn:
    case K::Param:
    case K::Object:
    case K::Error: return true;
    case K::Null: return value.is_null();
    case K::Bool: return value.as<bool>() != nullptr;
    case K::Int: return value.as<Int>() != nullptr;
    case K::Uint: return value.as<Uint>() != nullptr;
    case K::Double: return value.as<double>() != nullptr;
    case K::String: return value.as<Text>() != nullptr;
    case K::Bytes: return value.as<Bytes>() != nullptr;
    case K::List: return value.is_list();
    case K::Map: return value.is_map();
    case K::Duration: return value.as<Span>() != nullptr;
    case K::Timestamp: return value.as<Instant>() != nullptr;
    case K::Quantity: return value.as<api::Quantity>() != nullptr;
    case K::Ip: return value.as<Ip>() != nullptr;
    case K::Cidr: return value.as<Cidr>() != nullptr;
    case K::Url: return value.as<UrlPtr>() != nullptr;
    case K::Semver: return value.as<SemverPtr>() != nullptr;
    case K::Optional: return value.as<Optional>() != nullptr;
    case K::TypeType: return value.as<TypeName>() != nullptr;
  }
  return false;
}

std::uint64_t cost_of_call(std::string_view name, std::span<const Value> args) {
  if (args.empty() || name == "size" || name == "_[_]" || name == "_[?_]") return 0;
  if (name == "lists.range") return static_cast<std::uint64_t>(std::max<Int>(get<Int>(args[0]), 0));
  std::uint64_t all = 0;
  for (const Value& arg : args) all += weight(arg);
  // What compares everything with everything.
  if (name == "matches" || name == "find" || name == "findAll") return 1 + weight(args[0]) * weight(args[1]) / 40;
  if (name.starts_with("sets.") || name == "distinct") return weight(args[0]) * weight(args.back());
  const bool lists = args[0].is_list() || args[0].is_map() || (args.size() > 1 && args[1].is_list());
  if (lists && name == "_+_" && args[0].list_schema() != nullptr) return weight(args[0]) * weight(args.back());
  if (lists && (name == "_==_" || name == "_!=_")) return weight(args[0]) * 4;
  if (lists) return all;
  return all / 10;
}

}  // namespace kopper::plane::cel
