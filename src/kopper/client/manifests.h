#pragma once

#include <string>

#include "kopper/client/client.h"
#include "kopper/rt/task.h"

namespace kopper::client {

// Server-side apply, by force, of every document of a YAML text, in order; returns when definitions among them are
// served. Objects without a namespace go into `namespace_` when their kind has one. Throws Error naming the line.
Task<> apply_manifests(Client client, std::string yaml, std::string namespace_);

}  // namespace kopper::client
