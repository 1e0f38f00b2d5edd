#pragma once

#include "kopper/runtime/controller.h"

namespace kopper::workloads {

// Says in each PodDisruptionBudget how many of its pods may go now, which is what evictions ask.
runtime::ControllerSpec disruption_budget();

}  // namespace kopper::workloads
