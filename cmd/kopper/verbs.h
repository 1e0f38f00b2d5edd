#pragma once

#include "kopper/rt/task.h"

#include "args.h"
#include "session.h"

// One file a verb. Each returns the exit code, or throws Error. Both arguments are main's and outlive the task.
namespace kopper::cmd {

Task<int> run_get(Session* session, const Args* args);
Task<int> run_apply(Session* session, const Args* args);
Task<int> run_delete(Session* session, const Args* args);
Task<int> run_watch(Session* session, const Args* args);
Task<int> run_version(Session* session, const Args* args);  // `session` is null with --client
Task<int> run_cluster(const Args* args);
Task<int> run_up(const Args* args);

}  // namespace kopper::cmd
