#include "kopper/plane/crd/go_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <fmt/format.h>

namespace kopper::plane {
namespace {

constexpr int kPlainDigits = 6;  // "100000", but "1e+06"

using std::chrono::nanoseconds;
__extension__ using Wide = __int128;

std::optional<int> digits(std::string_view text, std::size_t at, std::size_t count) {
  if (at + count > text.size()) return std::nullopt;
  int out = 0;
  for (std::size_t i = at; i < at + count; ++i) {
    if (text[i] < '0' || text[i] > '9') return std::nullopt;
    out = out * 10 + (text[i] - '0');
  }
  return out;
}

struct Unit {
  std::string_view name;
  std::int64_t nanos;
};
constexpr std::array kUnits{
    Unit{"ns", 1},         Unit{"us", 1'000},        Unit{"\u00b5s", 1'000},    Unit{"\u03bcs", 1'000},
    Unit{"ms", 1'000'000}, Unit{"s", 1'000'000'000}, Unit{"m", 60'000'000'000}, Unit{"h", 3'600'000'000'000},
};

}  // namespace

std::string go_float(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  std::array<char, 64> text{};
  const auto shortest = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::scientific);
  const std::string_view sci(text.data(), static_cast<std::size_t>(shortest.ptr - text.data()));
  const std::size_t e = sci.find('e');
  int exponent = 0;
  const char* from = sci.data() + e + 1 + (sci[e + 1] == '+' ? 1 : 0);
  std::from_chars(from, sci.data() + sci.size(), exponent);
  if (exponent < -4 || exponent >= kPlainDigits)
    return fmt::format("{}e{}{:02}", sci.substr(0, e), exponent < 0 ? '-' : '+', std::abs(exponent));
  const auto fixed = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  return {text.data(), fixed.ptr};
}

std::string go_json(const json::Value& value) {
  std::string out;
  if (const json::Object* object = value.as_object()) {
    std::vector<const json::Object::Member*> members;
    for (const auto& member : *object) members.push_back(&member);
    std::ranges::sort(members, {}, [](const auto* member) { return std::string_view(member->first); });
    for (const auto* member : members)
      out += fmt::format("{}{}:{}", out.empty() ? "" : ",", go_json(member->first), go_json(member->second));
    return "{" + out + "}";
  }
  if (const json::Array* list = value.as_array()) {
    for (const json::Value& item : *list) out += (out.empty() ? "" : ",") + go_json(item);
    return "[" + out + "]";
  }
  for (const char c : json::dump(value)) {
    if (c == '<' || c == '>' || c == '&') {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out;
}

std::string go_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\a': out += "\\a"; break;
      case '\b': out += "\\b"; break;
      case '\f': out += "\\f"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      case '\v': out += "\\v"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
          out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        } else {
          out += c;
        }
    }
  }
  return out + '"';
}

