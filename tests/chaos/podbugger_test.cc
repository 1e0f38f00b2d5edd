#include <algorithm>
#include <map>

#include "chaos.h"
#include "operators/podbugger/types.h"

namespace chaos {
namespace {

using kopper::Pod;
using podbugger::Podbuggertool;

class PodbuggerChaos : public Chaos {
 protected:
  PodbuggerChaos() : Chaos(podbugger::podbugger(), {"pods", "pods/ephemeralcontainers", "podbuggertools"}) {}

  void people() override {
    const std::string app = any(2) == 0 ? "web" : "db";
    switch (any(5)) {
      case 0: return tool(app);
      case 1: cluster_.remove<Podbuggertool>("tool-" + app); return;
      case 2:
      case 3: return pod(app);
      default: cluster_.remove<Pod>(fmt::format("{}-{}", app, any(4)));
    }
  }
  void tool(const std::string& app) {
    Podbuggertool wanted;
    wanted.metadata.name = "tool-" + app;
    wanted.spec.label = "app=" + app;
    wanted.spec.image = any(2) == 0 ? "busybox" : "nicolaka/netshoot";
    cluster_.apply(wanted);
  }
  // One that runs.
  void pod(const std::string& app) {
    Pod wanted;
    wanted.metadata.name = fmt::format("{}-{}", app, any(4));
    wanted.metadata.labels["app"] = app;
    wanted.spec.containers.push_back({.name = "main", .image = "main"});
    if (cluster_.find<Pod>(wanted.metadata.name)) return;
    cluster_.apply(wanted);
    cluster_.set_status<Pod>(wanted.metadata.name, [](Pod& it) { it.status.phase = "Running"; });
  }

  bool is_right() override {
    const auto pods = cluster_.list<Pod>();
    return std::ranges::all_of(cluster_.list<Podbuggertool>(), [&](const Podbuggertool& tool) {
      std::int32_t picked = 0;
      for (const Pod& pod : pods) {
        if (!podbugger::selector_of(tool).matches(pod.metadata.labels)) continue;
        ++picked;
        if (podbugger::missing(tool, pod)) return false;
      }
      return tool.status.matched == picked && tool.status.installed == picked &&
             tool.status.observedGeneration == tool.metadata.generation;
    });
  }
};

TEST_P(PodbuggerChaos, EndsInOrder) { run(); }

INSTANTIATE_TEST_SUITE_P(Seeds, PodbuggerChaos, seeds());

}  // namespace
}  // namespace chaos
