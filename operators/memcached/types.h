#pragma once

#include "kopper/kopper.h"

namespace memcached {

struct MemcachedSpec {
  std::int32_t size = 1;
  std::string image = "memcached:1.6-alpine";
  static constexpr auto rules = kopper::rules(kopper::field<&MemcachedSpec::size>.min(0).max(100).doc("How many pods"),
                                              kopper::field<&MemcachedSpec::image>.min_length(1));
};

struct MemcachedStatus {
  std::int32_t replicas = 0;       // pods there are
  std::int32_t ready = 0;          // of them, those that serve
  std::string selector;            // of the pods, for `kubectl scale` and autoscalers
  std::vector<std::string> nodes;  // names of the pods, sorted
  std::int64_t observedGeneration = 0;
  std::vector<kopper::Condition> conditions;  // Available, Progressing, Degraded
};

struct Memcached {
  static constexpr kopper::Kind kind{
      .group = "cache.example.com",
      .version = "v1alpha1",
      .kind = "Memcached",
      .columns = {{"Size", "integer", ".spec.size"},
                  {"Ready", "integer", ".status.ready"},
                  {"Available", "string", ".status.conditions[?(@.type==\"Available\")].status"},
                  {"Image", "string", ".spec.image", 1},
                  {"Age", "date", ".metadata.creationTimestamp"}},
      .scale = {".spec.size", ".status.replicas", ".status.selector"}};

  kopper::ObjectMeta metadata;
  MemcachedSpec spec;
  MemcachedStatus status;
};

// Pure: what should be, and what is.
kopper::Labels labels_of(const Memcached& mc);
kopper::Deployment desired(const Memcached& mc);
MemcachedStatus observed(const Memcached& mc, const kopper::Deployment& live,
                         const std::vector<std::shared_ptr<const kopper::Pod>>& pods);

kopper::ControllerSpec memcached();

}  // namespace memcached
