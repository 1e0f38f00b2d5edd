#include "kopper/plane/builtin/validate_workloads.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "kopper/plane/builtin/cron.h"
#include "kopper/plane/builtin/validate_pod.h"

namespace kopper::plane::builtin {
namespace {

constexpr std::string_view kMismatch = "`selector` does not match template `labels`";

// As the server prints its own struct.
Value printed_strategy(const Value& strategy) {
  return Object{{"Type", strategy["type"]}, {"RollingUpdate", strategy["rollingUpdate"]}};
}

bool selects_nothing_in_particular(const Value& selector) {
  return members(selector["matchLabels"]).empty() && items(selector["matchExpressions"]).empty();
}

// `word`: what the message calls the kind.
void check_selector(Check& check, const Path& path, const Value& selector, std::string_view word) {
  if (selector.is_null()) return check.required(path);
  check.label_selector(path, selector);
  if (selects_nothing_in_particular(selector))
    check.invalid(path, selector, fmt::format("empty selector is invalid for {}", word));
}

void check_match(Check& check, const Path& template_path, const Value& spec, const api::Selector& selector) {
  const Value& labels = spec["template"]["metadata"]["labels"];
  const bool nothing = spec["selector"].is_null();
  const Path metadata = template_path / "metadata";
  if (nothing || !selector.matches(labels_of(labels))) check.invalid(metadata / "labels", or_null(labels), kMismatch);
}

// `word`: as above. "" : a deadline is allowed.
void check_restarts_always(Check& check, const Path& template_path, const Value& spec, std::string_view word) {
  const Value& pod = spec["template"]["spec"];
  const Path path = template_path / "spec";
  check.one_of(path / "restartPolicy", pod["restartPolicy"], {"Always"});
  if (!pod["activeDeadlineSeconds"].is_null())
    check.forbidden(path / "activeDeadlineSeconds", fmt::format("activeDeadlineSeconds in {} is not Supported", word));
}

void check_template_of_replicas(Check& check, const Path& path, const Value& spec) {
  const auto selector = selector_of(spec["selector"]);
  if (!selector) return check.invalid(path / "selector", spec["selector"], "invalid label selector");
  const Path pods = path / "template";
  if (spec["selector"].is_null() || !selector->empty()) check_match(check, pods, spec, *selector);
  check_pod_template(check, pods, spec["template"]);
  check_restarts_always(check, pods, spec, "ReplicaSet");
}

bool is_zero(const Value& value) { return value == Value(0) || value == Value("0%"); }

void check_rolling_deployment(Check& check, const Path& path, const Value& rolling) {
  check.percent_or_number(path / "maxUnavailable", rolling["maxUnavailable"]);
  check.percent_or_number(path / "maxSurge", rolling["maxSurge"]);
  if (is_zero(rolling["maxUnavailable"]) && is_zero(rolling["maxSurge"]))
    check.invalid(path / "maxUnavailable", rolling["maxUnavailable"], "may not be 0 when `maxSurge` is 0");
  check.at_most_100_percent(path / "maxUnavailable", rolling["maxUnavailable"]);
}

void check_job_spec(Check& check, const Path& path, const Value& spec) {
  for (const char* member : {"parallelism", "completions", "activeDeadlineSeconds", "backoffLimit",
                             "ttlSecondsAfterFinished", "backoffLimitPerIndex", "maxFailedIndexes"})
    check.non_negative(path / member, spec[member]);
  const bool indexed = spec.text("completionMode") == "Indexed";
  if (const Value& mode = spec["completionMode"]; !mode.is_null())
    check.one_of(path / "completionMode", mode, {"NonIndexed", "Indexed"});
  constexpr std::int64_t kMostIndexed = 100'000;
  if (indexed && number(spec["parallelism"]) > kMostIndexed)
    check.invalid(path / "parallelism", spec["parallelism"],
                  "must be less than or equal to 100000 when completion mode is Indexed");
  if (indexed && spec["completions"].is_null()) check.required(path / "completions", "when completion mode is Indexed");
  const bool plain = spec["completionMode"].is_null() || spec.text("completionMode") == "NonIndexed";
  for (const char* member : {"backoffLimitPerIndex", "maxFailedIndexes"})
    if (plain && !spec[member].is_null())
      check.invalid(path / member, spec[member], "requires indexed completion mode");
  const Path pods = path / "template";
  check_pod_template(check, pods, spec["template"]);
  const Path pod = pods / "spec";
  const Value& policy = spec["template"]["spec"]["restartPolicy"];
  if (policy == Value("Always") || policy.is_null()) {
    check.required(pod / "restartPolicy", "valid values: \"OnFailure\", \"Never\"");
  } else if (!check.one_of(pod / "restartPolicy", policy, {"OnFailure", "Never"})) {
    return;
  } else if (!spec["podFailurePolicy"].is_null() && policy != Value("Never")) {
    check.invalid(pod / "restartPolicy", policy, "only \"Never\" is supported when podFailurePolicy is specified");
  }
}

// A job that selects by hand may collide with others: the server wants that said.
void check_generated_selector(Check& check, const Value& job) {
  const Value& spec = job["spec"];
  if (spec["manualSelector"] == Value(true)) return;
  const Path path("spec");
  const std::string_view uid = job["metadata"].text("uid");
  const Value generated = Object{{"matchLabels", Object{{"batch.kubernetes.io/controller-uid", uid}}}};
  const Value old_style = Object{{"matchLabels", Object{{"controller-uid", uid}}}};
  if (spec["selector"] != generated && spec["selector"] != old_style)
    check.invalid(path / "selector", spec["selector"], "`selector` not auto-generated");
}

// What may change of a template while a job is suspended and has not started: where its pods go.
Value without_scheduling(const Value& pod_template) {
  Value out = pod_template;
  if (Object* metadata = out["metadata"].as_object())
    for (const char* member : {"labels", "annotations"}) metadata->erase(member);
  if (Object* spec = out["spec"].as_object())
    for (const char* member : {"nodeSelector", "tolerations", "affinity", "schedulingGates"}) spec->erase(member);
  return out;
}

void check_job_update(Check& check, const Path& path, const Value& spec, const Value& old, bool started) {
  if (spec.text("completionMode") != "Indexed") {
    check.immutable(path / "completions", spec["completions"], old["completions"]);
  } else if (spec["completions"] != old["completions"] && spec["completions"] != spec["parallelism"]) {
    check.invalid(path / "completions", spec["completions"], "can only be modified in tandem with spec.parallelism");
  }
  check.immutable(path / "selector", spec["selector"], old["selector"]);
  const bool free = old["suspend"] == Value(true) && !started;
  const bool same = free ? without_scheduling(spec["template"]) == without_scheduling(old["template"])
                         : spec["template"] == old["template"];
  const Path pods = path / "template";
  if (!same && free) {
    check.invalid(pods / "spec", spec["template"]["spec"], "field is immutable");
  } else if (!same) {
    check.invalid(pods, spec["template"], "field is immutable");
  }
  for (const char* member :
       {"completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"})
    check.immutable(path / member, spec[member], old[member]);
}

// Go asks the system for a zone; we know the regions that there are, and the zones without one.
bool may_be_time_zone(std::string_view name) {
  static constexpr std::array<std::string_view, 17> kRegions{
      "Africa", "America", "Antarctica", "Arctic", "Asia",   "Atlantic", "Australia", "Brazil", "Canada",
      "Chile",  "Etc",     "Europe",     "Indian", "Mexico", "Pacific",  "US",        "posix"};
  static constexpr std::array<std::string_view, 44> kAlone{
      "CET",     "CST6CDT",   "Cuba",    "EET",     "EST",   "EST5EDT",   "Egypt",     "Eire",     "Factory",
      "GB",      "GB-Eire",   "GMT",     "GMT+0",   "GMT-0", "GMT0",      "Greenwich", "HST",      "Hongkong",
      "Iceland", "Iran",      "Israel",  "Jamaica", "Japan", "Kwajalein", "Libya",     "MET",      "MST",
      "MST7MDT", "NZ",        "NZ-CHAT", "Navajo",  "PRC",   "PST8PDT",   "Poland",    "Portugal", "ROC",
      "ROK",     "Singapore", "Turkey",  "UCT",     "UTC",   "Universal", "W-SU",      "WET"};
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos) return name == "Zulu" || std::ranges::find(kAlone, name) != kAlone.end();
  return slash + 1 < name.size() && std::ranges::find(kRegions, name.substr(0, slash)) != kRegions.end();
}

}  // namespace

