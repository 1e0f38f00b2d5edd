#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kopper/api/gen/apps_v1.h"
#include "kopper/api/pods.h"
#include "kopper/api/time.h"
#include "kopper/workloads/placement.h"

// Which nodes a DaemonSet's pods run on, and how they are brought up to date. Pure.
namespace kopper::workloads {

// Whether the set's pod goes to the node, and whether one that is there may stay.
struct NodeFit {
  bool runs = false;
  bool stays = false;
};
NodeFit fit(const api::appsv1::DaemonSet& set, const api::corev1::Node& node);

// The set's pod for a node: bound to it by affinity, so that the scheduler brings it there, and tolerating what a
// daemon bears. Its name follows from set and node, so that there is never a second one. `hash`: of its template.
api::corev1::Pod new_pod(const api::appsv1::DaemonSet& set, const std::string& node, const std::string& hash);
// The node that a pod is on or meant for; "" when for none.
std::string target_node(const api::corev1::Pod& pod);

struct DaemonPlan {
  std::vector<std::string> create;  // nodes
  std::vector<api::PodRef> remove;  // where none should be, or one too many
  std::vector<api::PodRef> ended;   // another is to take their place
};
DaemonPlan plan_daemons(const api::appsv1::DaemonSet& set, const std::vector<NodeRef>& nodes,
                        const std::vector<api::PodRef>& pods);

// Pods of other templates that may be replaced now: those that do not serve, and as many others as may be missed. A
// surge is taken as so many more that may be missed: the new pod never runs beside the old one.
std::vector<api::PodRef> outdated(const api::appsv1::DaemonSet& set, const std::vector<NodeRef>& nodes,
                                  const std::vector<api::PodRef>& pods, std::string_view hash, api::Time now);

api::appsv1::DaemonSetStatus observed(const api::appsv1::DaemonSet& set, const std::vector<NodeRef>& nodes,
                                      const std::vector<api::PodRef>& pods, std::string_view hash, api::Time now);

}  // namespace kopper::workloads
