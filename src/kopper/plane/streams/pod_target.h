#pragma once

#include <string>
#include <string_view>

#include "kopper/json/value.h"
#include "kopper/plane/core.h"
#include "kopper/plane/pod_host.h"

// Which container a request is about, and whether it can be: in the words of kube-apiserver and of a kubelet.
namespace kopper::plane {

struct PodTarget {
  json::Value pod;
  ContainerRef container;

  // False: no node has it yet.
  bool scheduled() const { return !pod["spec"].text("nodeName").empty(); }
  bool running() const;
};

// The pod of a request, no container chosen yet. Throws Refusal (404).
PodTarget pod_target(Core& core, const Call& call);
// The one that is named, or the only one. Throws Refusal (400).
void choose_container(PodTarget& target, std::string_view asked);
// Finds the run whose log is meant. Throws Refusal (400) when there is none, saying why.
void choose_run(PodTarget& target, bool previous);

// Throws Refusal (400, 422).
LogOptions log_options(const Call& call, rt::WallTime now);

}  // namespace kopper::plane