void check_deployment(Check& check, const Value& object, const Value* old) {
  const Path path("spec");
  const Value& spec = object["spec"];
  check.non_negative(path / "replicas", spec["replicas"]);
  check_selector(check, path / "selector", spec["selector"], "deployment");
  check_template_of_replicas(check, path, spec);
  const Path strategy = path / "strategy";
  const std::string_view type = spec["strategy"].text("type");
  const Value& rolling = spec["strategy"]["rollingUpdate"];
  if (type == "Recreate") {
    if (!rolling.is_null())
      check.forbidden(strategy / "rollingUpdate", "may not be specified when strategy `type` is 'Recreate'");
  } else if (type == "RollingUpdate") {
    check_rolling_deployment(check, strategy / "rollingUpdate", rolling);
  } else {
    check.one_of(strategy, printed_strategy(spec["strategy"]), {"Recreate", "RollingUpdate"});
  }
  for (const char* member : {"minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"})
    check.non_negative(path / member, spec[member]);
  if (const Value& deadline = spec["progressDeadlineSeconds"];
      !deadline.is_null() && number(deadline) <= number(spec["minReadySeconds"]))
    check.invalid(path / "progressDeadlineSeconds", deadline, "must be greater than minReadySeconds");
  if (old != nullptr) check.immutable(path / "selector", spec["selector"], (*old)["spec"]["selector"]);
}

