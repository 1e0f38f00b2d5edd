#include "kopper/workloads/cron_job.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "kopper/workloads/cron_jobs.h"

namespace kopper::workloads {

using api::batchv1::CronJob;
using api::batchv1::Job;
using runtime::Next;

namespace {

using Self = runtime::Context<CronJob>;
using Zones = std::map<std::string, TimeZone>;

// Nothing when it cannot be: somebody has to change the object.
std::optional<CronSchedule> schedule_of(const Self& cron) {
  auto schedule = CronSchedule::parse(cron->spec.schedule);
  if (schedule) return std::move(*schedule);
  cron.warning("UnparseableSchedule", "unparseable schedule: {}: {}", cron->spec.schedule, schedule.error().str());
  return std::nullopt;
}

const TimeZone* zone_of(const Self& cron, Zones& zones) {
  const auto& name = cron->spec.timeZone;
  try {
    const auto known = zones.find(name);
    return known != zones.end() ? &known->second : &zones.emplace(name, load_time_zone(name)).first->second;
  } catch (const Error& error) {
    cron.warning("UnknownTimeZone", "invalid timeZone: {}: {}", name, error.what());
    return nullptr;
  }
}

Task<> remove(Self cron, JobRef job) {
  const bool gone = co_await cron.remove(*job);
  if (gone) cron.event("SuccessfulDelete", "Deleted job {}", job->metadata.name);
}

Task<api::corev1::ObjectReference> create(Self cron, api::Time scheduled) {
  const auto made = co_await cron.create(new_job(*cron, scheduled));
  cron.event("SuccessfulCreate", "Created job {}", made.metadata.name);
  api::corev1::ObjectReference active;
  active.apiVersion = Job::kind.api_version();
  active.kind = Job::kind.kind;
  active.namespace_ = made.metadata.namespace_;
  active.name = made.metadata.name;
  active.uid = made.metadata.uid;
  active.resourceVersion = made.metadata.resourceVersion;
  co_return active;
}

Task<Next> reconcile(Self cron, std::shared_ptr<Zones> zones) {
  auto schedule = schedule_of(cron);
  const auto* zone = zone_of(cron, *zones);
  if (zone == nullptr) schedule.reset();
  auto plan = plan_cron(*cron, cron.children<Job>(), schedule, zone != nullptr ? *zone : TimeZone(), cron.run().now());
  for (const auto& note : plan.notes) {
    if (note.warning) {
      cron.warning(note.reason, "{}", note.message);
    } else {
      cron.event(note.reason, "{}", note.message);
    }
  }
  for (const auto& job : plan.replace) co_await remove(cron, job);
  if (plan.start) {
    auto active = co_await create(cron, *plan.start);
    plan.status.active.push_back(std::move(active));
  }
  co_await cron.set_status(plan.status);
  for (const auto& job : plan.forget) co_await remove(cron, job);
  co_return plan.again ? Next::in(*plan.again) : Next::wait();
}

}  // namespace

runtime::ControllerSpec cron_job() {
  const auto zones = std::make_shared<Zones>();
  return runtime::controller<CronJob>().owns<Job>().reconcile(
      [zones](Self cron) { return reconcile(std::move(cron), zones); });
}

}  // namespace kopper::workloads
