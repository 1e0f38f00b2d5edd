#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kopper/rt/task.h"

#include "connection.h"
#include "model.h"
#include "settings.h"

namespace redis {

struct SettingsApplied {
  std::vector<std::string> changed;   // "maxmemory is 100mb now, on demo-0, demo-1"
  std::vector<std::string> troubles;  // what a node did not take, and why
  std::vector<std::string> refused;   // names of settings that some node does not know, or not with this value; sorted
};

// Sets on every node that answers what is not as wanted, and what of it can be set while Redis runs. `certificates`:
// TLS files are read again.
kopper::Task<SettingsApplied> apply_settings(Links& links,  // outlives: it is the caller's
                                             std::shared_ptr<const Model> model, std::vector<Setting> wanted,
                                             bool certificates);

}  // namespace redis
