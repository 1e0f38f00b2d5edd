#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "types.h"

namespace podbugger {

namespace {

using kopper::api::corev1::ContainerStatus;
using kopper::api::corev1::EphemeralContainer;

constexpr std::size_t kPodsShown = 100;
constexpr std::size_t kLongestName = 63;

// Eight digits that tell images apart.
std::string digits_of(std::string_view image) { return kopper::fingerprint(image).substr(0, 8); }

// "pbt-<tool>-": the containers of a tool are known by their names, and not by their image, which anybody may use.
std::string prefix_of(const Podbuggertool& tool) {
  std::string name = tool.metadata.name;
  std::ranges::replace(name, '.', '-');  // a container's name is a label, an object's may have dots
  constexpr std::size_t kRest = std::string_view("pbt--12345678-99").size();
  if (name.size() + kRest > kLongestName) name = name.substr(0, kLongestName - kRest - 9) + "-" + digits_of(name);
  return fmt::format("pbt-{}-", name);
}

std::string name_of(const Podbuggertool& tool, std::size_t earlier) {
  const auto name = prefix_of(tool) + digits_of(tool.spec.image);
  return earlier == 0 ? name : fmt::format("{}-{}", name, earlier + 1);
}

// "01234567" or "01234567-2": what follows the prefix. Not "2-01234567", which is a tool's whose name goes on.
bool is_digits_and_count(std::string_view rest) {
  constexpr std::size_t kDigits = 8;
  if (rest.size() < kDigits || rest.substr(0, kDigits).find_first_not_of("0123456789abcdef") != rest.npos) return false;
  rest.remove_prefix(kDigits);
  if (rest.empty()) return true;
  return rest.size() > 1 && rest.size() <= 4 && rest[0] == '-' && rest.find_first_not_of("0123456789", 1) == rest.npos;
}

// The tool's containers in a pod: of this image, in their order, and of others.
struct Found {
  std::vector<const EphemeralContainer*> current;
  std::size_t stale = 0;
};

Found find(const Podbuggertool& tool, const kopper::Pod& pod) {
  Found found;
  const auto prefix = prefix_of(tool);
  const auto current = name_of(tool, 0);
  for (const auto& container : pod.spec.ephemeralContainers) {
    if (!container.name.starts_with(prefix)) continue;
    if (container.name.starts_with(current) &&
        is_digits_and_count(std::string_view(container.name).substr(prefix.size()))) {
      found.current.push_back(&container);
    } else if (is_digits_and_count(std::string_view(container.name).substr(prefix.size()))) {
      ++found.stale;
    }
  }
  return found;
}

const ContainerStatus* status_of(const kopper::Pod& pod, std::string_view container) {
  const auto& all = pod.status.ephemeralContainerStatuses;
  const auto found = std::ranges::find(all, container, &ContainerStatus::name);
  return found == all.end() ? nullptr : &*found;
}

bool has_ended(const kopper::Pod& pod, std::string_view container) {
  const auto* status = status_of(pod, container);
  return status != nullptr && status->state.terminated;
}

bool is_due(const Podbuggertool& tool, const kopper::Pod& pod) {
  if (tool.spec.when == "Ready") return kopper::api::is_ready(pod);
  return tool.spec.when == "Always" || pod.status.phase == "Running";
}

kopper::Terminal invalid(std::string what) {
  kopper::Terminal error(std::move(what));
  error.reason = "InvalidSelector";
  return error;
}

bool has(const kopper::Labels& labels, std::string_view key, std::string_view value) {
  const auto found = labels.find(std::string(key));
  return found != labels.end() && found->second == value;
}

}  // namespace

kopper::Selector selector_of(const Podbuggertool& tool) {
  auto selector = kopper::Selector::parse(tool.spec.label);
  if (!selector) throw invalid(fmt::format("spec.label \"{}\": {}", tool.spec.label, selector.error().str()));
  auto more = kopper::Selector::from(tool.spec.selector);
  if (!more) throw invalid(fmt::format("spec.selector: {}", more.error().str()));
  for (const auto& requirement : more->requirements()) selector->add(requirement);
  if (selector->empty()) throw invalid("spec.label and spec.selector: every pod would be selected");
  return std::move(*selector);
}

bool picks(const Podbuggertool& tool, const kopper::Pod& pod) {
  const auto& metadata = pod.metadata;
  if (metadata.namespace_ != tool.metadata.namespace_ || metadata.namespace_ == "kube-system") return false;
  if (!kopper::api::is_active(pod)) return false;
  if (has(metadata.annotations, kOptOut, "off")) return false;
  if (metadata.annotations.contains("kubernetes.io/config.mirror")) return false;        // static pods take none
  if (has(metadata.labels, "app.kubernetes.io/name", "operator-manager")) return false;  // not into ourselves
  try {
    return selector_of(tool).matches(metadata.labels);
  } catch (const kopper::Terminal&) {
    return false;  // its own reconcile tells
  }
}

std::optional<EphemeralContainer> missing(const Podbuggertool& tool, const kopper::Pod& pod) {
  if (!is_due(tool, pod)) return std::nullopt;
  const auto found = find(tool, pod);
  if (!found.current.empty()) {
    if (tool.spec.reinject != "OnExit" || !has_ended(pod, found.current.back()->name)) return std::nullopt;
  }
  EphemeralContainer container;
  container.name = name_of(tool, found.current.size());
  container.image = tool.spec.image;
  container.imagePullPolicy = "IfNotPresent";
  container.command = tool.spec.command;
  container.stdin_ = true;
  container.tty = true;
  container.terminationMessagePolicy = "File";
  container.targetContainerName = tool.spec.target;
  return container;
}

PodOfTool state_of(const Podbuggertool& tool, const kopper::Pod& pod) {
  PodOfTool out;
  out.name = pod.metadata.name;
  const auto found = find(tool, pod);
  if (found.current.empty()) {
    out.state = "Waiting";
    out.message = is_due(tool, pod) ? "" : fmt::format("the pod is not {}", tool.spec.when);
    return out;
  }
  out.container = found.current.back()->name;
  out.state = "Installed";
  const auto* status = status_of(pod, out.container);
  if (status == nullptr) return out;
  const auto& state = status->state;
  if (state.running) out.state = "Running";
  if (state.terminated) {
    out.state = "Exited";
    out.message = fmt::format("exit code {}", state.terminated->exitCode);
  }
  const auto reason = state.waiting ? state.waiting->reason : std::string();
  if (!reason.empty() && reason != "ContainerCreating" && reason != "PodInitializing") {
    out.state = "Failed";
    out.message = state.waiting->message.empty() ? reason : fmt::format("{}: {}", reason, state.waiting->message);
  }
  return out;
}

PodbuggertoolStatus observed(const Podbuggertool& tool, const Pods& pods,
                             const std::map<std::string, std::string>& refused) {
  PodbuggertoolStatus status;
  std::string first_failure;
  std::int32_t due = 0;
  for (const auto& pod : pods) {
    auto line = state_of(tool, *pod);
    if (const auto why = refused.find(line.name); why != refused.end()) {
      line.state = "Failed";
      line.message = why->second;
    }
    ++status.matched;
    if (!line.container.empty()) ++status.installed;
    if (is_due(tool, *pod)) ++due;
    if (find(tool, *pod).stale > 0) ++status.stale;
    if (line.state == "Failed") {
      ++status.failed;
      if (first_failure.empty()) first_failure = fmt::format("{}: {}", line.name, line.message);
    }
    if (status.pods.size() < kPodsShown) status.pods.push_back(std::move(line));
  }
  const auto wanted = std::min(due, tool.spec.maxPods);
  const bool ready = status.failed == 0 && status.installed >= wanted;
  status.conditions = {kopper::condition("Ready", ready, ready ? "Installed" : "PodsMissing",
                                         "{} of {} pods have the tool", status.installed, status.matched),
                       kopper::condition("Degraded", status.failed > 0, status.failed > 0 ? "PodsFailed" : "AsExpected",
                                         "{}", first_failure)};
  return status;
}

}  // namespace podbugger
