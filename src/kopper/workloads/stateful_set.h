#pragma once

#include "kopper/runtime/controller.h"

namespace kopper::workloads {

// Keeps a StatefulSet's pods, each with a name and claims of its own.
runtime::ControllerSpec stateful_set();

}  // namespace kopper::workloads
