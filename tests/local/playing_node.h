#pragma once

#include "kopper/api/names.h"
#include "kopper/runtime/controller.h"

// The node agent that tests play.
namespace kopper::testing {

// Pods of an image other than "broken" run and are ready at once; those of the image "done" succeed, and those of
// "fails" fail.
inline Task<runtime::Next> play(runtime::Context<Pod> pod) {
  const auto& image = pod->spec.containers[0].image;
  const std::string phase = image == "done" ? "Succeeded" : image == "fails" ? "Failed" : "Running";
  if (image == "broken" || pod->status.phase == phase) co_return runtime::Next::wait();
  api::corev1::PodStatus status;
  status.phase = phase;
  const bool runs = phase == "Running";
  status.conditions.push_back(
      {.type = "Ready", .status = runs ? "True" : "False", .lastTransitionTime = pod.run().now()});
  co_await pod.set_status(status);
  co_return runtime::Next::wait();
}

inline runtime::ControllerSpec playing_node() { return runtime::controller<Pod>().name("node").reconcile(play); }

}  // namespace kopper::testing
