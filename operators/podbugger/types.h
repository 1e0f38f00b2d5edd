#pragma once

#include "kopper/kopper.h"

namespace podbugger {

struct PodbuggertoolSpec {
  std::string label;               // "key=value", or any selector: "app in (a, b), tier != db"
  kopper::LabelSelector selector;  // the same, structured; both: what both select
  std::string image;
  std::vector<std::string> command = {"sh"};
  std::string target;            // a container whose processes it sees; none: only its own
  std::string when = "Running";  // of the pod
  std::string reinject = "Never";
  std::int32_t maxPods = 100;
  static constexpr auto rules = kopper::rules(
      kopper::field<&PodbuggertoolSpec::label>.no_default().doc("Of the pods: key=value, or any label selector"),
      kopper::field<&PodbuggertoolSpec::image>.required().min_length(1).doc("Of the tool"),
      kopper::field<&PodbuggertoolSpec::target>.no_default().doc("Container of the pods whose processes the tool sees"),
      kopper::field<&PodbuggertoolSpec::when>.one_of({"Ready", "Running", "Always"}).doc("In pods of this state"),
      kopper::field<&PodbuggertoolSpec::reinject>.one_of({"Never", "OnExit"}).doc("Again, when the tool has ended"),
      kopper::field<&PodbuggertoolSpec::maxPods>.min(0).doc("In so many pods at most"));
};

struct PodOfTool {
  std::string name;
  std::string container;  // the newest of ours
  std::string state;      // Waiting, Installed, Running, Exited, Failed
  std::string message;
};

struct PodbuggertoolStatus {
  std::int32_t matched = 0;     // pods that the labels select
  std::int32_t installed = 0;   // of them, those that have the tool
  std::int32_t failed = 0;      // those where it could not be installed, or does not start
  std::int32_t stale = 0;       // those that have it of another image too: a container cannot be taken out of a pod
  std::vector<PodOfTool> pods;  // by name, the first hundred
  std::int64_t observedGeneration = 0;
  std::vector<kopper::Condition> conditions;  // Ready, Degraded
};

struct Podbuggertool {
  static constexpr kopper::Kind kind{.group = "ualter.com",
                                     .version = "v1beta1",
                                     .kind = "Podbuggertool",
                                     .short_names = {"pbt"},
                                     .columns = {{"Label", "string", ".spec.label"},
                                                 {"Image", "string", ".spec.image"},
                                                 {"Matched", "integer", ".status.matched"},
                                                 {"Installed", "integer", ".status.installed"},
                                                 {"Failed", "integer", ".status.failed"},
                                                 {"Age", "date", ".metadata.creationTimestamp"}}};

  kopper::ObjectMeta metadata;
  PodbuggertoolSpec spec;
  PodbuggertoolStatus status;
};

// On a pod that wants no tools: "off".
inline constexpr std::string_view kOptOut = "ualter.com/podbuggertool";

using Pods = std::vector<std::shared_ptr<const kopper::Pod>>;

// Pure: what should be, and what is.

// What the spec selects. Throws Terminal when it is no selector.
kopper::Selector selector_of(const Podbuggertool& tool);
// Whether the tool has to do with the pod: same namespace, labels, no opt-out, not of the system, not going.
bool picks(const Podbuggertool& tool, const kopper::Pod& pod);
// The container that the pod still needs; nothing when it has it, or is not in the state that the spec asks for.
std::optional<kopper::api::corev1::EphemeralContainer> missing(const Podbuggertool& tool, const kopper::Pod& pod);
// How it stands with a pod that the tool picks.
PodOfTool state_of(const Podbuggertool& tool, const kopper::Pod& pod);
// `refused`: why, for pods whose server said no.
PodbuggertoolStatus observed(const Podbuggertool& tool, const Pods& pods,
                             const std::map<std::string, std::string>& refused);

kopper::ControllerSpec podbugger();

}  // namespace podbugger
