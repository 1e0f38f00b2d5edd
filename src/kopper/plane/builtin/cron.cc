#include "kopper/plane/builtin/cron.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace kopper::plane::builtin {
namespace {

constexpr std::array<std::string_view, 12> kMonths{"jan", "feb", "mar", "apr", "may", "jun",
                                                   "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::array<std::string_view, 7> kDays{"sun", "mon", "tue", "wed", "thu", "fri", "sat"};

struct Bounds {
  std::uint64_t low;
  std::uint64_t high;
  std::span<const std::string_view> names{};  // from `low` on
};

constexpr std::array<Bounds, 5> kFields{{{0, 59}, {0, 23}, {1, 31}, {1, 12, kMonths}, {0, 6, kDays}}};

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> out;
  for (;;) {
    const std::size_t end = text.find(at);
    out.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return out;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::string_view> fields_of(std::string_view text) {
  std::vector<std::string_view> out;
  for (const std::string_view one : split(text, ' '))
    if (!one.empty()) out.push_back(one);
  return out;
}

// Reads one field; `wrong` keeps the first thing that is.
class Field {
 public:
  explicit Field(const Bounds& bounds) : bounds_(bounds) {}

  std::string check(std::string_view text) {
    for (const std::string_view range : split(text, ','))
      if (!range.empty()) check_range(range);
    return wrong_;
  }

 private:
  void fail(std::string what) {
    if (wrong_.empty()) wrong_ = std::move(what);
  }

  std::uint64_t number(std::string_view text) {
    std::uint64_t out = 0;
    const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    if (text.starts_with('-')) {
      fail(fmt::format("negative number ({}) not allowed: {}", text, text));
    } else if (text.empty() || error != std::errc() || at != text.data() + text.size()) {
      fail(fmt::format("failed to parse int from {}: strconv.Atoi: parsing \"{}\": invalid syntax", text, text));
    }
    return out;
  }

  std::uint64_t number_or_name(std::string_view text) {
    std::string lower(text);
    std::ranges::transform(lower, lower.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
    const auto at = std::ranges::find(bounds_.names, std::string_view(lower));
    if (at != bounds_.names.end()) return bounds_.low + static_cast<std::uint64_t>(at - bounds_.names.begin());
    return number(text);
  }

  void check_range(std::string_view text) {
    const auto parts = split(text, '/');
    const auto ends = split(parts[0], '-');
    std::uint64_t start = bounds_.low;
    std::uint64_t end = bounds_.high;
    const bool all = ends[0] == "*" || ends[0] == "?";
    if (!all) {
      start = number_or_name(ends[0]);
      if (ends.size() > 2) return fail(fmt::format("too many hyphens: {}", text));
      end = ends.size() == 2 ? number_or_name(ends[1]) : start;
    }
    std::uint64_t step = 1;
    if (parts.size() > 2) return fail(fmt::format("too many slashes: {}", text));
    if (parts.size() == 2) {
      step = number(parts[1]);
      if (ends.size() == 1) end = bounds_.high;
    }
    if (!wrong_.empty()) return;
    if (start < bounds_.low)
      return fail(fmt::format("beginning of range ({}) below minimum ({}): {}", start, bounds_.low, text));
    if (end > bounds_.high)
      return fail(fmt::format("end of range ({}) above maximum ({}): {}", end, bounds_.high, text));
    if (start > end) return fail(fmt::format("beginning of range ({}) beyond end of range ({}): {}", start, end, text));
    if (step == 0) fail(fmt::format("step of range should be a positive number: {}", text));
  }

  const Bounds& bounds_;
  std::string wrong_;
};

}  // namespace

std::string check_cron(std::string_view schedule) {
  if (schedule.empty()) return "empty spec string";
  if (schedule.starts_with("TZ=") || schedule.starts_with("CRON_TZ=")) {
    const std::size_t space = schedule.find(' ');
    if (space == std::string_view::npos) return {};
    schedule.remove_prefix(space + 1);
  }
  if (schedule.starts_with('@')) {
    static constexpr std::array<std::string_view, 7> kWords{"@yearly", "@annually", "@monthly", "@weekly",
                                                            "@daily",  "@midnight", "@hourly"};
    if (std::ranges::find(kWords, schedule) != kWords.end() || schedule.starts_with("@every ")) return {};
    return fmt::format("unrecognized descriptor: {}", schedule);
  }
  const auto fields = fields_of(schedule);
  if (fields.size() != kFields.size())
    return fmt::format("expected exactly 5 fields, found {}: [{}]", fields.size(), fmt::join(fields, " "));
  for (std::size_t i = 0; i < fields.size(); ++i)
    if (std::string wrong = Field(kFields[i]).check(fields[i]); !wrong.empty()) return wrong;
  return {};
}

}  // namespace kopper::plane::builtin
