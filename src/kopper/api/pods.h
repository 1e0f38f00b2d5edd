#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kopper/api/gen/core_v1.h"

namespace kopper::api {

// Neither ending nor ended: one that counts as a replica.
bool is_active(const corev1::Pod& pod);
// Its Ready condition is true: it serves.
bool is_ready(const corev1::Pod& pod);

// Ready for so long that it counts as available.
bool is_available(const corev1::Pod& pod, std::int32_t min_ready_seconds, Time now);

using PodRef = std::shared_ptr<const corev1::Pod>;

// Sorts pods by what their loss costs, the cheapest first, as ReplicaSets give up theirs: on no node, not yet running,
// not ready; then by the annotation controller.kubernetes.io/pod-deletion-cost; then ready for the shortest time,
// restarted most often, youngest.
void cheapest_first(std::vector<PodRef>& pods);

}  // namespace kopper::api
