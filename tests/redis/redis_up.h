#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "kopper/json/value.h"

#include "local/up.h"
#include "redis/invariants.h"
#include "redis/load.h"
#include "redis/nodes.h"
#include "redis/process.h"

namespace redis::testing {

struct Pod {
  std::string name;
  std::string address;
  std::string uid;
  std::string image;  // of Redis
};

// RedisClusters on `kopper up`, with kubectl. The tests of a program share one cluster, `rc`, of which each says first
// how large it has to be.
class RedisUp : public kopper::testing::Up {
 protected:
  void SetUp() override;
  // What is needed to understand a failure.
  void TearDown() override;

  // Makes the cluster if it is not there, and waits until it has so many pods and all is well.
  void have(std::size_t pods);
  // Changes the spec: a merge patch of it.
  void change(const std::string& spec);
  // Until all that must hold of a cluster of so many pods holds, in Redis and in the status, and it says it is ready.
  void settle(std::size_t pods);
  // Those that are not on their way out, and have an address.
  std::vector<Pod> pods();
  std::vector<std::string> addresses();
  // What differs between status.conditions and what the nodes say; "" when nothing does.
  std::string status_difference();
  // status of the cluster, whole.
  kopper::json::Value resource();
  // Of status.conditions: "True", "False", or "" when there is none.
  std::string condition(const std::string& type);

  // What the first of the nodes that answer sees. Empty when none does.
  std::vector<NodeSeen> nodes();
  // Of a node that all know.
  NodeSeen node(const std::string& address);
  // Slots of each master, sorted.
  std::vector<std::size_t> slot_counts();
  // "" when no slot is open; else the address of a node that has a mark, and the mark.
  std::pair<std::string, std::string> open_slot();
  static Answer ask(const std::string& address, const std::vector<std::string>& words);
  // The redis-server of a pod.
  static int pid_at(const std::string& address) { return listener(address, 6379); }

  // Writers at work; `replicas` as in LoadOptions. They are told the addresses whenever pods() is asked.
  Load& write(int replicas = 0);
  // All that was acknowledged is there; ends the writers.
  void verify();

  // An operator-manager beside the test, as its own process.
  std::unique_ptr<Process> manager(std::vector<std::string> more = std::vector<std::string>());
  static std::string manager_log();

  std::unique_ptr<Load> load;
};

}  // namespace redis::testing
