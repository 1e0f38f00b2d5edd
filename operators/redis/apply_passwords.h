#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kopper/rt/task.h"

#include "connection.h"
#include "model.h"
#include "rotate.h"

namespace redis {

struct PasswordStep {
  bool done = false;               // nothing is left to do
  std::optional<Passwords> write;  // what the files are to say from now on
  std::string waiting;
  std::vector<std::string> troubles;  // without a secret in them
};

// Asks every node which passwords it takes, and does the next step towards the wanted one (rotate.h).
kopper::Task<PasswordStep> apply_passwords(Links& links,  // outlives: it is the caller's
                                           std::shared_ptr<const Model> model, Passwords passwords);

}  // namespace redis
