#include "kopper/plane/builtin/validate_status.h"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

namespace kopper::plane::builtin {
namespace {

// `part` is at most `whole`.
struct Bound {
  std::string_view part;
  std::string_view whole;
  std::string_view message;
  bool when_given = false;  // the part may be left out
};

constexpr std::string_view kOfReplicas = "cannot be greater than status.replicas";

struct Counts {
  std::string_view group;
  std::string_view kind;
  std::vector<std::string_view> counts;  // in the order in which they are told
  std::vector<Bound> bounds;
};

const std::vector<Counts>& known() {
  static const std::vector<Counts> all = {
      {"apps",
       "Deployment",
       {"observedGeneration", "replicas", "updatedReplicas", "readyReplicas", "availableReplicas",
        "unavailableReplicas", "terminatingReplicas", "collisionCount"},
       {{"updatedReplicas", "replicas", kOfReplicas},
        {"readyReplicas", "replicas", kOfReplicas},
        {"availableReplicas", "replicas", kOfReplicas},
        {"availableReplicas", "readyReplicas", "cannot be greater than readyReplicas"}}},
      {"apps",
       "ReplicaSet",
       {"replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration",
        "terminatingReplicas"},
       {{"fullyLabeledReplicas", "replicas", kOfReplicas},
        {"readyReplicas", "replicas", kOfReplicas},
        {"availableReplicas", "replicas", kOfReplicas},
        {"availableReplicas", "readyReplicas", "cannot be greater than readyReplicas"}}},
      {"",
       "ReplicationController",
       {"replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration"},
       {{"fullyLabeledReplicas", "replicas", kOfReplicas},
        {"readyReplicas", "replicas", kOfReplicas},
        {"availableReplicas", "replicas", kOfReplicas},
        {"availableReplicas", "readyReplicas", "cannot be greater than readyReplicas"}}},
      {"apps",
       "StatefulSet",
       {"replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas", "observedGeneration",
        "collisionCount"},
       {{"readyReplicas", "replicas", kOfReplicas},
        {"currentReplicas", "replicas", kOfReplicas},
        {"updatedReplicas", "replicas", kOfReplicas},
        {"availableReplicas", "replicas", kOfReplicas},
        {"availableReplicas", "readyReplicas", "cannot be greater than status.readyReplicas"}}},
      {"apps",
       "DaemonSet",
       {"currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady", "observedGeneration",
        "updatedNumberScheduled", "numberAvailable", "numberUnavailable", "collisionCount"},
       {}},
      {"batch",
       "Job",
       {"active", "succeeded", "failed", "ready", "terminating"},
       {{"ready", "active", "cannot set more ready pods than active", true}}},
      {"policy", "PodDisruptionBudget", {"disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"}, {}},
      {"autoscaling", "HorizontalPodAutoscaler", {"currentReplicas", "desiredReplicas"}, {}},
  };
  return all;
}

void check_load_balancer(Check& check, const Path& path, const Value& status) {
  const Path ingress = path / "ingress";
  const Array& all = items(status["loadBalancer"]["ingress"]);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Path one = ingress[i];
    if (const std::string_view ip = all[i].text("ip"); !ip.empty() && !is_ip(ip))
      check.invalid(one / "ip", Value(ip), "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
    const std::string_view host = all[i].text("hostname");
    if (host.empty()) continue;
    check.names(one / "hostname", Value(host), api::check_dns_subdomain(host));
    if (is_ip(host)) check.invalid(one / "hostname", Value(host), "must be a DNS name, not an IP address");
  }
}

}  // namespace

void check_status(Check& check, std::string_view group, std::string_view kind, const Value& status) {
  const Path path("status");
  if (kind == "Ingress" || kind == "Service") return check_load_balancer(check, path / "loadBalancer", status);
  const auto at =
      std::ranges::find_if(known(), [&](const Counts& one) { return one.group == group && one.kind == kind; });
  if (at == known().end()) return;
  for (const std::string_view member : at->counts) check.non_negative(path / member, status[member]);
  for (const auto& [part, whole, message, when_given] : at->bounds)
    if (number(status[part]) > number(status[whole]) && !(when_given && status[part].is_null()))
      check.invalid(path / part, number(status[part]), message);
}

}  // namespace kopper::plane::builtin