void check_replica_set(Check& check, const Value& object, const Value* old) {
  const Path path("spec");
  const Value& spec = object["spec"];
  check.non_negative(path / "replicas", spec["replicas"]);
  check.non_negative(path / "minReadySeconds", spec["minReadySeconds"]);
  check_selector(check, path / "selector", spec["selector"], "deployment");
  check_template_of_replicas(check, path, spec);
  if (old != nullptr) check.immutable(path / "selector", spec["selector"], (*old)["spec"]["selector"]);
}

void check_replication_controller(Check& check, const Value& object, const Value*) {
  const Path path("spec");
  const Value& spec = object["spec"];
  check.non_negative(path / "minReadySeconds", spec["minReadySeconds"]);
  if (members(spec["selector"]).empty()) check.required(path / "selector");
  check.non_negative(path / "replicas", spec["replicas"]);
  const Path pods = path / "template";
  if (spec["template"].is_null()) return check.required(pods);
  if (!api::Selector::of(labels_of(spec["selector"])).matches(labels_of(spec["template"]["metadata"]["labels"]))) {
    const Path metadata = pods / "metadata";
    check.invalid(metadata / "labels", or_null(spec["template"]["metadata"]["labels"]), kMismatch);
  }
  check_pod_template(check, pods, spec["template"]);
  check_restarts_always(check, pods, spec, "ReplicationController");
}

void check_stateful_set(Check& check, const Value& object, const Value* old) {
  const Path path("spec");
  const Value& spec = object["spec"];
  const std::string_view order = spec.text("podManagementPolicy");
  if (order != "OrderedReady" && order != "Parallel")
    check.invalid(path / "podManagementPolicy", Value(order), "must be 'OrderedReady' or 'Parallel'");
  const Path strategy = path / "updateStrategy";
  const std::string_view type = spec["updateStrategy"].text("type");
  const Value& rolling = spec["updateStrategy"]["rollingUpdate"];
  const Path rolling_path = strategy / "rollingUpdate";
  if (type == "OnDelete") {
    if (!rolling.is_null()) check.invalid(rolling_path, rolling, "only allowed for updateStrategy 'RollingUpdate'");
  } else if (type == "RollingUpdate") {
    check.non_negative(rolling_path / "partition", rolling["partition"]);
    if (const Value& most = rolling["maxUnavailable"]; !most.is_null()) {
      check.percent_or_number(rolling_path / "maxUnavailable", most);
      if (is_zero(most)) check.invalid(rolling_path / "maxUnavailable", most, "cannot be 0");
      check.at_most_100_percent(rolling_path / "maxUnavailable", most);
    }
  } else {
    check.invalid(strategy, printed_strategy(spec["updateStrategy"]), "must be 'RollingUpdate' or 'OnDelete'");
  }
  const Path claims = path / "volumeClaimTemplates";
  const Array& all = items(spec["volumeClaimTemplates"]);
  for (std::size_t i = 0; i < all.size(); ++i) check_claim_spec(check, claims[i] / "spec", all[i]["spec"]);
  const Path retention = path / "persistentVolumeClaimRetentionPolicy";
  for (const char* member : {"whenDeleted", "whenScaled"})
    if (const Value& policy = spec["persistentVolumeClaimRetentionPolicy"][member]; !policy.is_null())
      check.one_of(retention / member, policy, {"Retain", "Delete"});
  check.non_negative(path / "replicas", spec["replicas"]);
  check.non_negative(path / "minReadySeconds", spec["minReadySeconds"]);
  if (const std::string_view name = spec.text("serviceName"); !name.empty())
    check.names(path / "serviceName", Value(name), api::check_dns_label(name));
  check_selector(check, path / "selector", spec["selector"], "statefulset");
  const Path pods = path / "template";
  if (const auto selector = selector_of(spec["selector"]); !selector) {
    check.invalid(path / "selector", spec["selector"], "");
  } else {
    if (spec["selector"].is_null() || !selector->empty()) check_match(check, pods, spec, *selector);
    check_pod_template(check, pods, spec["template"], spec["volumeClaimTemplates"]);
  }
  check_restarts_always(check, pods, spec, "StatefulSet");
  if (old == nullptr) return;
  for (const char* member : {"selector", "volumeClaimTemplates", "serviceName", "podManagementPolicy"})
    check.immutable(path / member, spec[member], (*old)["spec"][member]);
}

