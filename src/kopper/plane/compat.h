#pragma once

#include <string_view>

#include "kopper/http/message.h"
#include "kopper/plane/core.h"

// What older servers do in another way, when PlaneOptions::version asks for one.
namespace kopper::plane {

// 20, of "v1.20.15". What is no such version is as new as can be.
int minor_of(std::string_view version);

// pods/ephemeralcontainers before 1.22: get, update and patch of a kind of its own, EphemeralContainers, which has the
// list and the pod's name, uid and resourceVersion. `core` and `call` outlive the task.
Task<http::Response> old_ephemeral_containers(Core& core, Call& call);

}  // namespace kopper::plane
