#pragma once

#include "kopper/runtime/controller.h"

namespace kopper::workloads {

// Binds pods to nodes. Pods that name another scheduler are left alone; those that fit nowhere say why.
runtime::ControllerSpec scheduler();

}  // namespace kopper::workloads
