#pragma once

#include "kopper/plane/core.h"
#include "kopper/rt/task.h"

namespace kopper::plane {

// The roles and bindings that people meet on every cluster, as kube-apiserver makes them when it starts; those of its
// many controllers are left out. What is there already gets the rules and subjects that it lacks, unless its annotation
// rbac.authorization.kubernetes.io/autoupdate says false. `core` outlives the task.
Task<> make_bootstrap_roles(Core& core);

}  // namespace kopper::plane
