#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kopper/client/client.h"
#include "kopper/http/handler.h"
#include "kopper/metrics/metrics.h"
#include "kopper/rt/channel.h"
#include "kopper/rt/loop.h"
#include "kopper/runtime/cluster.h"
#include "kopper/runtime/controller.h"
#include "kopper/runtime/election.h"
#include "kopper/runtime/health.h"
#include "kopper/runtime/webhook_server.h"

namespace kopper::runtime {

struct ManagerOptions {
  std::string name = "kopper";              // field manager of what is applied, and reporter of events
  std::string host;                         // of the API server, in metrics
  std::vector<std::string> namespaces;      // none: all
  std::optional<ElectionOptions> election;  // none: this process is the only one
  std::optional<HealthOptions> health;      // none: no server
  TraceOptions tracing;
  std::optional<WebhookServerOptions> webhook_server;
  std::optional<std::chrono::nanoseconds> resync;                // instead of the controllers' own
  std::chrono::nanoseconds graceful = std::chrono::seconds(30);  // for what is in work when it is told to stop
};

// Runs controllers on the current loop: their caches, their election, what the outside asks of them. Caches are filled
// also while another process leads, so that taking over needs no list.
//
//   Manager manager(make_transport(config), options);
//   manager.add(controller<Memcached>().owns<Deployment>().reconcile(reconcile));
//   loop.run(manager.run());
class Manager {
 public:
  explicit Manager(std::shared_ptr<http::Handler> transport, ManagerOptions options = ManagerOptions());
  ~Manager();
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  // Before run().
  Manager& add(ControllerSpec spec);
  Manager& add(Webhooks webhooks);
  // Another API server, for controllers whose options name it.
  Cluster& add_cluster(std::string name, std::shared_ptr<http::Handler> transport);

  // Until stop(): then what is in work ends, and the lease is given back. Throws Error when the lease is lost: by then
  // everything is stopped, and the process should end.
  Task<> run();
  // From the loop's thread; idempotent.
  void stop() { stopping_.set(); }

  // The caches are filled and, with an election, whether this one leads.
  bool leads() const { return leading_; }
  // "" when all that is watched was read, else what is waited for.
  std::string waiting_for() const;
  Cluster& cluster(std::string_view name = "");
  metrics::Registry& metrics() { return metrics_; }
  HealthChecks& checks() { return checks_; }
  // Null when there is none.
  const Election* election() const { return election_.get(); }
  const HealthServer* health() const { return health_.get(); }
  const WebhookServer* webhook_server() const { return webhook_server_.get(); }
  const std::vector<std::unique_ptr<Controller>>& controllers() const { return controllers_; }

 private:
  Task<> lead();
  Task<> work();
  Task<> shut_down();
  void collect();

  // constant after construction
  const ManagerOptions options_;
  std::shared_ptr<http::Handler> transport_;

  // this loop only
  metrics::Registry metrics_;
  HealthChecks checks_;
  rt::Event stopping_;
  bool leading_ = false;
  std::unique_ptr<Tracer> tracer_;
  Webhooks webhooks_;
  std::unique_ptr<Election> election_;
  std::map<std::string, std::unique_ptr<Cluster>, std::less<>> clusters_;
  std::vector<std::unique_ptr<Controller>> controllers_;
  std::vector<metrics::Collector> collectors_;
  std::unique_ptr<HealthServer> health_;
  std::unique_ptr<WebhookServer> webhook_server_;
};

}  // namespace kopper::runtime