void check_daemon_set(Check& check, const Value& object, const Value* old) {
  const Path path("spec");
  const Value& spec = object["spec"];
  if (old != nullptr) check.immutable(path / "selector", spec["selector"], (*old)["spec"]["selector"]);
  check.label_selector(path / "selector", spec["selector"]);
  const Path pods = path / "template";
  if (const auto selector = selector_of(spec["selector"])) check_match(check, pods, spec, *selector);
  if (!spec["selector"].is_null() && selects_nothing_in_particular(spec["selector"]))
    check.invalid(path / "selector", spec["selector"], "empty selector is invalid for daemonset");
  check_pod_template(check, pods, spec["template"]);
  check_restarts_always(check, pods, spec, "DaemonSet");
  check.non_negative(path / "minReadySeconds", spec["minReadySeconds"]);
  const Path strategy = path / "updateStrategy";
  const std::string_view type = spec["updateStrategy"].text("type");
  if (type == "RollingUpdate") {
    const Value& rolling = spec["updateStrategy"]["rollingUpdate"];
    const Path at = strategy / "rollingUpdate";
    for (const char* member : {"maxUnavailable", "maxSurge"}) check.percent_or_number(at / member, rolling[member]);
    for (const char* member : {"maxUnavailable", "maxSurge"}) check.at_most_100_percent(at / member, rolling[member]);
    const bool unavailable = !is_zero(rolling["maxUnavailable"]);
    const bool surge = !is_zero(rolling["maxSurge"]);
    if (unavailable && surge)
      check.invalid(at / "maxSurge", rolling["maxSurge"], "may not be set when maxUnavailable is non-zero");
    if (!unavailable && !surge) check.required(at / "maxUnavailable", "cannot be 0 when maxSurge is 0");
  } else if (type != "OnDelete") {
    check.one_of(strategy, printed_strategy(spec["updateStrategy"]), {"RollingUpdate", "OnDelete"});
  }
  check.non_negative(path / "revisionHistoryLimit", spec["revisionHistoryLimit"]);
}

void check_job(Check& check, const Value& object, const Value* old) {
  const Path path("spec");
  const Value& spec = object["spec"];
  if (old == nullptr) check_generated_selector(check, object);
  check_job_spec(check, path, spec);
  if (spec["selector"].is_null()) {
    check.required(path / "selector");
  } else {
    check.label_selector(path / "selector", spec["selector"]);
  }
  if (const auto selector = selector_of(spec["selector"])) check_match(check, path / "template", spec, *selector);
  if (old != nullptr) check_job_update(check, path, spec, (*old)["spec"], !(*old)["status"]["startTime"].is_null());
}

void check_cron_job(Check& check, const Value& object, const Value* old) {
  const Path path("spec");
  const Value& spec = object["spec"];
  const std::string_view schedule = spec.text("schedule");
  if (schedule.empty()) {
    check.required(path / "schedule");
  } else {
    if (const std::string wrong = check_cron(schedule); !wrong.empty())
      check.invalid(path / "schedule", Value(schedule), wrong);
    const bool had_zone = old != nullptr && (*old)["spec"].text("schedule").find("TZ") != std::string_view::npos;
    if (schedule.find("TZ") != std::string_view::npos && !had_zone)
      check.invalid(path / "schedule", Value(schedule),
                    "cannot use TZ or CRON_TZ in schedule, use timeZone field instead");
  }
  check.non_negative(path / "startingDeadlineSeconds", spec["startingDeadlineSeconds"]);
  if (const Value& zone = spec["timeZone"]; !zone.is_null() && !may_be_time_zone(spec.text("timeZone")))
    check.invalid(path / "timeZone", zone,
                  spec.text("timeZone").empty() ? "timeZone must be nil or non-empty string"
                                                : fmt::format("unknown time zone {}", spec.text("timeZone")));
  check.one_of(path / "concurrencyPolicy", spec["concurrencyPolicy"], {"Allow", "Forbid", "Replace"});
  const Path job = path / "jobTemplate";
  const Path job_spec = job / "spec";
  check_job_spec(check, job_spec, spec["jobTemplate"]["spec"]);
  if (const Value& selector = spec["jobTemplate"]["spec"]["selector"]; !selector.is_null())
    check.invalid(job_spec / "selector", selector, "`selector` will be auto-generated");
  for (const char* member : {"successfulJobsHistoryLimit", "failedJobsHistoryLimit"})
    check.non_negative(path / member, spec[member]);
  if (const std::string_view name = object["metadata"].text("name"); old == nullptr && name.size() > 52) {
    const Path metadata("metadata");
    check.invalid(metadata / "name", Value(name), "must be no more than 52 characters");
  }
}

}  // namespace kopper::plane::builtin
