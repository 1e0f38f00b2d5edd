#pragma once

#include "kopper/runtime/controller.h"

namespace kopper::workloads {

// Rolls a Deployment's template out over ReplicaSets.
runtime::ControllerSpec deployment();

}  // namespace kopper::workloads
