// A schedule that can be read never runs in the past, nor a file of time zones beyond its end.
#include <cstdint>
#include <string_view>

#include "kopper/workloads/completion_indexes.h"
#include "kopper/workloads/cron_schedule.h"

#include "require.h"

using kopper::fuzz::require;
using kopper::workloads::CronSchedule;
using kopper::workloads::TimeZone;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace std::chrono;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const sys_seconds now = sys_days(January / 1 / 2026);
  if (const auto zone = TimeZone::parse(text)) (void)zone->offset(now);
  const auto rule = TimeZone::parse_rule(text.substr(0, text.find('|')));
  const auto zone = rule.value_or(TimeZone());
  const auto bar = text.find('|');
  if (const auto schedule = CronSchedule::parse(bar == std::string_view::npos ? text : text.substr(bar + 1))) {
    const auto next = schedule->next(now, zone);
    require(!next || *next > now, "the next time comes after now");
    if (next) require(schedule->last(now, *next, zone) == next, "the next time is the last one up to it");
  }
  const auto indexes = kopper::workloads::parse_indexes(text, 1000);
  require(kopper::workloads::parse_indexes(kopper::workloads::print_indexes(indexes), 1000) == indexes,
          "indexes are read as they are printed");
  return 0;
}
