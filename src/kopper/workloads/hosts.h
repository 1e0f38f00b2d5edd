#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kopper/api/gen/core_v1.h"
#include "kopper/workloads/downward_api.h"
#include "kopper/workloads/endpoints.h"

// /etc/hosts stands for the cluster's DNS here. Pure. A file that containers have bound is rewritten by
// rt::write_file_in_place, so that those that run see the change.
namespace kopper::workloads {

// The lines of services of all namespaces, as pods of this namespace name them: name.ns, name.ns.svc and
// name.ns.svc.cluster.local, in its own namespace also name. A headless service has a line for each address that is
// ready, and its pods that have a hostname one each: hostname.name.ns … What hosts files cannot say is left out:
// ExternalName, SRV records, names made of addresses.
std::string service_hosts(std::string_view namespace_,
                          const std::vector<std::shared_ptr<const api::corev1::Service>>& services,
                          const std::vector<SliceRef>& slices);

// The whole file of a pod: localhost, itself, its hostAliases, then `services`.
std::string pod_hosts(const api::corev1::Pod& pod, const PodFacts& facts, std::string_view services);

}  // namespace kopper::workloads
