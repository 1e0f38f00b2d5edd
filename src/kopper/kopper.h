#pragma once

// All that the author of an operator needs:
//
//   kopper::Task<kopper::Next> reconcile(kopper::Context<Memcached> mc);
//
//   int main(int argc, char** argv) {
//     return kopper::run(argc, argv, kopper::controller<Memcached>().owns<kopper::Deployment>().reconcile(reconcile));
//   }

#include "kopper/api/names.h"
#include "kopper/app/run.h"
#include "kopper/base/error.h"
#include "kopper/base/key.h"
#include "kopper/meta/crd.h"
#include "kopper/meta/kind.h"
#include "kopper/meta/rules.h"
#include "kopper/runtime/context.h"
#include "kopper/runtime/controller.h"
#include "kopper/runtime/manager.h"
#include "kopper/runtime/next.h"
#include "kopper/runtime/predicate.h"
#include "kopper/runtime/replicas.h"
#include "kopper/runtime/webhook.h"

namespace kopper {

using app::Program;
using app::run;

using runtime::Admission;
using runtime::ChildOptions;
using runtime::Context;
using runtime::controller;
using runtime::ControllerOptions;
using runtime::ControllerSpec;
using runtime::fingerprint;
using runtime::Manager;
using runtime::ManagerOptions;
using runtime::Next;
using runtime::plan_replicas;
using runtime::replica_names;
using runtime::ReplicaPlan;
using runtime::Request;
using runtime::slow_start;
using runtime::Terminal;
using runtime::Verdict;
using runtime::webhooks;

using runtime::annotations_changed;
using runtime::generation_changed;
using runtime::labels_changed;
using runtime::Predicate;

}  // namespace kopper
