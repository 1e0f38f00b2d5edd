#include "report.h"

#include <string_view>

#include <fmt/format.h>

#include "status.h"

namespace redis {

using Self = kopper::Context<RedisCluster>;

void tell_people(const Self& self, const Decision& decision, const RedisClusterStatus& status) {
  if (self->status.phase != status.phase) {
    const auto message = status.reason.empty() ? fmt::format("{} pods", status.replicas) : status.reason;
    if (status.phase == "Failed") {
      self.warning("Failed", "{}", message);
    } else {
      self.event(status.phase, "{}", message);
    }
  }
  const auto* before = find_condition(self->status, "Degraded");
  if (!decision.degraded.empty() && status.phase != "Failed" &&
      (before == nullptr || before->reason != decision.degraded)) {
    self.warning(decision.degraded, "{}", decision.message);
  }
}

void measure(const Self& self, const Model& model, const Decision& decision) {
  auto& metrics = self.run().cluster().metrics;
  const kopper::metrics::Labels labels{{"namespace", self.key().namespace_}, {"name", self.key().name}};
  metrics.gauge("kopper_redis_cluster_ready", "Whether every slot is served", labels).set(decision.serves ? 1 : 0);
  metrics.gauge("kopper_redis_masters", "Nodes that own slots", labels).set(static_cast<double>(model.held.size()));
  metrics.gauge("kopper_redis_slots_covered", "Slots that have an owner", labels)
      .set(static_cast<double>(kSlots - model.unowned.size()));
  metrics.gauge("kopper_redis_slots_to_move", "Slots that are still to move", labels)
      .set(static_cast<double>(decision.to_move));
  double answering = 0;
  for (const auto& node : model.nodes) answering += node.answers() ? 1 : 0;
  metrics.gauge("kopper_redis_nodes_answering", "Nodes that answer", labels).set(answering);
}

void count(const Self& self, const Decision& decision, const Acted& acted) {
  auto& metrics = self.run().cluster().metrics;
  const kopper::metrics::Labels labels{{"namespace", self.key().namespace_}, {"name", self.key().name}};
  const auto add = [&](std::string_view name, std::string_view help, double by) {
    metrics.counter(name, help, labels).inc(by);
  };
  add("kopper_redis_slots_moved_total", "Slots moved to another master", static_cast<double>(acted.slots));
  add("kopper_redis_keys_moved_total", "Keys moved to another master", static_cast<double>(acted.keys));
  add("kopper_redis_failovers_total", "Failovers that the operator asked for", static_cast<double>(acted.failovers));
  add("kopper_redis_commands_total", "Commands that changed the cluster", static_cast<double>(acted.commands));
  add("kopper_redis_troubles_total", "Things that did not go as they should",
      static_cast<double>(acted.troubles.size()));
  add("kopper_redis_pods_replaced_total", "Pods deleted to be made anew", decision.replace_pod.empty() ? 0 : 1);
}

}  // namespace redis
