#pragma once

#include <string>

#include "kopper/plane/chores.h"
#include "kopper/plane/core.h"

namespace kopper::plane {

// Empties a namespace that is being deleted, and ends it when nothing is left in it.
class NamespaceLifecycle {
 public:
  // Both outlive this.
  NamespaceLifecycle(Core& core, Chores& chores);

  // Takes up what an earlier process left undone.
  void resume();

 private:
  void changed(Table& table, const Change& change);
  Task<> empty(std::string name);

  Core& core_;
  Chores& chores_;
};

}  // namespace kopper::plane
