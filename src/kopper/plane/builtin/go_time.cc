#include "kopper/plane/builtin/go_time.h"

#include <chrono>
#include <optional>

#include <fmt/format.h>

namespace kopper::plane::builtin {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Reader {
 public:
  Reader(std::string_view text, bool micro) : text_(text), rest_(text), micro_(micro) {}

  std::string check() {
    const int year = number(4, "2006");
    literal('-');
    const int month = number(2, "01");
    literal('-');
    const int day = number(2, "02");
    literal('T');
    const int hour = number(2, "15");
    literal(':');
    const int minute = number(2, "04");
    literal(':');
    const int second = number(2, "05");
    fraction();
    zone();
    if (!wrong_.empty()) return wrong_;
    if (month < 1 || month > 12) return out_of_range("month");
    using namespace std::chrono;
    if (!year_month_day(std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                        std::chrono::day(static_cast<unsigned>(day)))
             .ok())
      return out_of_range("day");
    if (hour > 23) return out_of_range("hour");
    if (minute > 59) return out_of_range("minute");
    if (second > 59) return out_of_range("second");
    if (!rest_.empty()) return fmt::format("parsing time \"{}\": extra text: \"{}\"", text_, rest_);
    return {};
  }

 private:
  std::string out_of_range(const char* what) const {
    return fmt::format("parsing time \"{}\": {} out of range", text_, what);
  }

  void fail(std::string_view element) {
    if (wrong_.empty())
      wrong_ = fmt::format("parsing time \"{}\" as \"{}\": cannot parse \"{}\" as \"{}\"", text_,
                           micro_ ? "2006-01-02T15:04:05.000000Z07:00" : "2006-01-02T15:04:05Z07:00", rest_, element);
  }

  int number(std::size_t width, std::string_view element) {
    int value = 0;
    for (std::size_t i = 0; i < width; ++i) {
      if (i >= rest_.size() || !is_digit(rest_[i])) {
        fail(element);
        return 0;
      }
      value = value * 10 + (rest_[i] - '0');
    }
    if (wrong_.empty()) rest_.remove_prefix(width);
    return value;
  }

  void literal(char c) {
    if (rest_.empty() || rest_[0] != c) return fail(std::string_view(&c, 1));
    if (wrong_.empty()) rest_.remove_prefix(1);
  }

  void fraction() {
    std::size_t digits = 0;
    if (!rest_.empty() && rest_[0] == '.')
      while (digits + 1 < rest_.size() && is_digit(rest_[digits + 1])) ++digits;
    if (micro_ ? digits < 6 : digits == 0 && !rest_.empty() && rest_[0] == '.')
      return fail(micro_ ? ".000000" : "Z07:00");
    if (micro_) digits = 6;
    if (digits > 0 && wrong_.empty()) rest_.remove_prefix(digits + 1);
  }

  void zone() {
    if (!wrong_.empty()) return;
    if (rest_.starts_with('Z')) return rest_.remove_prefix(1);
    const bool offset = rest_.size() >= 6 && (rest_[0] == '+' || rest_[0] == '-') && is_digit(rest_[1]) &&
                        is_digit(rest_[2]) && rest_[3] == ':' && is_digit(rest_[4]) && is_digit(rest_[5]);
    if (!offset) return fail("Z07:00");
    rest_.remove_prefix(6);
  }

  std::string_view text_;
  std::string_view rest_;
  bool micro_;
  std::string wrong_;
};

}  // namespace

std::string check_go_time(std::string_view text, bool micro) { return Reader(text, micro).check(); }

}  // namespace kopper::plane::builtin