std::optional<nanoseconds> parse_go_duration(std::string_view text) {
  bool negative = false;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  if (text == "0") return nanoseconds(0);
  if (text.empty()) return std::nullopt;
  Wide total = 0;
  while (!text.empty()) {
    Wide whole = 0;
    Wide fraction = 0;
    Wide scale = 1;
    std::size_t i = 0;
    bool any = false;
    const auto digit = [&] { return i < text.size() && text[i] >= '0' && text[i] <= '9'; };
    for (; digit(); ++i) {
      whole = whole * 10 + (text[i] - '0');
      if (whole > std::numeric_limits<std::int64_t>::max()) return std::nullopt;
      any = true;
    }
    if (i < text.size() && text[i] == '.') {
      for (++i; digit(); ++i) {
        any = true;
        if (scale >= Wide{1'000'000'000'000'000}) continue;
        fraction = fraction * 10 + (text[i] - '0');
        scale *= 10;
      }
    }
    if (!any) return std::nullopt;
    std::size_t end = i;
    while (end < text.size() && text[end] != '.' && (text[end] < '0' || text[end] > '9')) ++end;
    const std::string_view name = text.substr(i, end - i);
    std::int64_t unit = 0;
    for (const Unit& one : kUnits)
      if (one.name == name) unit = one.nanos;
    if (unit == 0) return std::nullopt;
    total += whole * unit + fraction * unit / scale;
    if (total > Wide{std::numeric_limits<std::int64_t>::max()} + (negative ? 1 : 0)) return std::nullopt;
    text.remove_prefix(end);
  }
  return nanoseconds(static_cast<std::int64_t>(negative ? -total : total));
}

std::string go_duration(nanoseconds value) {
  const std::int64_t n = value.count();
  if (n == 0) return "0s";
  const std::uint64_t u = n < 0 ? 0 - static_cast<std::uint64_t>(n) : static_cast<std::uint64_t>(n);
  const auto with_fraction = [](std::uint64_t amount, std::uint64_t unit) {
    std::string out = fmt::format("{}", amount / unit);
    if (const std::uint64_t rest = amount % unit; rest != 0) {
      std::string more = fmt::format("{}", unit + rest).substr(1);
      while (more.back() == '0') more.pop_back();
      out += "." + more;
    }
    return out;
  };
  std::string out;
  if (u < 1'000) {
    out = fmt::format("{}ns", u);
  } else if (u < 1'000'000) {
    out = with_fraction(u, 1'000) + "\u00b5s";
  } else if (u < 1'000'000'000) {
    out = with_fraction(u, 1'000'000) + "ms";
  } else {
    const std::uint64_t minutes = u / 60'000'000'000;
    if (minutes >= 60) out += fmt::format("{}h", minutes / 60);
    if (minutes > 0) out += fmt::format("{}m", minutes % 60);
    out += with_fraction(u % 60'000'000'000, 1'000'000'000) + "s";
  }
  return n < 0 ? "-" + out : out;
}

std::optional<std::chrono::sys_time<nanoseconds>> parse_full_date(std::string_view text) {
  using namespace std::chrono;
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
  const auto y = digits(text, 0, 4);
  const auto m = digits(text, 5, 2);
  const auto d = digits(text, 8, 2);
  if (!y || !m || !d) return std::nullopt;
  const year_month_day date{year(*y), month(static_cast<unsigned>(*m)), day(static_cast<unsigned>(*d))};
  if (!date.ok() || *y < 1678 || *y > 2261) {  // what 64 bits of nanoseconds hold
    if (!date.ok()) return std::nullopt;
    return sys_time<nanoseconds>(*y < 1970 ? nanoseconds::min() : nanoseconds::max());
  }
  return sys_time<nanoseconds>(sys_days(date));
}

std::optional<std::chrono::sys_time<nanoseconds>> parse_rfc3339(std::string_view text) {
  using namespace std::chrono;
  if (text.size() < 20 || (text[10] != 'T' && text[10] != 't')) return std::nullopt;
  const auto date = parse_full_date(text.substr(0, 10));
  const auto h = digits(text, 11, 2);
  const auto m = digits(text, 14, 2);
  const auto s = digits(text, 17, 2);
  if (!date || !h || !m || !s || text[13] != ':' || text[16] != ':' || *h > 23 || *m > 59 || *s > 59)
    return std::nullopt;
  std::size_t at = 19;
  std::int64_t nanos = 0;
  if (text[at] == '.') {
    std::int64_t scale = 100'000'000;
    const std::size_t first = ++at;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at, scale /= 10) nanos += (text[at] - '0') * scale;
    if (at == first) return std::nullopt;
  }
  const std::string_view zone = text.substr(at);
  minutes offset{0};
  if (zone != "Z" && zone != "z") {
    if (zone.size() != 6 || (zone[0] != '+' && zone[0] != '-') || zone[3] != ':') return std::nullopt;
    const auto zh = digits(zone, 1, 2);
    const auto zm = digits(zone, 4, 2);
    if (!zh || !zm || *zh > 23 || *zm > 59) return std::nullopt;
    offset = minutes(*zh * 60 + *zm) * (zone[0] == '-' ? -1 : 1);
  }
  const nanoseconds since = date->time_since_epoch();
  if (since == nanoseconds::min() || since == nanoseconds::max()) return date;
  return *date + hours(*h) + minutes(*m) + seconds(*s) + nanoseconds(nanos) - offset;
}

std::string rfc3339(std::chrono::sys_time<nanoseconds> at) {
  using namespace std::chrono;
  const auto day = floor<days>(at);
  const year_month_day date{day};
  const hh_mm_ss clock(floor<nanoseconds>(at - day));
  std::string out = fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                                clock.hours().count(), clock.minutes().count(), clock.seconds().count());
  if (const auto rest = clock.subseconds().count(); rest != 0) {
    std::string more = fmt::format(".{:09}", rest);
    while (more.back() == '0') more.pop_back();
    out += more;
  }
  return out + "Z";
}

}  // namespace kopper::plane
