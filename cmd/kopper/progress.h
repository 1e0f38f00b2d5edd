#pragma once

#include <string>
#include <vector>

#include "kopper/json/value.h"

// What `kopper up` shows of custom resources. Pure.
namespace kopper::cmd {

struct ProgressRow {
  std::string kind;
  std::string name;
  std::string phase;
  std::string ready;  // "True", "False", or "-" before anybody looked
  std::string message;

  bool is_ready() const { return ready == "True"; }
  friend bool operator==(const ProgressRow&, const ProgressRow&) = default;
};

// From status.phase or what the conditions say, whatever the kind.
ProgressRow progress_of(const json::Value& object);
std::string progress_table(const std::vector<ProgressRow>& rows);
// "Memcached demo: 2 of 3 pods are ready"
std::string progress_line(const ProgressRow& row);
bool all_ready(const std::vector<ProgressRow>& rows);

}  // namespace kopper::cmd
