#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kopper/api/gen/core_v1.h"
#include "kopper/rt/loop.h"
#include "kopper/rt/task.h"

namespace kopper::workloads {

enum class ProbeKind : std::uint8_t { Startup, Liveness, Readiness };
std::string_view to_string(ProbeKind kind);  // "Startup": as events begin

struct ProbeResult {
  bool ok = false;
  std::string message;  // why not, in kubelet's words
};

// When the probes of a container that runs are due, and what their results make of it. One for each run of the
// container. Pure: the time is passed in.
class ContainerProbes {
 public:
  ContainerProbes(const api::corev1::Container& container, rt::TimePoint started);

  // It has no startup probe, or that has passed: only then the other two begin.
  bool started() const;
  // It is started, and has no readiness probe or that says so.
  bool ready() const;

  // Those to run now. Each is under way from then on, until its record().
  std::vector<ProbeKind> due(rt::TimePoint now);
  // When due() has the next one; TimePoint::max() while there is none to wait for.
  rt::TimePoint next() const;
  const api::corev1::Probe& probe(ProbeKind kind) const;

  enum class Verdict : std::uint8_t {
    Same,
    Changed,  // started() or ready() is another
    Restart,  // it failed once too often: to be killed and started anew; nothing but readiness is probed any more
  };
  Verdict record(ProbeKind kind, const ProbeResult& result, rt::TimePoint now);

 private:
  struct State {
    std::optional<api::corev1::Probe> probe;
    rt::TimePoint next;
    bool running = false;
    bool passed = false;
    bool last = false;
    std::int32_t in_a_row = 0;
  };
  State& state(ProbeKind kind) { return states_[static_cast<std::size_t>(kind)]; }
  const State& state(ProbeKind kind) const { return states_[static_cast<std::size_t>(kind)]; }
  bool waits(ProbeKind kind) const;

  std::array<State, 3> states_;
  bool failed_ = false;
};

struct ExecResult {
  int code = 0;
  std::string output;  // both outputs
};

// What a probe goes to.
struct ProbeTarget {
  std::string address;                                                  // of the pod
  std::vector<api::corev1::ContainerPort> ports;                        // of the container: a probe may name one
  std::function<Task<ExecResult>(std::vector<std::string> argv)> exec;  // runs a program in the container
};

// Asks once, for as long as the probe allows: a command, HTTP(S), TCP or gRPC. Whatever goes wrong is in the result.
Task<ProbeResult> probe_once(api::corev1::Probe probe, ProbeTarget target);

}  // namespace kopper::workloads
