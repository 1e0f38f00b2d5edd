#include "table.h"

#include <algorithm>
#include <cctype>

namespace kopper::cmd {
namespace {

// Columns, as terminals count them: UTF-8 continuation bytes take no place.
std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

// A cell is one line: what a pod writes must not break the table, nor reach the terminal as a control sequence.
std::string cell_text(const json::Value& cell) {
  std::string text = cell.is_null() ? "<none>" : cell.as_string() != nullptr ? *cell.as_string() : json::dump(cell);
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
  }
  return text;
}

std::string upper(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return result;
}

}  // namespace

std::string align(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    if (row.size() > widths.size()) widths.resize(row.size());
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  }
  std::string out;
  for (const auto& row : rows) {
    const auto begin = out.size();
    for (std::size_t i = 0; i < row.size(); ++i) {
      out += row[i];
      if (i + 1 < row.size()) out.append(widths[i] - width(row[i]) + 3, ' ');
    }
    while (out.size() > begin && out.back() == ' ') out.pop_back();
    out += '\n';
  }
  return out;
}

std::string render_table(const json::Value& table, TableStyle style) {
  std::vector<std::size_t> shown;
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> header;
  if (style.namespaces) header.emplace_back("NAMESPACE");
  if (const auto* columns = table["columnDefinitions"].as_array()) {
    for (std::size_t i = 0; i < columns->size(); ++i) {
      const auto& column = (*columns)[i];
      const auto* priority = column["priority"].as_int();
      if (priority != nullptr && *priority != 0 && !style.wide) continue;
      shown.push_back(i);
      header.push_back(upper(column.text("name")));
    }
  }
  if (style.headers) rows.push_back(std::move(header));
  if (const auto* given = table["rows"].as_array()) {
    for (const auto& row : *given) {
      std::vector<std::string> cells;
      if (style.namespaces) cells.emplace_back(row["object"]["metadata"].text("namespace"));
      for (const auto i : shown) cells.push_back(cell_text(row["cells"][i]));
      rows.push_back(std::move(cells));
    }
  }
  return align(rows);
}

}  // namespace kopper::cmd
