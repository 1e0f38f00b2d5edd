#include "kopper/workloads/time_zone.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "kopper/rt/file.h"

namespace kopper::workloads {

using std::chrono::seconds;
using std::chrono::sys_days;
using std::chrono::sys_seconds;

namespace {

std::unexpected<DecodeError> wrong(std::string what, std::size_t offset = 0) {
  return std::unexpected(DecodeError{.what = std::move(what), .path = "", .offset = offset});
}

// Big-endian numbers; nothing beyond the end.
class Bytes {
 public:
  explicit Bytes(std::string_view left) : left_(left) {}

  bool skip(std::uint64_t count) {
    if (count > left_.size()) return false;
    left_.remove_prefix(count);
    return true;
  }
  std::optional<std::int64_t> number(std::size_t size) {
    if (left_.size() < size) return std::nullopt;
    std::uint64_t value = size == 4 && (static_cast<unsigned char>(left_[0]) & 0x80U) != 0 ? ~std::uint64_t{0} : 0;
    for (std::size_t i = 0; i < size; ++i) value = value << 8U | static_cast<unsigned char>(left_[i]);
    left_.remove_prefix(size);
    return static_cast<std::int64_t>(value);
  }
  std::optional<std::uint8_t> byte() {
    if (left_.empty()) return std::nullopt;
    const auto value = static_cast<std::uint8_t>(left_[0]);
    left_.remove_prefix(1);
    return value;
  }
  std::string_view left() const { return left_; }

 private:
  std::string_view left_;
};

struct Header {
  char version = 0;
  std::array<std::uint64_t, 6> counts{};  // isut, isstd, leap, time, type, char

  std::uint64_t size(std::uint64_t time_size) const {
    return counts[3] * (time_size + 1) + counts[4] * 6 + counts[5] + counts[2] * (time_size + 4) + counts[1] +
           counts[0];
  }
};

std::optional<Header> header(Bytes& bytes) {
  Header out;
  if (!bytes.left().starts_with("TZif") || bytes.left().size() < 44) return std::nullopt;
  out.version = bytes.left()[4];
  bytes.skip(20);
  for (auto& count : out.counts) {
    const auto value = bytes.number(4).value_or(-1);
    if (value < 0 || value > 100'000) return std::nullopt;
    count = static_cast<std::uint64_t>(value);
  }
  return out;
}

}  // namespace

// The rule of a zone: POSIX calls it TZ.
class RuleReader {
 public:
  explicit RuleReader(std::string_view text) : left_(text) {}

  std::optional<TimeZone::Rule> read() {
    TimeZone::Rule rule;
    if (!name()) return std::nullopt;
    const auto standard = clock();
    if (!standard) return std::nullopt;
    rule.standard = -*standard;  // what is west of Greenwich is positive there
    rule.summer = rule.standard + seconds(3600);
    if (left_.empty()) return rule;
    if (!name()) return std::nullopt;
    if (!left_.empty() && left_.front() != ',') {
      const auto summer = clock();
      if (!summer) return std::nullopt;
      rule.summer = -*summer;
    }
    const auto begin = turn();
    const auto end = turn();
    if (!begin || !end || !left_.empty()) return std::nullopt;
    rule.begin = begin;
    rule.end = *end;
    return rule;
  }

 private:
  bool take(char c) {
    if (!left_.starts_with(c)) return false;
    left_.remove_prefix(1);
    return true;
  }
  static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }

  bool name() {
    std::size_t size = 0;
    if (take('<')) {
      size = left_.find('>');
      if (size == std::string_view::npos) return false;
      left_.remove_prefix(size + 1);
      return size > 0;
    }
    while (size < left_.size() && is_letter(left_[size])) ++size;
    left_.remove_prefix(size);
    return size >= 3;
  }
  std::optional<unsigned> number(unsigned most) {
    unsigned value = 0;
    std::size_t digits = 0;
    while (digits < left_.size() && digits < 4 && is_digit(left_[digits])) {
      value = value * 10 + static_cast<unsigned>(left_[digits++] - '0');
    }
    left_.remove_prefix(digits);
    if (digits == 0 || value > most) return std::nullopt;
    return value;
  }
  // [+-]hh[:mm[:ss]]
  std::optional<seconds> clock() {
    const bool negative = take('-');
    if (!negative) take('+');
    const auto hours = number(167);
    if (!hours) return std::nullopt;
    seconds out = std::chrono::hours(*hours);
    int unit = 3600;
    for (int i = 0; i < 2 && take(':'); ++i) {
      unit /= 60;
      const auto part = number(59);
      if (!part) return std::nullopt;
      out += seconds(static_cast<int>(*part) * unit);
    }
    return negative ? -out : out;
  }
  std::optional<TimeZone::Turn> turn() {
    using Kind = TimeZone::Turn::Kind;
    if (!take(',')) return std::nullopt;
    TimeZone::Turn out;
    if (take('M')) {
      out.kind = Kind::Week;
      const auto month = number(12);
      const auto week = take('.') ? number(5) : std::nullopt;
      const auto day = take('.') ? number(6) : std::nullopt;
      if (!month || !week || !day || *month == 0 || *week == 0) return std::nullopt;
      out.month = *month;
      out.week = *week;
      out.day = *day;
    } else {
      out.kind = take('J') ? Kind::Julian : Kind::Day;
      const auto day = number(365);
      if (!day || (out.kind == Kind::Julian && *day == 0)) return std::nullopt;
      out.day = *day;
    }
    if (take('/')) {
      const auto time = clock();
      if (!time) return std::nullopt;
      out.time = *time;
    }
    return out;
  }

