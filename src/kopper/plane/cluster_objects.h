#pragma once

#include <string>

#include "kopper/plane/core.h"

namespace kopper::plane {

// Makes the objects that kube-apiserver makes by itself when it starts: the four namespaces, the two priority classes
// of the system, and the Service `kubernetes` with its endpoints, at which programs inside the cluster find it.
// `address`: "https://127.0.0.1:6443"; "": it has none, and no endpoints. `service_ip`: of the Service.
Task<> make_cluster_objects(Core& core, std::string address, std::string service_ip);

}  // namespace kopper::plane
