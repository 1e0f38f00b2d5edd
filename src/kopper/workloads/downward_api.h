#pragma once

#include <map>
#include <string>

#include "kopper/api/gen/core_v1.h"
#include "kopper/api/quantity.h"

// What a pod may ask about itself, for variables and files. Pure.
namespace kopper::workloads {

// What the node knows of a pod before its status says so.
struct PodFacts {
  std::string ip;
  std::string host_ip;
  std::map<std::string, api::Quantity> allocatable;  // of the node: stands for the limits that a container has not
};

// The pod's host name: what its spec says, else its own name, cut to what a host name may have.
std::string pod_hostname(const api::corev1::Pod& pod);

// "metadata.labels['app']", "status.podIP", "spec.nodeName" … A label that is not there is "". Throws Error{Invalid}
// for a path that is none of them.
std::string field_value(const api::corev1::Pod& pod, const PodFacts& facts,
                        const api::corev1::ObjectFieldSelector& field);

// "limits.cpu", "requests.memory" … in units of the divisor, rounded up. `container` is asked about unless the selector
// names another one of the pod. Throws Error{Invalid|NotFound}.
std::string resource_value(const api::corev1::Pod& pod, const api::corev1::Container* container, const PodFacts& facts,
                           const api::corev1::ResourceFieldSelector& selector);

}  // namespace kopper::workloads
