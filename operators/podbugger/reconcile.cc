#include <algorithm>
#include <chrono>
#include <map>

#include <fmt/format.h>

#include "install.h"
#include "types.h"

namespace podbugger {

namespace {

using Self = kopper::Context<Podbuggertool>;
using kopper::api::corev1::EphemeralContainer;

// What the calls of one pass came to.
struct Outcome {
  std::map<std::string, std::string> refused;  // pod → why
  std::optional<kopper::Error> failed;         // what trying again may mend
};

kopper::Task<> install_one(Self tool, std::shared_ptr<const kopper::Pod> pod, EphemeralContainer container,
                           Outcome* outcome) {
  try {
    co_await install(tool.client(), *pod, container, tool.run().cluster().cache);
    tool.event("Installed", "{} in pod {}", container.name, pod->metadata.name);
  } catch (const kopper::Error& error) {
    using enum kopper::Code;
    if (error.code == NotFound) co_return;  // the pod is gone
    if (error.code == Forbidden || error.code == Invalid || error.code == Unsupported) {
      outcome->refused[pod->metadata.name] = explain(error);
      tool.warning(error.code == Forbidden ? "PolicyDenied" : "NotInstalled", "pod {}: {}", pod->metadata.name,
                   explain(error));
      co_return;
    }
    outcome->failed = error;
  }
}

kopper::Task<kopper::Next> reconcile(Self tool) {
  kopper::cache::Filter filter;
  filter.namespace_ = tool->metadata.namespace_;
  filter.labels = selector_of(*tool);
  auto pods = tool.list<kopper::Pod>(filter);
  std::erase_if(pods, [&tool](const auto& pod) { return !picks(*tool, *pod); });

  auto room = tool->spec.maxPods -
              std::ranges::count_if(pods, [&](const auto& pod) { return !state_of(*tool, *pod).container.empty(); });
  std::vector<std::pair<std::shared_ptr<const kopper::Pod>, EphemeralContainer>> work;
  for (const auto& pod : pods) {
    auto container = missing(*tool, *pod);
    if (!container) continue;
    const bool again = !state_of(*tool, *pod).container.empty();
    if (!again && room-- <= 0) continue;
    work.emplace_back(pod, std::move(*container));
  }
  Outcome outcome;
  const auto one = [&](std::size_t i) { return install_one(tool, work[i].first, work[i].second, &outcome); };
  co_await kopper::slow_start(work.size(), one, 16);

  // As the calls left them.
  for (auto& pod : pods) {
    if (auto newer = tool.find<kopper::Pod>(kopper::key_of(*pod))) pod = std::move(newer);
  }
  co_await tool.set_status(observed(*tool, pods, outcome.refused));
  if (outcome.failed) throw *outcome.failed;
  // A policy or a feature gate may change, and nobody tells.
  if (!outcome.refused.empty()) co_return kopper::Next::in(std::chrono::minutes(10));
  co_return kopper::Next::wait();
}

}  // namespace

kopper::ControllerSpec podbugger() {
  return kopper::controller<Podbuggertool>()
      .watches<kopper::Pod>(picks)
      .may<kopper::Pod>({"patch"}, "ephemeralcontainers")
      .reconcile(reconcile);
}

}  // namespace podbugger
