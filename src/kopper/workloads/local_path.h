#pragma once

#include <filesystem>
#include <vector>

#include "kopper/runtime/controller.h"

namespace kopper::workloads {

// Gives claims their volumes: one that fits and is free, or else a directory below `directory` (by the class
// `local-path`, which is the default one and made when there is none). A volume goes when its claim does, unless it is
// to be retained; a claim does not go before the pods that use it.
std::vector<runtime::ControllerSpec> local_path(std::filesystem::path directory);

}  // namespace kopper::workloads
