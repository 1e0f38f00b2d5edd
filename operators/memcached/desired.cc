#include <algorithm>

#include "types.h"

namespace memcached {

kopper::Labels labels_of(const Memcached& mc) { return {{"app", "memcached"}, {"memcached_cr", mc.metadata.name}}; }

kopper::Deployment desired(const Memcached& mc) {
  const auto labels = labels_of(mc);
  return {
      .metadata = {.name = mc.metadata.name, .labels = labels},
      .spec = {.replicas = mc.spec.size,
               .selector = {.matchLabels = labels},
               .template_ = {.metadata = {.labels = labels},
                             .spec = {.containers = {{.name = "memcached",
                                                      .image = mc.spec.image,
                                                      .command = {"memcached", "-m", "64", "-o", "modern", "-v"},
                                                      .ports = {{.name = "memcached", .containerPort = 11211}}}}}}}};
}

namespace {

// Of this generation of the Deployment, and serving.
bool is_rolled_out(const kopper::Deployment& live, std::int32_t size) {
  const auto& status = live.status;
  return status.observedGeneration >= live.metadata.generation && status.updatedReplicas == size &&
         status.replicas == size && status.availableReplicas == size;
}

const kopper::api::appsv1::DeploymentCondition* find(const kopper::Deployment& live, std::string_view type) {
  const auto found = std::ranges::find(live.status.conditions, type, &kopper::api::appsv1::DeploymentCondition::type);
  return found == live.status.conditions.end() ? nullptr : &*found;
}

}  // namespace

MemcachedStatus observed(const Memcached& mc, const kopper::Deployment& live,
                         const std::vector<std::shared_ptr<const kopper::Pod>>& pods) {
  MemcachedStatus status;
  status.replicas = live.status.replicas;
  status.ready = live.status.readyReplicas;
  status.selector = kopper::Selector::of(labels_of(mc)).str();
  for (const auto& pod : pods) {
    if (!pod->metadata.deletionTimestamp.is_set()) status.nodes.push_back(pod->metadata.name);
  }
  std::ranges::sort(status.nodes);

  const auto size = mc.spec.size;
  const bool done = is_rolled_out(live, size);
  const bool available = live.status.availableReplicas >= size;
  const auto* failure = find(live, "ReplicaFailure");
  const auto* progress = find(live, "Progressing");
  const bool failed = failure != nullptr && failure->status == "True";
  const bool stuck = progress != nullptr && progress->status == "False";
  status.conditions = {kopper::condition("Available", available, available ? "EnoughReplicas" : "TooFewReplicas",
                                         "{} of {} pods serve", live.status.availableReplicas, size),
                       kopper::condition("Progressing", !done && !stuck, done ? "RolledOut" : "RollingOut",
                                         "{} of {} pods are up to date", live.status.updatedReplicas, size),
                       kopper::condition("Degraded", failed || stuck,
                                         failed  ? "ReplicaFailure"
                                         : stuck ? "NoProgress"
                                                 : "AsExpected",
                                         "{}",
                                         failed  ? failure->message
                                         : stuck ? progress->message
                                                 : "")};
  return status;
}

}  // namespace memcached
