#pragma once

#include <string>
#include <vector>

#include "kopper/json/value.h"

namespace kopper::cmd {

struct TableStyle {
  bool wide = false;  // also the columns a server marks as less important
  bool headers = true;
  bool namespaces = false;  // a NAMESPACE column in front
};

// Lays a server's meta.k8s.io/v1 Table out as text, columns aligned, no trailing blanks.
std::string render_table(const json::Value& table, TableStyle style);

// The same for rows made by ourselves. The first row is the header.
std::string align(const std::vector<std::vector<std::string>>& rows);

}  // namespace kopper::cmd
