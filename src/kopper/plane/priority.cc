#include "kopper/plane/priority.h"

#include <fmt/format.h>

#include "kopper/plane/reading.h"

namespace kopper::plane {
namespace {

constexpr const char* kClasses = "priorityclasses.scheduling.k8s.io";

// Null when there is none. Of several that were made at once, the lowest.
json::Value default_class(Core& core, std::string_view but_for = {}) {
  json::Value found;
  for (const auto& [place, stored] : core.state.table(kClasses).objects()) {
    if (stored->name == but_for || !stored->json.contains("globalDefault\":true")) continue;
    json::Value one = stored->value();
    if (!is_true(one["globalDefault"])) continue;
    if (found.is_null() || number(one["value"]) < number(found["value"])) found = std::move(one);
  }
  return found;
}

json::Value class_of(Core& core, const Attempt& attempt, std::string_view name) {
  if (name.empty()) return default_class(core);
  const StoredRef found = core.state.table(kClasses).find("", name);
  if (!found)
    throw forbidden(attempt.resource->subject(), attempt.name,
                    fmt::format("no PriorityClass with name {} was found", name));
  return found->value();
}

void give_priority(Core& core, Attempt& attempt) {
  json::Value& spec = attempt.object["spec"];
  const json::Value& seen = spec;
  const json::Value from = class_of(core, attempt, seen.text("priorityClassName"));
  const std::int64_t priority = number(from["value"]);
  const std::string_view policy = from.is_null() ? "PreemptLowerPriority" : from.text("preemptionPolicy");
  const auto refuse = [&](std::string message) {
    throw forbidden(attempt.resource->subject(), attempt.name, std::move(message));
  };
  if (!seen["priority"].is_null() && number(seen["priority"]) != priority)
    refuse(
        fmt::format("the integer value of priority ({}) must not be provided in pod spec; priority admission "
                    "controller computed {} from the given PriorityClass name",
                    number(seen["priority"]), priority));
  if (!policy.empty() && !seen["preemptionPolicy"].is_null() && seen.text("preemptionPolicy") != policy)
    refuse(
        fmt::format("the string value of PreemptionPolicy ({}) must not be provided in pod spec; priority admission "
                    "controller computed {} from the given PriorityClass name",
                    seen.text("preemptionPolicy"), policy));
  if (!from.is_null()) spec["priorityClassName"] = from["metadata"].text("name");
  spec["priority"] = priority;
  if (!policy.empty()) spec["preemptionPolicy"] = policy;
}

}  // namespace

void admit_priority(Core& core, Attempt& attempt) {
  if (!attempt.subresource.empty()) return;
  const bool create = attempt.operation == Attempt::Operation::Create;
  const Resource& resource = *attempt.resource;
  if (create && resource.kind == "Pod" && resource.group.empty()) give_priority(core, attempt);
  if (resource.table() != kClasses || !is_true(std::as_const(attempt.object)["globalDefault"])) return;
  if (const json::Value other = default_class(core, attempt.name); !other.is_null())
    throw forbidden(resource.subject(), attempt.name,
                    fmt::format("PriorityClass {} is already marked as default. Only one default can exist",
                                other["metadata"].text("name")));
}

}  // namespace kopper::plane