  std::string_view left_;
};

std::expected<TimeZone, DecodeError> TimeZone::parse_rule(std::string_view text) {
  TimeZone out;
  out.rule_ = RuleReader(text).read();
  if (!out.rule_) return wrong("no rule of a time zone");
  out.first_ = out.rule_->standard;
  return out;
}

std::expected<TimeZone, DecodeError> TimeZone::parse(std::string_view text) {
  Bytes bytes(text);
  auto head = header(bytes);
  if (!head) return wrong("not a file of the tz database");
  std::size_t time_size = 4;
  if (head->version >= '2') {
    if (!bytes.skip(head->size(4))) return wrong("cut off", text.size());
    head = header(bytes);
    if (!head) return wrong("the second part is missing", text.size() - bytes.left().size());
    time_size = 8;
  }
  const auto times = head->counts[3];
  const auto types = head->counts[4];
  if (types == 0 || bytes.left().size() < head->size(time_size)) return wrong("cut off", text.size());
  TimeZone out;
  out.transitions_.resize(times);
  for (auto& one : out.transitions_) one.at = *bytes.number(time_size);
  std::vector<std::uint8_t> kinds(times);
  for (auto& kind : kinds) kind = *bytes.byte();
  std::vector<Seconds> offsets(types);
  for (auto& offset : offsets) {
    const auto value = *bytes.number(4);
    if (value < -200'000 || value > 200'000) return wrong("an offset beyond reason");
    offset = Seconds(value);
    bytes.skip(2);
  }
  for (std::size_t i = 0; i < times; ++i) {
    if (kinds[i] >= types) return wrong("a type that is not there");
    out.transitions_[i].offset = offsets[kinds[i]];
  }
  if (!std::ranges::is_sorted(out.transitions_, {}, &Transition::at)) return wrong("transitions out of order");
  out.first_ = offsets[0];
  bytes.skip(head->counts[5] + head->counts[2] * (time_size + 4) + head->counts[1] + head->counts[0]);
  auto footer = bytes.left();
  if (time_size == 8 && footer.starts_with('\n')) {
    footer.remove_prefix(1);
    footer = footer.substr(0, footer.find('\n'));
    if (!footer.empty()) out.rule_ = RuleReader(footer).read();
  }
  return out;
}

sys_seconds TimeZone::turn_of(const Turn& turn, std::chrono::year year) {
  using namespace std::chrono;
  sys_days day = year / January / 1;
  if (turn.kind == Turn::Kind::Week) {
    const weekday wanted(turn.day);
    const year_month month = year / std::chrono::month(turn.month);
    day = turn.week == 5 ? sys_days(month / wanted[last]) : sys_days(month / wanted[turn.week]);
  } else if (turn.kind == Turn::Kind::Day) {
    day += days(turn.day);
  } else {
    // Without the 29th of February.
    day += days(turn.day - 1 + (year.is_leap() && turn.day > 59 ? 1 : 0));
  }
  return day + turn.time;
}

TimeZone::Seconds TimeZone::by_rule(sys_seconds at) const {
  if (!rule_->begin) return rule_->standard;
  const std::chrono::year_month_day date(std::chrono::floor<std::chrono::days>(at + rule_->standard));
  const auto begin = turn_of(*rule_->begin, date.year()) - rule_->standard;
  const auto end = turn_of(rule_->end, date.year()) - rule_->summer;
  const bool summer = begin < end ? at >= begin && at < end : at >= begin || at < end;
  return summer ? rule_->summer : rule_->standard;
}

seconds TimeZone::offset(sys_seconds at) const {
  const auto now = at.time_since_epoch().count();
  const auto after = std::ranges::upper_bound(transitions_, now, {}, &Transition::at);
  if (after == transitions_.end() && rule_) return by_rule(at);
  return after == transitions_.begin() ? first_ : std::prev(after)->offset;
}

TimeZone load_time_zone(std::string_view name) {
  if (name.empty() || name == "UTC" || name == "Etc/UTC") return {};
  const bool plain = std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' || c == '_' ||
           c == '-' || c == '+';
  });
  if (!plain || name.front() == '/') throw Error(Code::NotFound, fmt::format("unknown time zone {}", name));
  const auto bytes = rt::read_file(std::filesystem::path("/usr/share/zoneinfo") / name, std::size_t{1} << 20U);
  auto zone = TimeZone::parse(bytes);
  if (!zone) throw_error(zone.error(), fmt::format("time zone {}", name));
  return std::move(*zone);
}

}  // namespace kopper::workloads
