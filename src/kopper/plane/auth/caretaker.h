#pragma once

#include <set>
#include <string>

#include "kopper/plane/auth/authorizer.h"
#include "kopper/plane/auth/options.h"
#include "kopper/plane/core.h"
#include "kopper/rt/task.h"
#include "kopper/rt/wait_list.h"

namespace kopper::plane {

// What the controller manager of a cluster does about access: gives each namespace its ServiceAccount `default` and its
// ConfigMap kube-root-ca.crt, and aggregated ClusterRoles their rules. Whatever is changed or removed comes back.
class Caretaker {
 public:
  // All outlive this.
  Caretaker(Core& core, const Authorizer& authorizer, const AuthOptions& options);

  // Sees to everything once.
  Task<> start();
  // Follows changes; ends only by cancellation.
  Task<> run();
  // Whether tend() may have something to do.
  bool behind(const std::string& namespace_) const;
  // What a namespace should have, now: so that nobody has to wait for it.
  Task<> tend(std::string namespace_);

 private:
  void change(const Table& table, const Change& change);
  Task<> aggregate();

  Core& core_;
  const Authorizer& authorizer_;
  const AuthOptions& options_;
  std::set<std::string> namespaces_;  // to be looked at
  bool roles_ = false;                // ClusterRoles are to be looked at
  rt::WaitList work_;
};

}  // namespace kopper::plane
