#pragma once

#include <vector>

#include "kopper/rt/task.h"

namespace kopper::rt {

// Waits for one of these signals and returns it: `co_await wait_signal({SIGINT, SIGTERM})` with a named vector.
// While at least one call waits for a signal, its default action (ending the process) is off.
Task<int> wait_signal(std::vector<int> signals);
// SIGINT or SIGTERM: a person or a supervisor wants the process to end.
Task<int> wait_stop_signal();

}  // namespace kopper::rt
