#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kopper/api/gen/core_v1.h"
#include "kopper/api/pods.h"
#include "kopper/api/quantity.h"

// Which node a pod goes to. Pure.
namespace kopper::workloads {

using NodeRef = std::shared_ptr<const api::corev1::Node>;
using Resources = std::map<std::string, api::Quantity>;

// What the pod asks for: the sum of its containers, or the largest init container where that is more; and its overhead.
Resources requests_of(const api::corev1::Pod& pod);

// The pod's nodeSelector and required node affinity allow the node.
bool node_selected(const api::corev1::Pod& pod, const api::corev1::Node& node);
bool tolerates(const api::corev1::Toleration& toleration, const api::corev1::Taint& taint);

struct Placement {
  std::string node;    // "": none fits
  std::string reason;  // then: "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) were unschedulable."
};

// `pods`: all that are on nodes. Looks at what must hold: schedulable, taints, selector and affinity of nodes,
// resources, affinity and anti-affinity of pods (also that of the pods which are there), topology spread that is
// required. Of the nodes that fit, the one that is preferred most, then the emptiest, then the first by name.
Placement place(const api::corev1::Pod& pod, const std::vector<NodeRef>& nodes, const std::vector<api::PodRef>& pods);

}  // namespace kopper::workloads
