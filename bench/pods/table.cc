#include "pods/table.h"

#include <algorithm>

#include <fmt/format.h>

namespace kopper::bench {

void Table::ReportRuns(const std::vector<Run>& runs) {
  for (const Run& run : runs) {
    if (run.run_type != Run::RT_Iteration || run.error_occurred) continue;
    const auto name = run.run_name.function_name;
    auto row = std::find_if(rows_.begin(), rows_.end(), [&](const Row& r) { return r.name == name; });
    if (row == rows_.end()) row = rows_.insert(rows_.end(), Row{name});
    const auto bytes = run.counters.find("bytes_per_second");
    const auto items = run.counters.find("items_per_second");
    if (bytes != run.counters.end()) row->bytes_per_second = std::max<double>(row->bytes_per_second, bytes->second);
    if (items != run.counters.end()) {
      const double seconds = 1 / items->second;
      row->seconds_an_item = row->seconds_an_item == 0 ? seconds : std::min(row->seconds_an_item, seconds);
    }
  }
}

double Table::speed_of(std::string_view name) const {
  const auto row = std::find_if(rows_.begin(), rows_.end(), [&](const Row& r) { return r.name == name; });
  return row == rows_.end() ? 0 : row->bytes_per_second;
}

void Table::Finalize() {
  fmt::print("| what | MB/s | us each | of {} | x {} |\n|---|---:|---:|---:|---:|\n", base_, rival_);
  for (const Row& row : rows_) {
    const auto ratio = [&row](double other) {
      return other == 0 ? std::string("-") : fmt::format("{:.3g}", row.bytes_per_second / other);
    };
    fmt::print("| {} | {:.0f} | {:.2f} | {} | {} |\n", row.name, row.bytes_per_second / 1e6, row.seconds_an_item * 1e6,
               ratio(speed_of(base_)), ratio(speed_of(rival_)));
  }
}

}  // namespace kopper::bench
