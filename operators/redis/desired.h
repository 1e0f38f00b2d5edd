#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kopper/api/gen/policy_v1.h"
#include "kopper/api/names.h"

#include "settings.h"
#include "types.h"

// The objects of Kubernetes that a cluster consists of. Pure.

namespace redis {

inline constexpr std::uint16_t kPort = 6379;
inline constexpr std::uint16_t kBusPort = 16379;
inline constexpr std::uint16_t kExporterPort = 9105;

// What the spec does not say.
struct Inputs {
  std::int32_t pods = 0;  // that the StatefulSet is to have now
  std::string settings;   // lines of redis.conf, from the user's ConfigMap
  std::string password;   // "": none
  std::string previous;   // the one before it, which nodes may have started with; "": none, or forgotten
  // Settings that nodes do not know, or said no to: a Redis that starts with them would end at once.
  std::vector<std::string> refused = {};
  // Of the StatefulSet that there is: its claim templates cannot change, though claims may grow.
  std::optional<kopper::Quantity> claim_size;
};

struct Desired {
  kopper::Service service;                                           // <name>, headless
  kopper::ConfigMap settings;                                        // <name>-redis
  kopper::Secret auth;                                               // <name>-auth; also without a password
  kopper::StatefulSet set;                                           // <name>
  std::optional<kopper::api::policyv1::PodDisruptionBudget> budget;  // <name>
  std::vector<Setting> wanted;       // redis.conf with what is refused, for differences()
  std::vector<std::string> ignored;  // what was not taken of the user's lines, and why
};
// A change of what a running Redis cannot take over (needs_restart) changes the template of the pods; other settings,
// passwords and certificates do not.
Desired desired(const RedisCluster& cluster, const Inputs& inputs);

// app=<name>
kopper::Labels labels_of(const RedisCluster& cluster);
std::string settings_name(const RedisCluster& cluster);
std::string auth_name(const RedisCluster& cluster);
std::string pod_name(const RedisCluster& cluster, int ordinal);
std::string claim_name(const RedisCluster& cluster, int ordinal);
// <pod>.<name>.<namespace>.svc.cluster.local
std::string domain_name(const RedisCluster& cluster, std::string_view pod);
bool has_exporter(const RedisClusterSpec& spec);

// redis.conf of the user's ConfigMap.
std::string settings_of(const kopper::ConfigMap& map);
// The key "password" without line ends behind it, which come from `echo`; "" when there is none.
std::string password_of(const kopper::Secret& secret);
// Inputs::previous, of a Secret that desired() made.
std::string previous_of(const kopper::Secret& secret);

}  // namespace redis
