#pragma once

#include <string>
#include <vector>

#include "kopper/runtime/controller.h"

namespace kopper::workloads {

// All that makes objects of a cluster live, but for the node agent. `state_dir` is where claims' data goes.
std::vector<runtime::ControllerSpec> controllers(const std::string& state_dir);

}  // namespace kopper::workloads
