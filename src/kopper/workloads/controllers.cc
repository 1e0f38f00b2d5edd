#include "kopper/workloads/controllers.h"

#include <filesystem>
#include <utility>

#include "kopper/workloads/cron_job.h"
#include "kopper/workloads/daemon_set.h"
#include "kopper/workloads/deployment.h"
#include "kopper/workloads/disruption_budget.h"
#include "kopper/workloads/endpoints.h"
#include "kopper/workloads/job.h"
#include "kopper/workloads/local_path.h"
#include "kopper/workloads/replica_set.h"
#include "kopper/workloads/scheduler.h"
#include "kopper/workloads/service_proxy.h"
#include "kopper/workloads/stateful_set.h"

namespace kopper::workloads {

std::vector<runtime::ControllerSpec> controllers(const std::string& state_dir, Forwarder* forwarder) {
  std::vector<runtime::ControllerSpec> all;
  all.push_back(cron_job());
  all.push_back(daemon_set());
  all.push_back(deployment());
  all.push_back(endpoints());
  all.push_back(disruption_budget());
  all.push_back(replica_set());
  all.push_back(scheduler());
  all.push_back(stateful_set());
  if (forwarder != nullptr) all.push_back(service_proxy(*forwarder));
  for (auto& one : local_path(std::filesystem::path(state_dir) / "volumes")) all.push_back(std::move(one));
  for (auto& one : job()) all.push_back(std::move(one));
  return all;
}

}  // namespace kopper::workloads
