#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kopper/api/quantity.h"
#include "kopper/rt/channel.h"
#include "kopper/rt/scope.h"
#include "kopper/runtime/controller.h"
#include "kopper/workloads/pod_run.h"

namespace kopper::workloads {

struct NodeOptions {
  Machine machine;
  std::vector<std::string> names = {"local"};  // logical nodes, all on this machine
  std::map<std::string, api::Quantity> capacity = {{"cpu", "4"}, {"memory", "8Gi"}, {"pods", "1000"}};  // of each
  std::string version = "v1.37.1+kopper";
  int network = 128;  // pods are 127.<network>.y.z
};

// Runs the pods that are bound to the nodes of this machine, as processes. Loop-confined.
class Node {
 public:
  explicit Node(NodeOptions options);
  // Whatever runs is killed.
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // Says that the nodes are there and ready, and takes away those that an earlier life had and that are not.
  Task<> join(client::Client client);
  // What is to be run. They must not outlive this.
  std::vector<runtime::ControllerSpec> controllers();
  // Ends all pods on this machine; they stay in the API and go on with the next start.
  Task<> stop(std::chrono::seconds grace);

  std::size_t running() const { return runs_.size(); }
  // Null when it is not on this machine.
  PodRun* find(const Key& pod) const;
  // Where the files of a pod's containers are, those of pods that are over as well.
  std::filesystem::path folder(const std::string& pod_uid, const std::string& container) const;

 private:
  using Self = runtime::Context<api::corev1::Pod>;

  Task<runtime::Next> reconcile(Self self);
  Task<> report(Self self, const PodRun* run);
  void start(const Self& self);
  PodHome home_of(const Self& self, std::string ip);
  static Task<> forget(Self self);
  void release(const Key& key);
  void gone(const Key& key);
  Task<> bury(std::unique_ptr<PodRun> run);
  std::string take_address(const std::string& wanted);
  std::string hosts_of(const Key& key);
  void refresh();
  Task<> refresh_later();

  // constant after construction
  const NodeOptions options_;

  // this loop only
  runtime::Cluster* cluster_ = nullptr;  // from the first call on
  std::map<Key, std::unique_ptr<PodRun>> runs_;
  std::set<std::string> addresses_;
  std::uint32_t next_address_ = 1;
  std::map<std::string, std::string> service_hosts_;  // lines of hosts files, by namespace; gone when they changed
  bool stopping_ = false;
  bool refreshing_ = false;
  std::shared_ptr<rt::Channel<runtime::Request>> changes_;
  rt::Scope scope_;
};

}  // namespace kopper::workloads
