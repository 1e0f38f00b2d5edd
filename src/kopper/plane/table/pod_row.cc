#include "kopper/plane/table/pod_row.h"

#include <algorithm>

#include <fmt/format.h>

#include "kopper/plane/table/reading.h"

namespace kopper::plane::table {
namespace {

class Summary {
 public:
  explicit Summary(const Value& pod) : pod_(pod), status_(pod["status"]) {
    const std::string why = text(status_["reason"]);
    reason = why.empty() ? text(status_["phase"]) : why;
    if (condition(status_, "PodScheduled").text("reason") == "SchedulingGated") reason = "SchedulingGated";
    total = items(pod["spec"]["containers"]).size();
    for (const Value& one : items(pod["spec"]["initContainers"]))
      if (is_sidecar(one)) ++total;
    const bool initializing = read_init_containers();
    if (!initializing || condition(status_, "Initialized").text("status") == "True") read_containers();
    read_deletion();
  }

  std::string reason;
  std::size_t ready = 0;
  std::size_t total = 0;
  std::int64_t restarts = 0;
  std::optional<std::chrono::sys_seconds> last_restart;

 private:
  static bool is_sidecar(const Value& container) { return container.text("restartPolicy") == "Always"; }

  bool is_sidecar_named(std::string_view name) const {
    const auto& all = items(pod_["spec"]["initContainers"]);
    const auto at = std::ranges::find_if(all, [&](const Value& one) { return one.text("name") == name; });
    return at != all.end() && is_sidecar(*at);
  }

  static void later(std::optional<std::chrono::sys_seconds>& time, const Value& status) {
    const auto ended = time_of(status["lastState"]["terminated"]["finishedAt"]);
    if (ended && (!time || *time < *ended)) time = ended;
  }

  static std::string ended(const Value& terminated) {
    if (!terminated.text("reason").empty()) return text(terminated["reason"]);
    const std::int64_t signal = number(terminated["signal"]);
    return signal != 0 ? fmt::format("Signal:{}", signal) : fmt::format("ExitCode:{}", number(terminated["exitCode"]));
  }

  // Whether one of them still holds the pod up.
  bool read_init_containers() {
    const auto& all = items(status_["initContainerStatuses"]);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Value& one = all[i];
      const Value& state = one["state"];
      const bool sidecar = is_sidecar_named(one.text("name"));
      restarts += number(one["restartCount"]);
      later(last_restart, one);
      if (sidecar) {
        sidecar_restarts_ += number(one["restartCount"]);
        later(last_sidecar_restart_, one);
      }
      if (!state["terminated"].is_null() && number(state["terminated"]["exitCode"]) == 0) continue;
      if (sidecar && one["started"] == Value(true)) {
        if (one["ready"] == Value(true)) ++ready;
        continue;
      }
      const std::string waiting = text(state["waiting"]["reason"]);
      if (!state["terminated"].is_null()) {
        reason = "Init:" + ended(state["terminated"]);
      } else if (!waiting.empty() && waiting != "PodInitializing") {
        reason = "Init:" + waiting;
      } else {
        reason = fmt::format("Init:{}/{}", i, items(pod_["spec"]["initContainers"]).size());
      }
      return true;
    }
    return false;
  }

  void read_containers() {
    restarts = sidecar_restarts_;
    last_restart = last_sidecar_restart_;
    bool running = false;
    std::string error;
    const auto& all = items(status_["containerStatuses"]);
    for (auto at = all.rbegin(); at != all.rend(); ++at) {
      const Value& state = (*at)["state"];
      restarts += number((*at)["restartCount"]);
      later(last_restart, *at);
      if (const std::string waiting = text(state["waiting"]["reason"]); !waiting.empty()) {
        reason = waiting;
      } else if (const Value& terminated = state["terminated"]; !terminated.is_null()) {
        reason = ended(terminated);
        if (number(terminated["exitCode"]) != 0) error = reason;
      } else if ((*at)["ready"] == Value(true) && !state["running"].is_null()) {
        running = true;
        ++ready;
      }
    }
    if (reason != "Completed") return;
    if (running && condition(status_, "Ready").text("status") == "True") {
      reason = "Running";
    } else if (!error.empty()) {
      reason = error;
    } else if (running) {
      reason = "NotReady";
    }
  }

  void read_deletion() {
    if (pod_["metadata"]["deletionTimestamp"].is_null()) return;
    const std::string_view phase = status_.text("phase");
    if (status_.text("reason") == "NodeLost") {
      reason = "Unknown";
    } else if (phase != "Succeeded" && phase != "Failed") {
      reason = "Terminating";
    }
  }

  const Value& pod_;
  const Value& status_;
  std::int64_t sidecar_restarts_ = 0;
  std::optional<std::chrono::sys_seconds> last_sidecar_restart_;
};

std::string readiness_gates(const Value& pod) {
  const auto& gates = items(pod["spec"]["readinessGates"]);
  if (gates.empty()) return "<none>";
  const auto open = std::ranges::count_if(gates, [&](const Value& gate) {
    return condition(pod["status"], gate.text("conditionType")).text("status") == "True";
  });
  return fmt::format("{}/{}", open, gates.size());
}

}  // namespace

json::Array pod_cells(const Value& pod, Time now) {
  Summary summary(pod);
  std::string restarts = fmt::format("{}", summary.restarts);
  if (summary.restarts != 0 && summary.last_restart)
    restarts +=
        fmt::format(" ({} ago)", human_duration(std::chrono::floor<std::chrono::seconds>(now) - *summary.last_restart));
  return {Value(pod["metadata"].text("name")),
          fmt::format("{}/{}", summary.ready, summary.total),
          std::move(summary.reason),
          std::move(restarts),
          age(pod["metadata"]["creationTimestamp"], now),
          or_else(text(pod["status"]["podIPs"][0]["ip"]), "<none>"),
          or_else(text(pod["spec"]["nodeName"]), "<none>"),
          or_else(text(pod["status"]["nominatedNodeName"]), "<none>"),
          readiness_gates(pod)};
}

}  // namespace kopper::plane::table
