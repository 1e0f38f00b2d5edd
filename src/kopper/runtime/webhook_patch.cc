#include "kopper/runtime/webhook_patch.h"

#include <algorithm>
#include <string>

#include "kopper/json/pointer.h"

namespace kopper::runtime {

namespace {

class Differ {
 public:
  json::Array operations;

  void differ(const json::Value& raw, const json::Value& before, const json::Value& after) {
    if (before == after) return;
    if (raw.is_object() && before.is_object() && after.is_object()) {
      members(raw, *before.as_object(), *after.as_object());
    } else if (!raw.is_array() || !before.is_array() || !after.is_array() ||
               !items(*raw.as_array(), *before.as_array(), *after.as_array())) {
      operation("replace", &after);
    }
  }

 private:
  void members(const json::Value& raw, const json::Object& before, const json::Object& after) {
    for (const auto& [name, value] : before) {
      if (after.contains(name) || !raw.as_object()->contains(name)) continue;
      path_.push_back(name);
      operation("remove", nullptr);
      path_.pop_back();
    }
    for (const auto& [name, value] : after) {
      const auto* known = before.find(name);
      const auto* there = raw.as_object()->find(name);
      if (known != nullptr && *known == value) continue;
      path_.push_back(name);
      if (there == nullptr) {
        operation("add", &value);
      } else if (known == nullptr) {
        operation("replace", &value);
      } else {
        differ(*there, *known, value);
      }
      path_.pop_back();
    }
  }

  // Item by item where they are the same ones, and appended ones alone. False: the list must be replaced.
  bool items(const json::Array& raw, const json::Array& before, const json::Array& after) {
    if (raw.size() != before.size() || after.size() < before.size()) return false;
    const bool grown = after.size() > before.size();
    if (grown && !std::equal(before.begin(), before.end(), after.begin())) return false;
    for (std::size_t i = 0; i < after.size(); ++i) {
      path_.push_back(i < before.size() ? std::to_string(i) : "-");
      if (i < before.size()) {
        differ(raw[i], before[i], after[i]);
      } else {
        operation("add", &after[i]);
      }
      path_.pop_back();
    }
    return true;
  }

  void operation(std::string_view op, const json::Value* value) {
    json::Object out{{"op", op}, {"path", json::Pointer(path_).str()}};
    if (value != nullptr) out["value"] = *value;
    operations.emplace_back(std::move(out));
  }

  std::vector<std::string> path_;
};

}  // namespace

json::Array patch_of(const json::Value& raw, const json::Value& before, const json::Value& after) {
  Differ differ;
  differ.differ(raw, before, after);
  return std::move(differ.operations);
}

}  // namespace kopper::runtime
