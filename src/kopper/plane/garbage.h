#pragma once

#include <string>

#include "kopper/plane/chores.h"
#include "kopper/plane/core.h"

namespace kopper::plane {

// Deletes what nobody owns any more, as the controller manager of a real cluster does:
// - an object whose owners are all gone is deleted;
// - an owner with the finalizer foregroundDeletion goes after the dependents that block it;
// - one with the finalizer orphan goes after its dependents have forgotten it.
class GarbageCollector {
 public:
  // Both outlive this.
  GarbageCollector(Core& core, Chores& chores);

  // Takes up what an earlier process left undone.
  void resume();

 private:
  void changed(Table& table, const Change& change);
  Task<> check(Table* table, Table::Place place, std::string uid);
  Task<> finish_foreground(Table* table, Table::Place place, std::string uid);
  Task<> orphan(Table* table, Table::Place place, std::string uid);

  Core& core_;
  Chores& chores_;
};

}  // namespace kopper::plane
