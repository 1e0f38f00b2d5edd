#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "kopper/plane/core.h"
#include "kopper/rt/scope.h"
#include "kopper/rt/wait_list.h"

namespace kopper::plane {

// Deletes the objects of one table some time after they were last written, whatever finalizers they have: Events, as
// kube-apiserver lets etcd do it.
class Expiry {
 public:
  // `core` outlives this, and has read its storage.
  Expiry(Core& core, std::string table, rt::Duration ttl);

  // Takes up what an earlier process left: how old it is, its own metadata tell.
  void resume();

 private:
  struct Due {
    rt::WallTime when;
    Table::Place place;
    std::uint64_t revision = 0;  // a later write has an entry of its own
  };
  Task<> work();

  Core& core_;
  Table& table_;
  const rt::Duration ttl_;
  std::deque<Due> due_;  // in order of time: all live equally long
  rt::WaitList more_;
  rt::Scope tasks_;
};

}  // namespace kopper::plane
