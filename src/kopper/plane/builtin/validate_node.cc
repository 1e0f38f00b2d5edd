#include "kopper/plane/builtin/validate_node.h"

#include <set>
#include <utility>

namespace kopper::plane::builtin {
namespace {

void check_taints(Check& check, const Path& path, const Value& taints) {
  const Array& all = items(taints);
  std::set<std::pair<std::string_view, std::string_view>> seen;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Path one = path[i];
    const std::string_view key = all[i].text("key");
    const std::string_view value = all[i].text("value");
    const std::string_view effect = all[i].text("effect");
    check.names(one / "key", Value(key), api::check_label_key(key));
    check.names(one / "value", Value(value), api::check_label_value(value));
    if (effect.empty()) {
      check.required(one / "effect");
    } else {
      check.one_of(one / "effect", Value(effect), {"NoSchedule", "PreferNoSchedule", "NoExecute"});
    }
    if (!seen.emplace(key, effect).second)
      check.duplicate(one,
                      Object{{"Key", key}, {"Value", value}, {"Effect", effect}, {"TimeAdded", all[i]["timeAdded"]}},
                      "taints must be unique by key and effect pair");
  }
}

}  // namespace

void check_node(Check& check, const Value& object, const Value* old) {
  const Path metadata("metadata");  // where the real server says that they are
  const Value& spec = object["spec"];
  check_taints(check, metadata / "taints", spec["taints"]);
  if (old == nullptr) return;
  const Value& before = (*old)["spec"];
  const Path path("spec");
  if (!items(before["podCIDRs"]).empty() && spec["podCIDRs"] != before["podCIDRs"])
    check.forbidden(path / "podCIDRs", "node updates may not change podCIDR except from \"\" to valid");
  if (!before.text("providerID").empty() && spec["providerID"] != before["providerID"])
    check.forbidden(path / "providerID", "node updates may not change providerID except from \"\" to valid");
}

}  // namespace kopper::plane::builtin
