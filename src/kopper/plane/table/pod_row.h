#pragma once

#include "kopper/json/value.h"
#include "kopper/plane/table/table.h"

namespace kopper::plane::table {

// What `kubectl get pods` shows of a pod. Its status is a summary of the states of its containers.
json::Array pod_cells(const json::Value& pod, Time now);

}  // namespace kopper::plane::table
