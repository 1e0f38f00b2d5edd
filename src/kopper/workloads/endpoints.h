#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "kopper/api/gen/core_v1.h"
#include "kopper/api/gen/discovery_v1.h"
#include "kopper/api/pods.h"
#include "kopper/runtime/controller.h"

// Where the pods of a service are.
namespace kopper::workloads {

inline constexpr std::size_t kMaxEndpointsInSlice = 100;
inline constexpr std::size_t kMaxEndpointsInSubsets = 1000;  // of the old form: the rest is left out, and said so

using SliceRef = std::shared_ptr<const api::discoveryv1::EndpointSlice>;

struct SlicePlan {
  std::vector<api::discoveryv1::EndpointSlice> wanted;  // all there should be, as they should be
  std::vector<SliceRef> remove;
};

// Pure. An endpoint stays in the slice that it is in. `pods` are those that the service selects, `slices` its own.
SlicePlan plan_slices(const api::corev1::Service& service, const std::vector<api::PodRef>& pods,
                      const std::vector<SliceRef>& slices);
// Pure: the old form of the same.
api::corev1::Endpoints endpoints_of(const api::corev1::Service& service, const std::vector<api::PodRef>& pods);

// Keeps EndpointSlices and Endpoints of services with a selector.
runtime::ControllerSpec endpoints();

}  // namespace kopper::workloads
