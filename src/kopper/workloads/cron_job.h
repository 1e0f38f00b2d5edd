#pragma once

#include "kopper/runtime/controller.h"

namespace kopper::workloads {

// Starts Jobs when a CronJob's time has come. A CronJob without a time zone runs by UTC.
runtime::ControllerSpec cron_job();

}  // namespace kopper::workloads
