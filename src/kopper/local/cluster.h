#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "kopper/app/run.h"
#include "kopper/client/client.h"
#include "kopper/local/network_block.h"
#include "kopper/local/state_folder.h"
#include "kopper/plane/local_server.h"
#include "kopper/rt/scope.h"
#include "kopper/runtime/manager.h"
#include "kopper/runtime/webhook_server.h"
#include "kopper/workloads/forwarder.h"
#include "kopper/workloads/image_map.h"
#include "kopper/workloads/node.h"
#include "kopper/workloads/node_host.h"

namespace kopper::local {

struct ClusterOptions {
  plane::LocalServerOptions server;  // its data_dir is also where pods keep theirs
  std::size_t nodes = 1;             // logical ones, all on this machine
  app::Program operators;            // run in this process, with the rights that their roles give them; and webhooks
  workloads::ImageMap images = workloads::ImageMap::defaults();
  std::vector<std::string> host_paths;  // what pods may see of this machine
};

// A whole cluster in this process: the API server behind TLS on 127.0.0.1, the controllers, the scheduler, nodes whose
// pods are processes of this machine, and operators. Loop-confined.
//
//   local::Cluster cluster(options);
//   co_await cluster.start();
//   … cluster.client(), cluster.kubeconfig() …
//   co_await cluster.stop(10s);
class Cluster {
 public:
  // Listens; throws Error{Unavailable} naming the port when it is taken.
  explicit Cluster(ClusterOptions options);
  // Whatever runs is killed.
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  // Returns when the API server answers and the controllers run.
  Task<> start();
  // Pods get `grace` at most to end by themselves.
  Task<> stop(std::chrono::seconds grace);
  // Why a part of it ended by itself; waits for that.
  Task<std::string> failure();

  plane::LocalServer& server() { return server_; }
  workloads::Node& node() { return node_; }
  // An administrator's.
  const client::Client& client() const { return client_; }

 private:
  Task<> prepare_operators();
  Task<> serve_webhooks(client::Client client, std::string secret_namespace);
  Task<> operate(runtime::Manager* manager, std::string what);

  ClusterOptions options_;
  NetworkBlock network_;
  StateFolder state_;
  plane::LocalServer server_;
  client::Client client_;
  workloads::Node node_;
  workloads::NodeHost host_;
  workloads::Forwarder forwarder_;
  std::unique_ptr<runtime::Manager> controllers_;
  std::unique_ptr<runtime::Manager> operators_;
  std::unique_ptr<runtime::WebhookServer> webhooks_;
  std::string failure_;
  rt::Event failed_;
  rt::Scope scope_;
  rt::Scope webhook_rounds_;  // after scope_: they never end by themselves
};

}  // namespace kopper::local
