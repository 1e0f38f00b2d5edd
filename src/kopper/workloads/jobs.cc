#include "kopper/workloads/jobs.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "kopper/api/object.h"
#include "kopper/workloads/completion_indexes.h"
#include "kopper/workloads/pod_template.h"

namespace kopper::workloads {

using api::PodRef;
using api::batchv1::Job;
using api::batchv1::JobCondition;
using api::batchv1::JobStatus;
using api::batchv1::PodFailurePolicyRule;
using api::corev1::Pod;
using std::chrono::seconds;

namespace {

constexpr std::string_view kIndexFailures = "batch.kubernetes.io/job-index-failure-count";
constexpr seconds kFirstDelay{10};
constexpr seconds kLongestDelay{600};

std::int32_t parallelism(const Job& job) { return job.spec.parallelism.value_or(1); }
bool is_indexed(const Job& job) { return job.spec.completionMode == "Indexed"; }
bool is_going(const Pod& pod) { return pod.metadata.deletionTimestamp.is_set(); }
bool has_ended(const Pod& pod) { return pod.status.phase == "Failed" || pod.status.phase == "Succeeded"; }
bool waits_for_end(const Job& job) { return job.spec.podReplacementPolicy == "Failed"; }

// A pod that is about to go is lost work, unless the Job wants to see its end first.
bool has_failed(const Job& job, const Pod& pod) {
  if (pod.status.phase == "Failed") return true;
  return is_going(pod) && pod.status.phase != "Succeeded" && !waits_for_end(job);
}

std::optional<std::int32_t> annotated(const Pod& pod, std::string_view key) {
  const auto found = pod.metadata.annotations.find(std::string(key));
  if (found == pod.metadata.annotations.end()) return std::nullopt;
  std::int32_t value = 0;
  const auto& text = found->second;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

std::optional<std::int32_t> index_of(const Job& job, const Pod& pod) {
  const auto index = annotated(pod, kCompletionIndex);
  return index && *index < job.spec.completions.value_or(0) ? index : std::nullopt;
}

// When the pod ended, as well as can be told.
api::Time end_of(const Pod& pod) {
  api::Time end;
  for (const auto& container : pod.status.containerStatuses) {
    if (container.state.terminated) end = std::max(end, container.state.terminated->finishedAt);
  }
  if (end.is_set()) return end;
  if (is_going(pod)) return pod.metadata.deletionTimestamp;
  for (const auto& condition : pod.status.conditions) {
    if (condition.type == "Ready") end = std::max(end, condition.lastTransitionTime);
  }
  return end.is_set() ? end : pod.metadata.creationTimestamp;
}

// ---- the failure policy ---------------------------------------------------------------------------------------------

// Why a rule is about the pod; nothing when it is not.
std::optional<std::string> matches(const PodFailurePolicyRule& rule, const Pod& pod) {
  if (rule.onExitCodes) {
    const auto& codes = *rule.onExitCodes;
    for (const auto* list : {&pod.status.containerStatuses, &pod.status.initContainerStatuses}) {
      for (const auto& container : *list) {
        if (!container.state.terminated || (!codes.containerName.empty() && codes.containerName != container.name)) {
          continue;
        }
        const auto code = container.state.terminated->exitCode;
        const bool listed = std::ranges::find(codes.values, code) != codes.values.end();
        if (code != 0 && listed == (codes.operator_ == "In")) {
          return fmt::format("Container {} for pod {} failed with exit code {}", container.name, api::key_of(pod).str(),
                             code);
        }
      }
    }
  }
  for (const auto& pattern : rule.onPodConditions) {
    for (const auto& condition : pod.status.conditions) {
      if (condition.type == pattern.type && condition.status == pattern.status) {
        return fmt::format("Pod {} has condition {}", api::key_of(pod).str(), condition.type);
      }
    }
  }
  return std::nullopt;
}

struct Verdict {
  std::string action = "Count";
  std::string why;
};

Verdict judge(const Job& job, const Pod& pod) {
  if (!job.spec.podFailurePolicy || pod.status.phase != "Failed") return {};
  std::size_t number = 0;
  for (const auto& rule : job.spec.podFailurePolicy->rules) {
    if (const auto why = matches(rule, pod)) {
      return {rule.action, fmt::format("{} matching {} rule at index {}", *why, rule.action, number)};
    }
    ++number;
  }
  return {};
}

// ---- conditions -----------------------------------------------------------------------------------------------------

void set_condition(JobStatus& status, std::string type, bool value, std::string reason, std::string message,
                   api::Time now) {
  JobCondition condition;
  condition.type = std::move(type);
  condition.status = value ? "True" : "False";
  condition.lastProbeTime = condition.lastTransitionTime = now;
  condition.reason = std::move(reason);
  condition.message = std::move(message);
  const auto before = std::ranges::find(status.conditions, condition.type, &JobCondition::type);
  if (before == status.conditions.end()) {
    status.conditions.push_back(std::move(condition));
  } else if (before->status != condition.status || before->reason != condition.reason) {
    *before = std::move(condition);
  }
}

// How long to wait after failures in a row before the next try.
std::optional<seconds> backoff(const std::vector<PodRef>& pods, const Job& job, api::Time now,
                               std::optional<std::int32_t> index = std::nullopt) {
  api::Time success;
  for (const auto& pod : pods) {
    if (pod->status.phase == "Succeeded" && (!index || index_of(job, *pod) == index)) {
      success = std::max(success, end_of(*pod));
    }
  }
  std::int32_t failures = 0;
  api::Time last;
  for (const auto& pod : pods) {
    if (!has_failed(job, *pod) || (index && index_of(job, *pod) != index)) continue;
    const auto end = end_of(*pod);
    if (success.is_set() && end <= success) continue;
    ++failures;
    last = std::max(last, end);
  }
  if (failures == 0 || !last.is_set()) return std::nullopt;
  const auto delay = failures > 7 ? kLongestDelay : std::min(kLongestDelay, kFirstDelay * (1 << (failures - 1)));
  const auto left = last.point() + delay - now.point();
  return left > seconds(0) ? std::optional(left) : std::nullopt;
}

class Planner {
 public:
  Planner(const Job& job, const std::vector<PodRef>& pods, api::Time now)
      : job_(job), pods_(pods), now_(now), completions_(job.spec.completions.value_or(0)) {
    plan_.status = job.status;
    auto& status = plan_.status;
    if (!status.uncountedTerminatedPods) status.uncountedTerminatedPods.emplace();
    if (is_indexed(job)) {
      completed_ = parse_indexes(status.completedIndexes, completions_);
      failed_indexes_ = parse_indexes(status.failedIndexes, completions_);
    }
    for (const auto& pod : pods) {
      if (api::is_active(*pod)) active_.push_back(pod);
    }
  }

  JobPlan run() {
    make();
    // Nothing is the same as nobody: the server keeps either.
    auto& uncounted = plan_.status.uncountedTerminatedPods;
    if (uncounted->succeeded.empty() && uncounted->failed.empty() && !job_.status.uncountedTerminatedPods) {
      uncounted.reset();
    }
    return std::move(plan_);
  }

 private:
  void make() {
    if (is_finished(job_)) return finished();
    count();
    observe();
    decide();
    if (find_true(plan_.status, "FailureTarget") != nullptr ||
        find_true(plan_.status, "SuccessCriteriaMet") != nullptr) {
      end();
    } else if (job_.spec.suspend.value_or(false)) {
      suspend();
    } else {
      start();
      work();
    }
  }

  void again_in(seconds delay) {
    delay = std::max(delay, seconds(1));
    plan_.again = std::min(plan_.again.value_or(delay), delay);
  }

  void finished() {
    for (const auto& pod : pods_) {
      if (api::has_finalizer(pod->metadata, kJobTracking)) plan_.counted.push_back(pod);
    }
    if (!job_.spec.ttlSecondsAfterFinished) return;
    const auto* end = find_true(job_.status, "Complete");
    if (end == nullptr) end = find_true(job_.status, "Failed");
    const auto left = end->lastTransitionTime.point() + seconds(*job_.spec.ttlSecondsAfterFinished) - now_.point();
    plan_.expired = left <= seconds(0);
    if (!plan_.expired) again_in(left);
  }

  // ---- counting ---------------------------------------------------------------------------------------------------

  // What was written down counts for good once its pod is let go.
  std::int32_t settle(std::vector<std::string>& uids) {
    std::set<std::string_view> held;
    for (const auto& pod : pods_) {
      if (api::has_finalizer(pod->metadata, kJobTracking)) held.insert(pod->metadata.uid);
    }
    return static_cast<std::int32_t>(std::erase_if(uids, [&](const std::string& uid) { return !held.contains(uid); }));
  }

  static void write_down(std::vector<std::string>& uids, const std::string& uid) {
    if (std::ranges::find(uids, uid) == uids.end()) uids.push_back(uid);
  }

  void count() {
    auto& status = plan_.status;
    auto& uncounted = *status.uncountedTerminatedPods;
    status.succeeded += settle(uncounted.succeeded);
    status.failed += settle(uncounted.failed);
    for (const auto& pod : pods_) {
      const bool failed = has_failed(job_, *pod);
      if (failed) count_index(*pod);
      if (!api::has_finalizer(pod->metadata, kJobTracking)) continue;
      if (pod->status.phase == "Succeeded") {
        if (is_indexed(job_)) {
          if (const auto index = index_of(job_, *pod)) completed_.insert(*index);
        } else {
          write_down(uncounted.succeeded, pod->metadata.uid);
        }
        plan_.counted.push_back(pod);
      } else if (failed) {
        const auto verdict = judge(job_, *pod);
        if (verdict.action == "FailJob" && policy_failure_.empty()) policy_failure_ = verdict.why;
        if (verdict.action != "Ignore") write_down(uncounted.failed, pod->metadata.uid);
        plan_.counted.push_back(pod);
      }
    }
    if (is_indexed(job_)) {
      for (const auto index : completed_) failed_indexes_.erase(index);
      status.completedIndexes = print_indexes(completed_);
      status.succeeded = static_cast<std::int32_t>(completed_.size());
      if (job_.spec.backoffLimitPerIndex) status.failedIndexes = print_indexes(failed_indexes_);
    }
  }

  // How often an index failed is written on its pods.
  void count_index(const Pod& pod) {
    const auto index = index_of(job_, pod);
    if (!index || !job_.spec.backoffLimitPerIndex) return;
    const auto verdict = judge(job_, pod);
    const auto before = annotated(pod, kIndexFailures).value_or(0);
    auto& failures = index_failures_[*index];
    failures = std::max(failures, before + (verdict.action == "Ignore" ? 0 : 1));
    if (failures > *job_.spec.backoffLimitPerIndex || verdict.action == "FailIndex") failed_indexes_.insert(*index);
  }

  std::int32_t succeeded() const {
    const auto& status = plan_.status;
    return status.succeeded + static_cast<std::int32_t>(status.uncountedTerminatedPods->succeeded.size());
  }
  std::int32_t failed() const {
    const auto& status = plan_.status;
    return status.failed + static_cast<std::int32_t>(status.uncountedTerminatedPods->failed.size());
  }

  void observe() {
    auto& status = plan_.status;
    status.active = static_cast<std::int32_t>(active_.size());
    status.ready = static_cast<std::int32_t>(
        std::ranges::count_if(active_, [](const PodRef& pod) { return api::is_ready(*pod); }));
    status.terminating = static_cast<std::int32_t>(
        std::ranges::count_if(pods_, [](const PodRef& pod) { return is_going(*pod) && !has_ended(*pod); }));
  }

  // ---- the end ----------------------------------------------------------------------------------------------------

  void fail(std::string reason, std::string message) {
    set_condition(plan_.status, "FailureTarget", true, std::move(reason), std::move(message), now_);
  }
  void succeed(std::string reason, std::string message) {
    set_condition(plan_.status, "SuccessCriteriaMet", true, std::move(reason), std::move(message), now_);
  }

  bool past_backoff_limit() const {
    const auto limit = job_.spec.backoffLimit.value_or(6);
    if (failed() > limit) return true;
    if (job_.spec.template_.spec.restartPolicy != "OnFailure") return false;
    std::int64_t restarts = 0;
    for (const auto& pod : active_) {
      for (const auto* list : {&pod->status.containerStatuses, &pod->status.initContainerStatuses}) {
        for (const auto& container : *list) restarts += container.restartCount;
      }
    }
    return limit == 0 ? restarts > 0 : restarts >= limit;
  }

  bool past_deadline() {
    const auto& limit = job_.spec.activeDeadlineSeconds;
    if (!limit || !job_.status.startTime.is_set() || job_.spec.suspend.value_or(false)) return false;
    const auto left = job_.status.startTime.point() + seconds(*limit) - now_.point();
    if (left > seconds(0)) again_in(left);
    return left <= seconds(0);
  }

  // The rule of the success policy that holds.
  std::optional<std::size_t> success_rule() const {
    if (!job_.spec.successPolicy) return std::nullopt;
    const auto& rules = job_.spec.successPolicy->rules;
    for (std::size_t i = 0; i < rules.size(); ++i) {
      auto wanted = static_cast<std::size_t>(completions_);
      std::size_t there = completed_.size();
      if (!rules[i].succeededIndexes.empty()) {
        const auto indexes = parse_indexes(rules[i].succeededIndexes, completions_);
        wanted = indexes.size();
        there = static_cast<std::size_t>(
            std::ranges::count_if(indexes, [&](std::int32_t index) { return completed_.contains(index); }));
      }
      if (rules[i].succeededCount) wanted = static_cast<std::size_t>(std::max(*rules[i].succeededCount, 0));
      if (there >= wanted) return i;
    }
    return std::nullopt;
  }

  bool is_done() const {
    if (!job_.spec.completions) return succeeded() > 0 && active_.empty();
    return succeeded() >= completions_;
  }

  void decide() {
    const auto& status = plan_.status;
    if (find_true(status, "FailureTarget") != nullptr || find_true(status, "SuccessCriteriaMet") != nullptr) return;
    if (!policy_failure_.empty()) return fail("PodFailurePolicy", policy_failure_);
    if (const auto rule = success_rule()) {
      return succeed("SuccessPolicy", fmt::format("Matched rules at index {}", *rule));
    }
    if (past_backoff_limit()) return fail("BackoffLimitExceeded", "Job has reached the specified backoff limit");
    if (past_deadline()) return fail("DeadlineExceeded", "Job was active longer than specified deadline");
    const auto lost = static_cast<std::int32_t>(failed_indexes_.size());
    if (job_.spec.maxFailedIndexes && lost > *job_.spec.maxFailedIndexes) {
      return fail("MaxFailedIndexesExceeded", "Job has exceeded the specified maximal number of failed indexes");
    }
    if (lost > 0 && lost + static_cast<std::int32_t>(completed_.size()) >= completions_) {
      return fail("FailedIndexes", "Job has failed indexes");
    }
    if (is_done()) succeed("CompletionsReached", "Reached expected number of succeeded pods");
  }

  // The Job says how it ended when nothing of it runs any more and all is counted.
  void end() {
    auto& status = plan_.status;
    plan_.stop = active_;
    const auto& uncounted = *status.uncountedTerminatedPods;
    if (!active_.empty() || *status.terminating > 0 || !uncounted.failed.empty() || !uncounted.succeeded.empty())
      return;
    // By value: the list that they are in grows.
    if (const auto* found = find_true(status, "FailureTarget")) {
      const auto why = *found;
      set_condition(status, "Failed", true, why.reason, why.message, now_);
    } else {
      const auto why = *find_true(status, "SuccessCriteriaMet");
      set_condition(status, "Complete", true, why.reason, why.message, now_);
      status.completionTime = now_;
    }
    if (job_.spec.ttlSecondsAfterFinished) again_in(seconds(*job_.spec.ttlSecondsAfterFinished));
  }

  // ---- the work ---------------------------------------------------------------------------------------------------

  void suspend() {
    auto& status = plan_.status;
    plan_.drop = active_;
    status.startTime = api::Time();
    set_condition(status, "Suspended", true, "JobSuspended", "Job suspended", now_);
  }

  void start() {
    auto& status = plan_.status;
    if (find_true(status, "Suspended") != nullptr) {
      set_condition(status, "Suspended", false, "JobResumed", "Job resumed", now_);
      status.startTime = now_;
    }
    if (status.startTime.is_set()) return;
    status.startTime = now_;
    if (job_.spec.activeDeadlineSeconds) again_in(seconds(*job_.spec.activeDeadlineSeconds));
  }

  std::int32_t wanted() const {
    if (!job_.spec.completions) {
      return succeeded() > 0 ? static_cast<std::int32_t>(active_.size()) : parallelism(job_);
    }
    const auto left = completions_ - succeeded() - static_cast<std::int32_t>(failed_indexes_.size());
    return std::clamp(left, 0, parallelism(job_));
  }

  void work() {
    // Of an index one is enough.
    std::set<std::int32_t> running;
    std::vector<PodRef> useful;
    for (const auto& pod : active_) {
      if (is_indexed(job_)) {
        const auto index = index_of(job_, *pod);
        if (!index || completed_.contains(*index) || failed_indexes_.contains(*index) ||
            !running.insert(*index).second) {
          plan_.drop.push_back(pod);
          continue;
        }
      }
      useful.push_back(pod);
    }
    const auto want = wanted();
    const auto there = static_cast<std::int32_t>(useful.size());
    if (there > want) {
      api::cheapest_first(useful);
      plan_.drop.insert(plan_.drop.end(), useful.begin(), useful.begin() + (there - want));
      return;
    }
    auto room = want - there - (waits_for_end(job_) ? *plan_.status.terminating : 0);
    if (room <= 0) return;
    if (is_indexed(job_)) return create_indexes(running, room);
    if (const auto left = backoff(pods_, job_, now_)) return again_in(*left);
    plan_.create.resize(static_cast<std::size_t>(room));
  }

  void create_indexes(const std::set<std::int32_t>& running, std::int32_t room) {
    const bool each = job_.spec.backoffLimitPerIndex.has_value();
    if (const auto left = each ? std::nullopt : backoff(pods_, job_, now_)) return again_in(*left);
    std::set<std::int32_t> going;
    for (const auto& pod : pods_) {
      if (waits_for_end(job_) && is_going(*pod) && !has_ended(*pod)) going.insert(index_of(job_, *pod).value_or(-1));
    }
    for (std::int32_t index = 0; index < completions_ && room > 0; ++index) {
      if (completed_.contains(index) || failed_indexes_.contains(index) || running.contains(index) ||
          going.contains(index)) {
        continue;
      }
      if (each) {
        if (const auto left = backoff(pods_, job_, now_, index)) {
          again_in(*left);
          continue;
        }
      }
      plan_.create.push_back({index, index_failures_[index]});
      --room;
    }
  }

  const Job& job_;
  const std::vector<PodRef>& pods_;
  const api::Time now_;
  const std::int32_t completions_;
  JobPlan plan_;
  std::vector<PodRef> active_;
  std::set<std::int32_t> completed_;
  std::set<std::int32_t> failed_indexes_;
  std::map<std::int32_t, std::int32_t> index_failures_;
  std::string policy_failure_;
};

void tell_index(std::vector<api::corev1::Container>& containers) {
  for (auto& container : containers) {
    if (std::ranges::find(container.env, "JOB_COMPLETION_INDEX", &api::corev1::EnvVar::name) != container.env.end()) {
      continue;
    }
    api::corev1::EnvVar variable;
    variable.name = "JOB_COMPLETION_INDEX";
    variable.valueFrom.emplace().fieldRef.emplace().fieldPath = fmt::format("metadata.labels['{}']", kCompletionIndex);
    container.env.push_back(std::move(variable));
  }
}

}  // namespace

const JobCondition* find_true(const JobStatus& status, std::string_view type) {
  const auto found = std::ranges::find_if(
      status.conditions, [&](const JobCondition& one) { return one.type == type && one.status == "True"; });
  return found == status.conditions.end() ? nullptr : &*found;
}

bool has_succeeded(const Job& job) { return find_true(job.status, "Complete") != nullptr; }
bool is_finished(const Job& job) { return has_succeeded(job) || find_true(job.status, "Failed") != nullptr; }

JobPlan plan_job(const Job& job, const std::vector<PodRef>& pods, api::Time now) {
  return Planner(job, pods, now).run();
}

Pod new_pod(const Job& job, const JobPod& wanted, std::string name) {
  auto pod = pod_of(job.spec.template_);
  pod.metadata.name = std::move(name);
  pod.metadata.generateName = job.metadata.name + "-";
  api::add_finalizer(pod.metadata, kJobTracking);
  if (!wanted.index) return pod;
  const auto index = fmt::format("{}", *wanted.index);
  pod.metadata.generateName = fmt::format("{}-{}-", job.metadata.name, index);
  pod.metadata.annotations[std::string(kCompletionIndex)] = index;
  pod.metadata.labels[std::string(kCompletionIndex)] = index;
  if (job.spec.backoffLimitPerIndex) {
    pod.metadata.annotations[std::string(kIndexFailures)] = fmt::format("{}", wanted.failures);
  }
  pod.spec.hostname = fmt::format("{}-{}", job.metadata.name, index);
  tell_index(pod.spec.initContainers);
  tell_index(pod.spec.containers);
  return pod;
}

}  // namespace kopper::workloads
