#pragma once

#include <vector>

#include "kopper/api/gen/apps_v1.h"
#include "kopper/api/pods.h"
#include "kopper/base/error.h"
#include "kopper/runtime/controller.h"

namespace kopper::workloads {

// What a ReplicaSet's status should say of its pods. Pure. `failed`: why pods could not be made or deleted.
api::appsv1::ReplicaSetStatus observed(const api::appsv1::ReplicaSet& set, const std::vector<api::PodRef>& pods,
                                       api::Time now, const Error* failed = nullptr);

// Keeps as many pods of a template as a ReplicaSet says.
runtime::ControllerSpec replica_set();

}  // namespace kopper::workloads
