#pragma once

#include "kopper/rt/task.h"

#include "conformance/runner.h"

namespace kopper::conformance {

// Our own server, in this process and with no socket: the API server alone, as the real one runs here.
Task<Target> make_local();

}  // namespace kopper::conformance
