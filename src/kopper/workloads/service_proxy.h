#pragma once

#include <string>
#include <vector>

#include "kopper/api/gen/core_v1.h"
#include "kopper/runtime/controller.h"
#include "kopper/workloads/endpoints.h"
#include "kopper/workloads/forwarder.h"

namespace kopper::workloads {

// What a service offers on this machine: its cluster address, when that is one of 127.0.0.0/8, and its node ports on
// 127.0.0.1. Pure.
struct ServiceFronts {
  std::vector<Front> fronts;
  std::vector<std::string> unsupported;  // why a port is not among them
};
ServiceFronts fronts_of(const api::corev1::Service& service, const std::vector<SliceRef>& slices);

// Lets services be reached on this machine, through a forwarder that outlives it. What cannot be listened on is told in
// an event of the service.
runtime::ControllerSpec service_proxy(Forwarder& forwarder);

}  // namespace kopper::workloads
