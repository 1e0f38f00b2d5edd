// pods/eviction: a deletion that a disruption budget may forbid.
#include <fmt/format.h>

#include "kopper/api/gen/meta_v1.h"
#include "kopper/api/selector.h"
#include "kopper/meta/decode.h"
#include "kopper/plane/body.h"
#include "kopper/plane/reading.h"
#include "kopper/plane/remove.h"
#include "kopper/plane/save.h"
#include "kopper/plane/subresources.h"

namespace kopper::plane {
namespace {

constexpr const char* kBudgets = "poddisruptionbudgets.policy";

// A pod that serves nobody any more, or nobody yet, is no loss.
bool may_always_go(const json::Value& pod) {
  const std::string_view phase = pod["status"].text("phase");
  return phase == "Succeeded" || phase == "Failed" || phase == "Pending" ||
         !pod["metadata"].text("deletionTimestamp").empty();
}

bool is_ready(const json::Value& pod) {
  for (const json::Value& condition : items(pod["status"]["conditions"]))
    if (condition.text("type") == "Ready") return condition.text("status") == "True";
  return false;
}

bool selects(const json::Value& budget, const Stored& pod) {
  const auto selector = meta::decode<api::metav1::LabelSelector>(json::dump(budget["spec"]["selector"]));
  if (!selector || budget["spec"]["selector"].is_null()) return false;
  const auto parsed = api::Selector::from(*selector);
  const api::Labels labels(pod.labels.begin(), pod.labels.end());
  return parsed && parsed->matches(labels);
}

StoredRef budget_of(Core& core, const Stored& pod) {
  StoredRef found;
  const auto& all = core.state.table(kBudgets).objects();
  for (auto at = all.lower_bound(Table::Place(pod.namespace_, ""));
       at != all.end() && at->first.first == pod.namespace_; ++at) {
    if (!selects(at->second->value(), pod)) continue;
    if (found)
      throw Refusal(500, "",
                    "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.");
    found = at->second;
  }
  return found;
}

Refusal too_many(std::string cause, std::optional<std::chrono::seconds> retry = std::nullopt) {
  Refusal out(429, "TooManyRequests", "Cannot evict pod as it would violate the pod's disruption budget.");
  out.details["causes"] = json::Array{json::Object{{"reason", "DisruptionBudget"}, {"message", std::move(cause)}}};
  out.retry_after = retry;
  return out;
}

// A pod that is not ready counts for nothing; whether it may go all the same is up to the budget.
bool may_go_unready(const json::Value& budget) {
  if (budget["spec"].text("unhealthyPodEvictionPolicy") == "AlwaysAllow") return true;
  const std::int64_t wanted = number(budget["status"]["desiredHealthy"]);
  return wanted > 0 && number(budget["status"]["currentHealthy"]) >= wanted;
}

// What the budget's controller says of it.
const json::Value& verdict(const json::Value& status) {
  static const json::Value kNone;
  for (const json::Value& condition : items(status["conditions"]))
    if (condition.text("type") == "DisruptionAllowed" && condition.text("status") == "False") return condition;
  return kNone;
}

std::string why_none(std::string_view name, const json::Value& status) {
  const json::Value& why = verdict(status);
  const std::string_view message = why.text("message");
  const std::int64_t wanted = number(status["desiredHealthy"]);
  const std::int64_t healthy = number(status["currentHealthy"]);
  if (!message.empty() && why.text("reason") == "SyncFailed")
    return fmt::format("The disruption budget {} does not allow evicting pods currently because it failed sync: {}",
                       name, message);
  if (healthy <= wanted)
    return fmt::format("The disruption budget {} needs {} healthy pods and has {} currently", name, wanted, healthy);
  if (!message.empty())
    return fmt::format("The disruption budget {} does not allow evicting pods currently ({}): {}", name,
                       why.text("reason"), message);
  return fmt::format("The disruption budget {} does not allow evicting pods currently", name);
}

void check_budget(const json::Value& budget) {
  const json::Value& status = budget["status"];
  const std::string_view name = budget["metadata"].text("name");
  if (number(status["observedGeneration"]) < number(budget["metadata"]["generation"]))
    throw too_many(fmt::format("The disruption budget {} is still being processed by the server.", name),
                   std::chrono::seconds(10));
  const std::int64_t left = number(status["disruptionsAllowed"]);
  if (left < 0)
    throw forbidden({.group = "policy", .resource = "poddisruptionbudgets"}, name,
                    "pdb disruptions allowed is negative");
  if (left == 0) throw too_many(why_none(name, status));
}

// Who is let go counts against the budget until its controller has seen it.
void spend(json::Value& budget, const std::string& pod, const std::string& now) {
  json::Value& status = budget["status"];
  const std::int64_t left = number(std::as_const(status)["disruptionsAllowed"]) - 1;
  status["disruptionsAllowed"] = left;
  status["disruptedPods"][pod] = now;
  if (left > 0) return;
  json::Object condition{{"type", "DisruptionAllowed"}, {"status", "False"}};
  condition["observedGeneration"] = std::as_const(status)["observedGeneration"];
  condition["lastTransitionTime"] = now;
  condition["reason"] = "InsufficientPods";
  condition["message"] = "";
  set_condition(status, std::move(condition));
}

void ask_budget(Core& core, const Stored& pod, bool dry_run) {
  const json::Value value = pod.value();
  if (may_always_go(value)) return;
  const StoredRef found = budget_of(core, pod);
  if (!found) return;
  const json::Value budget = found->value();
  if (!is_ready(value) && may_go_unready(budget)) return;
  check_budget(budget);
  if (dry_run) return;
  const std::string now = core.now().str();
  save_raw(core, core.state.table(kBudgets), found, [&](json::Value& next) { spend(next, pod.name, now); });
}

// Who watches the pod sees that it does not end by itself.
StoredRef say_why(Core& core, const StoredRef& pod) {
  const std::string now = core.now().str();
  const StoredRef told = save_raw(core, core.state.table("pods"), pod, [&](json::Value& object) {
    set_condition(object["status"], json::Object{{"type", "DisruptionTarget"},
                                                 {"status", "True"},
                                                 {"lastProbeTime", nullptr},
                                                 {"lastTransitionTime", now},
                                                 {"reason", "EvictionByEvictionAPI"},
                                                 {"message", "Eviction API: evicting"}});
  });
  return told ? told : pod;
}

StoredRef pod_of(Core& core, const Call& call) {
  StoredRef out = core.state.table("pods").find(call.info.namespace_, call.info.name);
  if (!out) throw not_found(call.resource->subject(), call.info.name);
  return out;
}

}  // namespace

Task<http::Response> evict(Core& core, Call& call) {
  if (call.info.verb != "create") throw method_not_allowed();
  json::Value eviction = read_body(call);
  if (std::as_const(eviction)["metadata"].text("name") != call.info.name)
    throw bad_request("name in URL does not match name in Eviction object");
  (void)pod_of(core, call);
  eviction["metadata"]["namespace"] = call.info.namespace_;
  const Attempt::Kind kind{.group = "policy", .version = "v1", .kind = "Eviction"};
  eviction = co_await reviewed_part(core, call, kind, std::move(eviction));
  json::Value options = eviction["deleteOptions"].is_object() ? eviction["deleteOptions"] : json::Value(json::Object());
  if (call.dry_run()) options["dryRun"] = json::Array{"All"};
  StoredRef pod = pod_of(core, call);
  const bool dry_run = std::as_const(options)["dryRun"].is_array();
  ask_budget(core, *pod, dry_run);
  const bool conditional = !std::as_const(options)["preconditions"].text("resourceVersion").empty();
  if (!dry_run && !conditional) pod = say_why(core, pod);
  co_await remove_reviewed(core, call, pod, std::move(options));
  co_return answer(call, 201, created_status());
}

}  // namespace kopper::plane
