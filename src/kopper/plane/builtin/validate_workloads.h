#pragma once

#include "kopper/plane/builtin/check.h"

// The rules of the kinds that make pods. `old` is null on create.
namespace kopper::plane::builtin {

void check_deployment(Check& check, const Value& object, const Value* old);
void check_replica_set(Check& check, const Value& object, const Value* old);
void check_replication_controller(Check& check, const Value& object, const Value* old);
void check_stateful_set(Check& check, const Value& object, const Value* old);
void check_daemon_set(Check& check, const Value& object, const Value* old);
void check_job(Check& check, const Value& object, const Value* old);
void check_cron_job(Check& check, const Value& object, const Value* old);

}  // namespace kopper::plane::builtin
