#pragma once

#include <string>
#include <vector>

#include "kopper/runtime/controller.h"
#include "kopper/workloads/forwarder.h"

namespace kopper::workloads {

// All that makes objects of a cluster live, but for the node agent. `state_dir` is where claims' data goes. With a
// forwarder, which outlives them, services are reached on this machine.
std::vector<runtime::ControllerSpec> controllers(const std::string& state_dir, Forwarder* forwarder = nullptr);

}  // namespace kopper::workloads
