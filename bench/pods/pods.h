#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace kopper::bench {

// Pods as kube-apiserver sends them: one or two containers, probes, volumes, status and managedFields, 7 to 8 KB of
// compact JSON each. The same ones every time.
std::vector<std::string> pods(std::size_t count);

// A PodList of them, one body.
std::string pod_list(const std::vector<std::string>& pods);

}  // namespace kopper::bench
