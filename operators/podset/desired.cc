#include <algorithm>

#include "types.h"

namespace podset {

kopper::Labels labels_of(const PodSet& set) { return {{"app", "podset"}, {"podset_cr", set.metadata.name}}; }

kopper::Pod desired(const PodSet& set, std::string name) {
  return {.metadata = {.name = std::move(name), .labels = labels_of(set)},
          .spec = {.containers = {{.name = "busybox", .image = "busybox", .command = {"sleep", "3600"}}}}};
}

PodSetStatus observed(const PodSet& set, const Pods& pods, const kopper::Error* failed) {
  PodSetStatus status;
  status.selector = kopper::Selector::of(labels_of(set)).str();
  for (const auto& pod : pods) {
    if (!kopper::api::is_active(*pod)) continue;
    status.nodes.push_back(pod->metadata.name);
    if (kopper::api::is_ready(*pod)) ++status.ready;
  }
  std::ranges::sort(status.nodes);
  status.replicas = static_cast<std::int32_t>(status.nodes.size());
  const bool ready = status.replicas == set.spec.size && status.ready == set.spec.size;
  status.conditions = {kopper::condition("Ready", ready, ready ? "AllReady" : "PodsMissing", "{} of {} pods are ready",
                                         status.ready, set.spec.size),
                       failed != nullptr ? kopper::failure("Degraded", *failed)
                                         : kopper::condition("Degraded", false, "AsExpected", "")};
  return status;
}

}  // namespace podset
