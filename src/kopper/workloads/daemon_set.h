#pragma once

#include "kopper/runtime/controller.h"

namespace kopper::workloads {

// Keeps a pod of a DaemonSet on each node that it fits.
runtime::ControllerSpec daemon_set();

}  // namespace kopper::workloads
