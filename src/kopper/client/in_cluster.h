#pragma once

#include <optional>

#include "kopper/client/config.h"

namespace kopper::client {

// The configuration of a pod: KUBERNETES_SERVICE_HOST and _PORT, and the token and CA that are mounted as files.
// Nothing when this is not a pod. Throws Error{Invalid} when it is one, but the files are missing. Both files are named
// in the Config, not read into it, so that they may rotate.
std::optional<Config> in_cluster_config(const LoadOptions& options);

}  // namespace kopper::client
