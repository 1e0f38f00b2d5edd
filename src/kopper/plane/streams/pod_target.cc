#include "kopper/plane/streams/pod_target.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kopper/plane/parameters.h"
#include "kopper/plane/reading.h"

namespace kopper::plane {
namespace {

std::vector<std::string> container_names(const json::Value& pod) {
  std::vector<std::string> names;
  for (const char* list : {"initContainers", "containers", "ephemeralContainers"})
    for (const json::Value& one : items(pod["spec"][list])) names.emplace_back(one.text("name"));
  return names;
}

const json::Value& status_of(const json::Value& pod, std::string_view name) {
  static const json::Value kNone;
  for (const char* list : {"containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"})
    for (const json::Value& one : items(pod["status"][list]))
      if (one.text("name") == name) return one;
  return kNone;
}

std::string why_waiting(std::string_view reason) {
  if (reason == "ErrImagePull") return "image can't be pulled";
  if (reason == "ImagePullBackOff") return "trying and failing to pull image";
  return std::string(reason);
}

}  // namespace

bool PodTarget::running() const { return status_of(pod, container.name)["state"]["running"].is_object(); }

PodTarget pod_target(Core& core, const Call& call) {
  const StoredRef found = core.state.table("pods").find(call.info.namespace_, call.info.name);
  if (!found) throw not_found(call.resource->subject(), call.info.name);
  PodTarget target;
  target.pod = found->value();
  target.container.pod = Key(found->namespace_, found->name);
  target.container.uid = found->uid;
  return target;
}

void choose_container(PodTarget& target, std::string_view asked) {
  const std::string& pod = target.container.pod.name;
  const json::Array& ordinary = items(std::as_const(target.pod)["spec"]["containers"]);
  const auto names = container_names(target.pod);
  if (asked.empty() && ordinary.size() > 1)
    throw bad_request(
        fmt::format("a container name must be specified for pod {}, choose one of: [{}]", pod, fmt::join(names, " ")));
  if (asked.empty() && ordinary.empty())
    throw bad_request(fmt::format("a container name must be specified for pod {}", pod));
  if (!asked.empty() && std::ranges::find(names, asked) == names.end())
    throw bad_request(fmt::format("container {} is not valid for pod {}", asked, pod));
  target.container.name = asked.empty() ? ordinary.front().text("name") : asked;
}

void choose_run(PodTarget& target, bool previous) {
  const std::string& name = target.container.name;
  const json::Value& status = status_of(target.pod, name);
  const json::Value& state = status["state"];
  const json::Value& last = status["lastState"]["terminated"];
  const auto refuse = [&](std::string_view what, std::string_view why) {
    throw bad_request(fmt::format("{} \"{}\" in pod \"{}\" {}", what, name, target.container.pod.name, why));
  };
  if (!status.is_object()) refuse("container", "is not available");
  if (previous && !last.is_object()) refuse("previous terminated container", "not found");
  if (previous) {
    target.container.run = last.text("containerID");
  } else if (state["running"].is_object()) {
    target.container.run = status.text("containerID");
  } else if (state["terminated"].is_object()) {
    target.container.run = state["terminated"].text("containerID");
  } else if (last.is_object()) {
    target.container.run = last.text("containerID");
  } else if (state["waiting"].is_object()) {
    refuse("container", "is waiting to start: " + why_waiting(state["waiting"].text("reason")));
  } else {
    refuse("container", "is waiting to start - no logs yet");
  }
}

LogOptions log_options(const Call& call, rt::WallTime now) {
  LogOptions options;
  options.follow = call.info.flag("follow");
  options.previous = call.info.flag("previous");
  options.timestamps = call.info.flag("timestamps");
  options.tail_lines = number(call.info, "tailLines");
  options.limit_bytes = number(call.info, "limitBytes");
  const auto seconds = number(call.info, "sinceSeconds");
  const auto time = call.info.text("sinceTime");
  Problems problems;
  if (options.tail_lines && *options.tail_lines < 0)
    problems.invalid("tailLines", *options.tail_lines, "must be greater than or equal to 0");
  if (options.limit_bytes && *options.limit_bytes < 1)
    problems.invalid("limitBytes", *options.limit_bytes, "must be greater than 0");
  if (seconds && time) {
    problems.forbidden("[]", "at most one of `sinceTime` or `sinceSeconds` may be specified");
  } else if (seconds && *seconds < 1) {
    problems.invalid("sinceSeconds", *seconds, "must be greater than 0");
  }
  // Behind a feature gate of the real server that is off.
  if (call.info.text("stream")) problems.forbidden("stream", "may not be specified");
  if (!problems.empty()) throw invalid("", "PodLogOptions", call.info.name, problems);
  if (seconds) options.since = now - std::chrono::seconds(std::min<std::int64_t>(*seconds, 1'000'000'000));
  if (time) {
    const auto parsed = api::MicroTime::parse(*time);
    if (!parsed)
      throw bad_request(fmt::format(
          "parsing time \"{0}\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"{0}\" as \"2006\"", *time));
    if (parsed->is_set()) options.since = parsed->point();
  }
  return options;
}

}  // namespace kopper::plane
