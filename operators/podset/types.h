#pragma once

#include "kopper/kopper.h"

namespace podset {

struct PodSetSpec {
  std::int32_t size = 0;
  static constexpr auto rules =
      kopper::rules(kopper::field<&PodSetSpec::size>.required().min(0).max(10000).doc("How many pods"));
};

struct PodSetStatus {
  std::int32_t replicas = 0;       // pods there are
  std::int32_t ready = 0;          // of them, those that are ready
  std::string selector;            // of the pods, for `kubectl scale` and autoscalers
  std::vector<std::string> nodes;  // names of the pods, sorted
  std::int64_t observedGeneration = 0;
  std::vector<kopper::Condition> conditions;  // Ready, Degraded
};

struct PodSet {
  static constexpr kopper::Kind kind{.group = "apps.jicki.cn",
                                     .version = "v1alpha1",
                                     .kind = "PodSet",
                                     .columns = {{"Size", "integer", ".spec.size"},
                                                 {"Replicas", "integer", ".status.replicas"},
                                                 {"Ready", "integer", ".status.ready"},
                                                 {"Age", "date", ".metadata.creationTimestamp"}},
                                     .scale = {".spec.size", ".status.replicas", ".status.selector"}};

  kopper::ObjectMeta metadata;
  PodSetSpec spec;
  PodSetStatus status;
};

using Pods = std::vector<std::shared_ptr<const kopper::Pod>>;

// Pure: what should be, and what is.
kopper::Labels labels_of(const PodSet& set);
kopper::Pod desired(const PodSet& set, std::string name);
PodSetStatus observed(const PodSet& set, const Pods& pods, const kopper::Error* failed = nullptr);

kopper::ControllerSpec podset();

}  // namespace podset
