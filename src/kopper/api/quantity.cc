#include "kopper/api/quantity.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include <fmt/format.h>

#include "kopper/json/writer.h"

namespace kopper::api {
namespace {

__extension__ using Int = __int128;
__extension__ using Uint = unsigned __int128;

constexpr Int kNano = 1'000'000'000;
constexpr Int kExa = Int{1'000'000'000} * 1'000'000'000;
constexpr Int kCap = Int{170'141'183'460} * kExa * kNano;  // the most whole exa units that 127 bits of nano hold
constexpr Int kBinaryCap = Int{std::numeric_limits<std::int64_t>::max()} * kNano;

struct Suffix {
  std::string_view text;
  int base;
  int exponent;
};
constexpr std::array<Suffix, 16> kSuffixes{{{"", 10, 0},
                                            {"n", 10, -9},
                                            {"u", 10, -6},
                                            {"m", 10, -3},
                                            {"k", 10, 3},
                                            {"M", 10, 6},
                                            {"G", 10, 9},
                                            {"T", 10, 12},
                                            {"P", 10, 15},
                                            {"E", 10, 18},
                                            {"Ki", 2, 10},
                                            {"Mi", 2, 20},
                                            {"Gi", 2, 30},
                                            {"Ti", 2, 40},
                                            {"Pi", 2, 50},
                                            {"Ei", 2, 60}}};

// value * factor, or the cap. Both are >= 0.
Int multiply(Int value, Int factor) { return value > kCap / factor ? kCap : value * factor; }

// whole.fraction * 10^exponent in nano units, rounded up, for any number of digits.
Int decimal_nano(std::string_view whole, std::string_view fraction, int exponent) {
  Int value = 0;
  bool lost = false;
  const auto digits = static_cast<std::int64_t>(whole.size() + fraction.size());
  const auto places = static_cast<std::int64_t>(whole.size()) + exponent + 9;  // how many digits weigh a nano or more
  for (std::int64_t i = 0; i < digits; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const int digit = (at < whole.size() ? whole[at] : fraction[at - whole.size()]) - '0';
    if (i < places) {
      value = std::min(multiply(value, 10) + digit, kCap);
    } else {
      lost = lost || digit != 0;
    }
  }
  for (auto i = digits; i < places && value != 0 && value != kCap; ++i) value = multiply(value, 10);
  return std::min(value + (lost ? 1 : 0), kCap);
}

// whole.fraction * factor in nano units, rounded up. The fraction is multiplied from its last digit on, so that what is
// carried stays below 10 * factor nano and every lost digit is seen.
Int binary_nano(std::string_view whole, std::string_view fraction, Int factor) {
  Int carry = 0;
  bool lost = false;
  for (auto i = fraction.size(); i-- > 0; carry /= 10) {
    carry += (fraction[i] - '0') * factor * kNano;
    lost = lost || carry % 10 != 0;
  }
  Int units = 0;
  for (const char c : whole) units = std::min(multiply(units, 10) + (c - '0'), kCap);
  return std::min(std::min(multiply(units, factor * kNano), kBinaryCap) + carry + (lost ? 1 : 0), kBinaryCap);
}

std::string to_text(Int value) {
  if (value == 0) return "0";
  std::string out;
  auto rest = value < 0 ? -static_cast<Uint>(value) : static_cast<Uint>(value);
  for (; rest != 0; rest /= 10) out.push_back(static_cast<char>('0' + static_cast<int>(rest % 10)));
  if (value < 0) out.push_back('-');
  std::ranges::reverse(out);
  return out;
}

std::string_view suffix_of(int base, int exponent) {
  for (const auto& s : kSuffixes)
    if (s.base == base && s.exponent == exponent) return s.text;
  return {};
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view take_digits(std::string_view& text) {
  const auto* end = std::ranges::find_if_not(text, is_digit);
  const auto taken = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(taken.size());
  return taken;
}

std::int64_t narrow(Int nano, Int unit) {
  auto units = nano / unit;
  if (nano % unit != 0) units += nano < 0 ? -1 : 1;
  return static_cast<std::int64_t>(
      std::clamp<Int>(units, std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()));
}

}  // namespace

std::expected<Quantity, DecodeError> Quantity::parse(std::string_view text) {
  const auto fail = [&](std::string_view why, std::string_view rest) {
    return std::unexpected(
        DecodeError{fmt::format("{}: \"{}\"", why, text.substr(0, 64)), "", text.size() - rest.size()});
  };
  auto rest = text;
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  auto whole = take_digits(rest);
  std::string_view fraction;
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    fraction = take_digits(rest);
  }
  if (whole.empty() && fraction.empty()) return fail("a quantity starts with a number", rest);
  whole.remove_prefix(std::min(whole.find_first_not_of('0'), whole.size()));

  int exponent = 0;
  Int factor = 1;
  auto format = Format::DecimalSI;
  if (const auto* known = std::ranges::find(kSuffixes, rest, &Suffix::text); known != kSuffixes.end()) {
    if (known->base == 2) {
      format = Format::BinarySI;
      factor = Int{1} << known->exponent;
    } else {
      exponent = known->exponent;
    }
  } else if (rest[0] == 'e' || rest[0] == 'E') {
    format = Format::DecimalExponent;
    auto number = rest.substr(1);
    if (number.starts_with('+') && number.size() > 1 && is_digit(number[1])) number.remove_prefix(1);
    const auto* end = number.data() + number.size();
    const auto result = std::from_chars(number.data(), end, exponent);
    if (result.ec != std::errc{} || result.ptr != end) return fail("unknown suffix of a quantity", rest);
  } else {
    return fail("unknown suffix of a quantity", rest);
  }

  Int nano = 0;
  if (format == Format::BinarySI) {
    nano = binary_nano(whole, fraction, factor);
    if (nano > 0 && nano < kNano) format = Format::DecimalSI;
  } else {
    nano = decimal_nano(whole, fraction, exponent);
  }
  return Quantity(negative ? -nano : nano, format);
}

namespace {

Quantity parse_or_throw(std::string_view text) {
  const auto parsed = Quantity::parse(text);
  if (!parsed) throw Error(Code::Invalid, parsed.error().what);
  return *parsed;
}

}  // namespace

Quantity::Quantity(const char* text) : Quantity(parse_or_throw(text)) {}
Quantity::Quantity(const std::string& text) : Quantity(parse_or_throw(text)) {}

std::string Quantity::str() const {
  if (nano_ == 0) return "0";
  if (format_ == Format::BinarySI && nano_ % kNano == 0) {
    auto units = nano_ / kNano;
    if (units <= -1024 || units >= 1024) {
      int exponent = 0;
      for (; exponent < 60 && units % 1024 == 0; exponent += 10) units /= 1024;
      return to_text(units).append(exponent == 0 ? "" : suffix_of(2, exponent));
    }
  }
  auto mantissa = nano_;
  int exponent = -9;
  const int most = format_ == Format::DecimalExponent ? std::numeric_limits<int>::max() : 18;
  for (; exponent < most && mantissa % 1000 == 0; exponent += 3) mantissa /= 1000;
  if (format_ != Format::DecimalExponent) return to_text(mantissa).append(suffix_of(10, exponent));
  return exponent == 0 ? to_text(mantissa) : fmt::format("{}e{}", to_text(mantissa), exponent);
}

std::optional<std::int64_t> Quantity::as_int64() const {
  const auto whole = nano_ / kNano;
  if (nano_ % kNano != 0 || whole != static_cast<std::int64_t>(whole)) return std::nullopt;
  return static_cast<std::int64_t>(whole);
}

std::int64_t Quantity::value() const { return narrow(nano_, kNano); }
std::int64_t Quantity::milli_value() const { return narrow(nano_, kMilli); }

double Quantity::as_double() const {
  // Through text: the one correctly rounded conversion of a decimal that the library offers.
  double out = 0;
  const auto text = to_text(nano_) + "e-9";
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

Quantity& Quantity::operator+=(const Quantity& other) {
  if (is_zero()) format_ = other.format_;
  Int sum = 0;
  const bool wrapped = __builtin_add_overflow(nano_, other.nano_, &sum);
  nano_ = wrapped ? (nano_ < 0 ? -kCap : kCap) : std::clamp(sum, -kCap, kCap);
  return *this;
}

Quantity& Quantity::operator-=(const Quantity& other) { return *this += -other; }

}  // namespace kopper::api

namespace kopper::meta {

bool Codec<api::Quantity>::read(Token token, api::Quantity& out) {
  const auto parsed = api::Quantity::parse(token.text);
  if (parsed) out = *parsed;
  return parsed.has_value();
}

void Codec<api::Quantity>::write(const api::Quantity& value, json::Writer& out) { out.value(value.str()); }

json::Value Codec<api::Quantity>::schema() {
  return json::Object{
      {"anyOf", json::Array{json::Object{{"type", "integer"}}, json::Object{{"type", "string"}}}},
      {"pattern",
       R"(^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$)"},
      {"x-kubernetes-int-or-string", true}};
}

}  // namespace kopper::meta
