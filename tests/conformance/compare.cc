#include "conformance/compare.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "kopper/base/error.h"
#include "kopper/rt/file.h"

namespace kopper::conformance {
namespace {

constexpr std::size_t kLongest = 300;

std::string shown(const json::Value* value) {
  if (value == nullptr) return "nothing";
  auto text = json::dump(*value);
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "…";
  return text;
}

// What tells an item from its siblings.
std::string name_of(const json::Value& item) {
  for (const auto* key : {"name", "step", "resource", "field", "manager"}) {
    if (!item.text(key).empty()) {
      return fmt::format("{}{}{}", item.text(key), item.text("operation"), item.text("subresource"));
    }
  }
  return std::string(item["metadata"].text("name"));
}

bool have_names(const json::Array& items) {
  std::set<std::string> names;
  return std::ranges::all_of(items, [&](const auto& item) {
    auto name = name_of(item);
    return !name.empty() && names.insert(std::move(name)).second;
  });
}

class Comparison {
 public:
  explicit Comparison(const std::string& step) : step_(step) {}

  void values(const std::string& path, const json::Value* real, const json::Value* ours) {
    if (real != nullptr && ours != nullptr) {
      if (*real == *ours) return;
      if (real->is_object() && ours->is_object()) return objects(path, *real->as_object(), *ours->as_object());
      if (real->is_array() && ours->is_array()) return arrays(path, *real->as_array(), *ours->as_array());
    }
    out.push_back({step_, path, shown(real), shown(ours)});
  }

  std::vector<Difference> out;

 private:
  void objects(const std::string& path, const json::Object& real, const json::Object& ours) {
    const auto below = [&](const std::string& key) { return path.empty() ? key : path + "." + key; };
    for (const auto& [key, value] : real) values(below(key), &value, ours.find(key));
    for (const auto& [key, value] : ours) {
      if (!real.contains(key)) values(below(key), nullptr, &value);
    }
  }

  void arrays(const std::string& path, const json::Array& real, const json::Array& ours) {
    if (have_names(real) && have_names(ours)) return by_name(path, real, ours);
    for (std::size_t i = 0; i < std::max(real.size(), ours.size()); ++i) {
      values(fmt::format("{}[{}]", path, i), i < real.size() ? &real[i] : nullptr,
             i < ours.size() ? &ours[i] : nullptr);
    }
  }

  void by_name(const std::string& path, const json::Array& real, const json::Array& ours) {
    const auto before = out.size();
    for (const auto& item : real) {
      const auto match = std::ranges::find(ours, name_of(item), name_of);
      values(fmt::format("{}[{}]", path, name_of(item)), &item, match == ours.end() ? nullptr : &*match);
    }
    for (const auto& item : ours) {
      if (std::ranges::find(real, name_of(item), name_of) == real.end()) {
        values(fmt::format("{}[{}]", path, name_of(item)), nullptr, &item);
      }
    }
    if (out.size() == before) out.push_back({step_, path, "another order", shown_names(ours)});
  }

  static std::string shown_names(const json::Array& items) {
    json::Array names;
    for (const auto& item : items) names.emplace_back(name_of(item));
    const json::Value all(std::move(names));
    return shown(&all);
  }

  const std::string& step_;
};

// `*` is any text.
bool matches(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, star = std::string_view::npos, from = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      from = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++from;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

std::string_view trimmed(std::string_view text) {
  const auto from = text.find_first_not_of(" \t");
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(" \t") - from + 1);
}

}  // namespace

std::string Difference::str() const { return fmt::format("{}: {}: real={} ours={}", step, path, real, ours); }

std::vector<Difference> compare(const std::string& step, const json::Value& real, const json::Value& ours) {
  Comparison comparison(step);
  if (real["status"] == ours["status"]) {
    comparison.values("", &real, &ours);
  } else {
    const auto message = [](const json::Value& answer) {
      const auto* body = answer.as_object()->find("body");
      const auto* text = body != nullptr && body->is_object() ? body->as_object()->find("message") : nullptr;
      return fmt::format("{} {}", shown(&answer["status"]), text != nullptr ? shown(text) : "");
    };
    comparison.out.push_back({step, "status", message(real), message(ours)});
  }
  return std::move(comparison.out);
}

KnownDifferences KnownDifferences::read(const std::filesystem::path& file) { return parse(rt::read_file(file)); }

KnownDifferences KnownDifferences::parse(std::string_view text) {
  KnownDifferences out;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const auto line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.starts_with('#')) continue;
    const auto reason = line.find(" # ");
    if (reason == std::string_view::npos) throw Error(Code::Invalid, fmt::format("no reason is given: {}", line));
    out.entries_.push_back({std::string(trimmed(line.substr(0, reason)))});
  }
  return out;
}

bool KnownDifferences::covers(const Difference& difference) {
  const auto text = fmt::format("{}: {}", difference.step, difference.path);
  bool covered = false;
  for (auto& entry : entries_) {
    if (!matches(entry.pattern, text)) continue;
    entry.used = true;
    covered = true;
  }
  return covered;
}

std::vector<std::string> KnownDifferences::unused() const {
  std::vector<std::string> out;
  for (const auto& entry : entries_) {
    if (!entry.used) out.push_back(entry.pattern);
  }
  return out;
}

}  // namespace kopper::conformance
