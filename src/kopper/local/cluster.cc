#include "kopper/local/cluster.h"

#include <utility>

#include <fmt/format.h>

#include "kopper/app/manifests.h"
#include "kopper/base/error.h"
#include "kopper/client/manifests.h"
#include "kopper/rt/file.h"
#include "kopper/rt/loop.h"
#include "kopper/runtime/first_of.h"
#include "kopper/workloads/controllers.h"

namespace kopper::local {

namespace {

constexpr std::string_view kAdministrators = "system:masters";

// A client in this process: known without a certificate.
class As final : public http::Handler {
 public:
  As(http::Handler& server, http::Peer who, std::string user)
      : server_(server), who_(std::move(who)), user_(std::move(user)) {}

  Task<http::Response> handle(http::Request request) override { return server_.handle(introduced(std::move(request))); }
  Task<std::unique_ptr<http::WebSocket>> connect(http::Request request,
                                                 std::vector<std::string> subprotocols) override {
    return server_.connect(introduced(std::move(request)), std::move(subprotocols));
  }

 private:
  http::Request introduced(http::Request request) const {
    request.peer = who_;
    if (!user_.empty()) request.headers.set("impersonate-user", user_);
    return request;
  }

  http::Handler& server_;
  const http::Peer who_;
  const std::string user_;
};

std::shared_ptr<http::Handler> as(plane::LocalServer& server, std::string name, std::string user = "") {
  http::Peer who;
  who.common_name = std::move(name);
  who.organizations = {std::string(kAdministrators)};
  return std::make_shared<As>(server.plane(), std::move(who), std::move(user));
}

plane::LocalServerOptions server_options(const ClusterOptions& options, const NetworkBlock& network) {
  auto server = options.server;
  server.plane.service_network = network.services();
  return server;
}

workloads::NodeOptions node_options(const ClusterOptions& options, const StateFolder& state,
                                    const NetworkBlock& network) {
  workloads::NodeOptions node;
  node.network = network.pods();
  node.machine.state = state.path();
  node.machine.images = options.images;
  node.machine.host_paths = options.host_paths;
  node.machine.network_file = state.path() / "pod-network.so";
  node.names.clear();
  for (std::size_t i = 1; i <= options.nodes; ++i) {
    node.names.push_back(options.nodes == 1 ? "local" : fmt::format("local-{}", i));
  }
  return node;
}

}  // namespace

Cluster::Cluster(ClusterOptions options)
    : options_(std::move(options)),
      network_(options_.server.data_dir),
      state_(options_.server.data_dir),
      server_(server_options(options_, network_)),
      client_(as(server_, "kopper-admin")),
      node_(node_options(options_, state_, network_)),
      host_(node_) {
  const auto library = state_.path() / "pod-network.so";
  rt::write_file_atomic(library, workloads::network_library(), 0755);
  server_.plane().set_pod_host(&host_);
}

Cluster::~Cluster() { server_.plane().set_pod_host(nullptr); }

Task<> Cluster::operate(runtime::Manager* manager, std::string what) {
  try {
    co_await manager->run();
  } catch (const Error& error) {
    failure_ = fmt::format("{}: {}", what, error.what());
    failed_.set();
  }
}

// Their kinds, and a role that allows what they say they do and no more.
Task<> Cluster::prepare_operators() {
  app::Flags flags;
  flags.print = app::Print::Manifests;
  app::DeployOptions deploy;
  deploy.name = options_.operators.name;
  deploy.namespace_ = flags.deploy_namespace;
  app::Documents first;
  first.add(app::namespace_of(deploy));
  first.add(app::service_account(deploy));
  co_await client::apply_manifests(client_, first.yaml(), "default");
  for (const auto part : {app::Print::Crds, app::Print::Rbac}) {
    flags.print = part;
    co_await client::apply_manifests(client_, app::printed(options_.operators, flags), "default");
  }
  runtime::ManagerOptions manager;
  manager.name = options_.operators.name;
  const auto user = fmt::format("system:serviceaccount:{}:{}", deploy.namespace_, deploy.name);
  const auto transport = as(server_, "kopper-operators", user);
  operators_ = std::make_unique<runtime::Manager>(transport, manager);
  for (const auto& controller : options_.operators.controllers) operators_->add(controller);
  if (!options_.operators.webhooks.empty()) co_await serve_webhooks(client::Client(transport), deploy.namespace_);
}

// Returns when the API server was told of them: whoever comes later is asked about.
Task<> Cluster::serve_webhooks(client::Client client, std::string secret_namespace) {
  const auto& name = options_.operators.name;
  runtime::WebhookServerOptions server;
  server.address = "127.0.0.1";
  server.port = 0;
  server.secret = Key(secret_namespace, name + "-webhook-certs");
  server.config.name = name;
  server.config.url = "https://127.0.0.1:{port}";
  webhooks_ = std::make_unique<runtime::WebhookServer>(options_.operators.webhooks, client, server);
  co_await webhooks_->ensure();
  webhook_rounds_.spawn(webhooks_->run());
}

Task<> Cluster::start() {
  co_await server_.start();
  co_await node_.join(client_);
  runtime::ManagerOptions manager;
  manager.name = "kopper";
  controllers_ = std::make_unique<runtime::Manager>(as(server_, "kopper-controllers"), manager);
  for (auto& controller : workloads::controllers(state_.path(), &forwarder_)) controllers_->add(std::move(controller));
  for (auto& controller : node_.controllers()) controllers_->add(std::move(controller));
  scope_.spawn(operate(controllers_.get(), "the cluster's controllers"));
  if (!options_.operators.controllers.empty()) {
    co_await prepare_operators();
    scope_.spawn(operate(operators_.get(), "the operators"));
  }
}

Task<std::string> Cluster::failure() {
  co_await failed_.wait();
  co_return failure_;
}

Task<> Cluster::stop(std::chrono::seconds grace) {
  if (operators_) operators_->stop();
  if (controllers_) controllers_->stop();
  co_await scope_.join();
  if (webhooks_) {
    webhook_rounds_.cancel();
    co_await webhook_rounds_.join();
    co_await webhooks_->stop(std::chrono::seconds(1));
  }
  co_await node_.stop(grace);
  co_await server_.stop(std::chrono::seconds(1));
}

}  // namespace kopper::local
