#pragma once

#include <vector>

#include "kopper/runtime/controller.h"

namespace kopper::workloads {

// Runs Jobs to their end, and lets go of pods whose Job is no longer there to count them.
std::vector<runtime::ControllerSpec> job();

}  // namespace kopper::workloads
