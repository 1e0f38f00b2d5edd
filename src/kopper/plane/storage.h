#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kopper/rt/task.h"

namespace kopper::plane {

// One change, as it is made durable. `json` is the whole object; nothing when it was deleted.
struct Write {
  std::uint64_t revision = 0;
  std::string table;  // "deployments.apps"
  std::string namespace_;
  std::string name;
  std::optional<std::string> json;
};

// Where objects outlive the process. The server works on its own memory; a storage is a log behind it.
class Storage {
 public:
  struct Loaded {
    std::uint64_t revision = 0;  // of the last write, also when its object is gone
    std::vector<Write> objects;
  };

  virtual ~Storage() = default;
  // Everything that is there. Called once, before anything else.
  virtual Task<Loaded> load() = 0;
  // Takes a change; revisions only grow. Nothing is promised before durable() returns.
  virtual void write(Write change) = 0;
  // Returns when all changes up to `revision` would survive a crash. Throws Error when they would not.
  virtual Task<> durable(std::uint64_t revision) = 0;
};

}  // namespace kopper::plane
