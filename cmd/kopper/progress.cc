#include "progress.h"

#include <algorithm>

#include <fmt/format.h>

#include "table.h"

namespace kopper::cmd {
namespace {

const json::Value* condition(const json::Value& object, std::string_view type) {
  const auto* all = object["status"]["conditions"].as_array();
  if (all == nullptr) return nullptr;
  const auto found = std::ranges::find_if(*all, [type](const json::Value& one) { return one.text("type") == type; });
  return found == all->end() ? nullptr : &*found;
}

}  // namespace

ProgressRow progress_of(const json::Value& object) {
  ProgressRow row;
  row.kind = object.text("kind");
  row.name = object["metadata"].text("name");
  row.phase = object["status"].text("phase");
  const auto* ready = condition(object, "Ready");
  if (ready == nullptr) ready = condition(object, "Available");  // what kinds that are like Deployments say
  const auto* degraded = condition(object, "Degraded");
  const auto* told = degraded != nullptr && degraded->text("status") == "True" ? degraded : ready;
  row.ready = ready == nullptr ? "-" : ready->text("status");
  if (told != nullptr) {
    row.message = told->text("message");
    if (row.phase.empty()) row.phase = told->text("reason");
  }
  if (row.phase.empty()) row.phase = "Pending";
  return row;
}

std::string progress_table(const std::vector<ProgressRow>& rows) {
  std::vector<std::vector<std::string>> cells{{"KIND", "NAME", "PHASE", "READY", "MESSAGE"}};
  for (const auto& row : rows) cells.push_back({row.kind, row.name, row.phase, row.ready, row.message});
  return align(cells);
}

std::string progress_line(const ProgressRow& row) {
  return fmt::format("{} {}: {}{}{}", row.kind, row.name, row.is_ready() ? "ready" : row.phase,
                     row.message.empty() ? "" : ": ", row.message);
}

bool all_ready(const std::vector<ProgressRow>& rows) {
  return !rows.empty() && std::ranges::all_of(rows, &ProgressRow::is_ready);
}

}  // namespace kopper::cmd
