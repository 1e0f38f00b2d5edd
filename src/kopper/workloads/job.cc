#include "kopper/workloads/job.h"

#include <chrono>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "kopper/api/owner.h"
#include "kopper/api/selector.h"
#include "kopper/runtime/replicas.h"
#include "kopper/workloads/jobs.h"
#include "kopper/workloads/ownership.h"

namespace kopper::workloads {

using api::PodRef;
using api::batchv1::Job;
using api::batchv1::JobStatus;
using api::corev1::Pod;
using runtime::Next;

namespace {

using Self = runtime::Context<Job>;

bool is_ours(const Job& job) {
  return job.spec.managedBy.empty() || job.spec.managedBy == "kubernetes.io/job-controller";
}

// With the version that was seen: the list is replaced whole, and others have theirs in it.
json::Value without_finalizer(const Pod& pod) {
  json::Value patch = json::Object{};
  patch["metadata"]["resourceVersion"] = pod.metadata.resourceVersion;
  json::Array left;
  for (const auto& name : pod.metadata.finalizers) {
    if (name != kJobTracking) left.emplace_back(name);
  }
  patch["metadata"]["finalizers"] = std::move(left);
  return patch;
}

Task<> let_go(Self job, PodRef pod) {
  if (api::has_finalizer(pod->metadata, kJobTracking)) co_await job.patch(*pod, without_finalizer(*pod));
}

Task<> remove(Self job, PodRef pod) {
  const bool gone = co_await job.remove(*pod);
  if (gone) job.event("SuccessfulDelete", "Deleted pod: {}", pod->metadata.name);
}

// Not counted: who lets it go first does not see its end.
Task<> drop(Self job, PodRef pod) {
  co_await let_go(job, pod);
  co_await remove(job, pod);
}

std::vector<std::string> names_for(const Job& job, const std::vector<JobPod>& wanted, const std::vector<PodRef>& pods) {
  std::set<std::string> taken;
  for (const auto& pod : pods) taken.insert(pod->metadata.name);
  if (!wanted.empty() && !wanted.front().index) {
    return runtime::replica_names(job.metadata.name, job.metadata.uid, wanted.size(), taken);
  }
  std::vector<std::string> names;
  for (const auto& one : wanted) {
    const auto stem = fmt::format("{}-{}", job.metadata.name, *one.index);
    names.push_back(runtime::replica_names(stem, fmt::format("{}/{}", job.metadata.uid, *one.index), 1, taken).front());
  }
  return names;
}

Task<> create(Self job, JobPod wanted, std::string name) {
  const auto made = co_await job.create(new_pod(*job, wanted, std::move(name)));
  job.event("SuccessfulCreate", "Created pod: {}", made.metadata.name);
}

// What people see of a change of conditions.
void tell(const Self& job, const JobStatus& after) {
  const auto is_new = [&](std::string_view type) {
    return find_true(after, type) != nullptr && find_true(job->status, type) == nullptr;
  };
  if (is_new("Complete")) job.event("Completed", "Job completed");
  if (is_new("Failed")) {
    const auto& why = *find_true(after, "Failed");
    job.warning(why.reason, "{}", why.message);
  }
  if (is_new("Suspended")) job.event("Suspended", "Job suspended");
  if (find_true(job->status, "Suspended") != nullptr && find_true(after, "Suspended") == nullptr) {
    job.event("Resumed", "Job resumed");
  }
}

Task<> bring_about(Self job, JobPlan plan, std::vector<PodRef> pods) {
  const auto let_go_one = [&](std::size_t i) { return let_go(job, plan.counted[i]); };
  const auto stop_one = [&](std::size_t i) { return remove(job, plan.stop[i]); };
  const auto drop_one = [&](std::size_t i) { return drop(job, plan.drop[i]); };
  co_await runtime::slow_start(plan.counted.size(), let_go_one);
  co_await runtime::slow_start(plan.stop.size(), stop_one);
  co_await runtime::slow_start(plan.drop.size(), drop_one);
  const auto names = names_for(*job, plan.create, pods);
  const auto create_one = [&](std::size_t i) { return create(job, plan.create[i], names[i]); };
  co_await runtime::slow_start(plan.create.size(), create_one);
}

Task<Next> reconcile(Self job) {
  if (!is_ours(*job) || !job->spec.selector) co_return Next::wait();
  auto selector = api::Selector::from(*job->spec.selector);
  if (!selector) throw runtime::Terminal("spec.selector: " + selector.error().str());
  const auto pods = co_await job.claim<Pod>(std::move(*selector));
  const auto plan = plan_job(*job, pods, job.run().now());
  co_await job.set_status(plan.status);
  tell(job, plan.status);
  co_await bring_about(job, plan, pods);
  if (plan.expired) co_await job.remove(*job);
  co_return plan.again ? Next::in(*plan.again) : Next::wait();
}

bool may_take(const Job& job, const Pod& pod) {
  if (!job.spec.selector || api::controller_of(pod.metadata) != nullptr) return false;
  const auto selector = api::Selector::from(*job.spec.selector);
  return selector && selector->matches(pod.metadata.labels);
}

// A pod whose Job is gone, or about to go, counts for nobody.
Task<Next> release(runtime::Context<Pod> pod) {
  if (!api::has_finalizer(pod->metadata, kJobTracking)) co_return Next::wait();
  const auto* owner = api::controller_of(pod->metadata);
  if (owner != nullptr && owner->kind == Job::kind.kind) {
    const auto stays = [&](const Job& job) { return job.metadata.uid == owner->uid && !api::is_deleting(job); };
    const auto cached = pod.find<Job>(owner->name);
    if (cached && stays(*cached)) co_return Next::wait();
    const Key key(pod.key().namespace_, owner->name);
    const auto live = co_await pod.live<Job>().find(key);
    if (live && stays(*live)) co_return Next::wait();
  }
  try {
    co_await pod.patch(*pod, without_finalizer(*pod));
  } catch (const Error& error) {
    if (error.code != Code::Conflict) throw;
    // Somebody else changed it, its deletion is likely to be why: that brings us back.
  }
  co_return Next::in(std::chrono::seconds(1));
}

// Without reading the pod: most are not of Jobs.
bool may_be_held(const cache::Change& change) {
  const auto owner = change.object().controller();
  return !owner || owner->kind == Job::kind.kind;
}

bool is_its_pod(const Pod& pod, const Job& job) { return api::is_controlled_by(pod.metadata, job.metadata.uid); }

}  // namespace

std::vector<runtime::ControllerSpec> job() {
  return {
      runtime::controller<Job>()
          .owns<Pod>()
          .watches<Pod>(may_take, uncontrolled())
          .may<Job>({"delete"})
          .reconcile(reconcile),
      runtime::controller<Pod>()
          .name("job-tracking")
          .when(may_be_held)
          .watches<Job>(is_its_pod, runtime::deleted() || runtime::where<Job>(api::is_deleting<Job>))
          .may<Pod>({"patch"})
          .may<Job>({"get"})
          .while_deleting()
          .reconcile(release),
  };
}

}  // namespace kopper::workloads
