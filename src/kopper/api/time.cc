#include "kopper/api/time.h"

#include <cstdint>
#include <type_traits>

#include <fmt/format.h>

#include "kopper/json/writer.h"

namespace kopper::api {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;

// Reads fixed-width parts from the front; after the first mismatch everything fails.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  int number(std::size_t width) {
    int value = 0;
    for (; width > 0; --width) {
      if (rest_.empty() || rest_[0] < '0' || rest_[0] > '9') return fail();
      value = value * 10 + (rest_[0] - '0');
      rest_.remove_prefix(1);
    }
    return value;
  }

  // Which of `chars` comes next; it is taken.
  char one_of(std::string_view chars) {
    if (rest_.empty() || chars.find(rest_[0]) == std::string_view::npos) return static_cast<char>(fail());
    const char c = rest_[0];
    rest_.remove_prefix(1);
    return c;
  }

  // ".123": the digits as microseconds, the rest dropped. Nothing there is 0.
  int micros() {
    if (rest_.empty() || rest_[0] != '.') return 0;
    rest_.remove_prefix(1);
    int value = number(1) * 100'000;
    for (int unit = 10'000; !rest_.empty() && rest_[0] >= '0' && rest_[0] <= '9'; unit /= 10) value += number(1) * unit;
    return value;
  }

  bool at_end() const { return rest_.empty(); }
  bool ok() const { return ok_; }
  std::size_t left() const { return rest_.size(); }

 private:
  int fail() {
    ok_ = false;
    return 0;
  }

  std::string_view rest_;
  bool ok_ = true;
};

std::expected<std::chrono::sys_time<microseconds>, DecodeError> parse_rfc3339(std::string_view text) {
  using namespace std::chrono;
  Scanner in(text);
  const int y = in.number(4);
  in.one_of("-");
  const int m = in.number(2);
  in.one_of("-");
  const int d = in.number(2);
  in.one_of("Tt ");
  const int hour = in.number(2);
  in.one_of(":");
  const int minute = in.number(2);
  in.one_of(":");
  const int second = in.number(2);
  const int micro = in.micros();
  int offset = 0;
  if (const char sign = in.one_of("Zz+-"); sign == '+' || sign == '-') {
    const int hours_off = in.number(2);
    in.one_of(":");
    const int minutes_off = in.number(2);
    offset = (hours_off * 60 + minutes_off) * (sign == '-' ? -1 : 1);
    if (hours_off > 23 || minutes_off > 59) offset = 24 * 60;
  }
  const year_month_day date{year{y}, month{static_cast<unsigned>(m)}, day{static_cast<unsigned>(d)}};
  // A leap second is refused, as the server does.
  if (!in.ok() || !in.at_end() || !date.ok() || hour > 23 || minute > 59 || second > 59 || offset == 24 * 60) {
    return std::unexpected(
        DecodeError{fmt::format("not an RFC 3339 time: \"{}\"", text.substr(0, 64)), "", text.size() - in.left()});
  }
  return sys_days{date} + hours{hour} + minutes{minute - offset} + seconds{second} + microseconds{micro};
}

constexpr std::chrono::sys_seconds kGoZero = std::chrono::sys_days{std::chrono::year{1} / 1 / 1};

// By hand: every object that is written has a few, and a general formatter takes ten times as long.
void append_digits(std::string& out, const char* before, std::int64_t value, std::size_t width) {
  out += before;
  const std::size_t begin = out.size();
  out.resize(begin + width);
  for (std::size_t i = width; i > 0; value /= 10) out[begin + --i] = static_cast<char>('0' + value % 10);
}

}  // namespace

template <class Unit>
std::expected<BasicTime<Unit>, DecodeError> BasicTime<Unit>::parse(std::string_view text) {
  const auto point = parse_rfc3339(text);
  if (!point) return std::unexpected(point.error());
  if (*point == kGoZero) return BasicTime{};
  return BasicTime{*point};
}

template <class Unit>
std::string BasicTime<Unit>::str() const {
  using namespace std::chrono;
  if (!is_set()) return {};
  const auto day = floor<days>(at_);
  const year_month_day date{day};
  const hh_mm_ss time{floor<seconds>(at_) - day};
  std::string out;
  out.reserve(sizeof "2026-01-31T10:00:00.123456Z");
  const int year = static_cast<int>(date.year());
  if (year >= 0 && year <= 9999) {
    append_digits(out, "", year, 4);
  } else {
    out = fmt::format("{:04}", year);
  }
  append_digits(out, "-", static_cast<unsigned>(date.month()), 2);
  append_digits(out, "-", static_cast<unsigned>(date.day()), 2);
  append_digits(out, "T", time.hours().count(), 2);
  append_digits(out, ":", time.minutes().count(), 2);
  append_digits(out, ":", time.seconds().count(), 2);
  if constexpr (std::is_same_v<Unit, microseconds>) append_digits(out, ".", (at_ - floor<seconds>(at_)).count(), 6);
  return out += 'Z';
}

template class BasicTime<seconds>;
template class BasicTime<microseconds>;

}  // namespace kopper::api

namespace kopper::meta {

template <class Unit>
bool Codec<api::BasicTime<Unit>>::read(Token token, api::BasicTime<Unit>& out) {
  if (!token.quoted) return false;
  const auto parsed = api::BasicTime<Unit>::parse(token.text);
  if (parsed) out = *parsed;
  return parsed.has_value();
}

template <class Unit>
void Codec<api::BasicTime<Unit>>::write(const api::BasicTime<Unit>& value, json::Writer& out) {
  if (value.is_set())
    out.value(value.str());
  else
    out.null();
}

template <class Unit>
json::Value Codec<api::BasicTime<Unit>>::schema() {
  return json::Object{{"type", "string"}, {"format", "date-time"}};
}

template struct Codec<api::Time>;
template struct Codec<api::MicroTime>;

}  // namespace kopper::meta
