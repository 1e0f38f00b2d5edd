#include "kopper/app/run.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

#include "kopper/api/gen/apiextensions_v1.h"
#include "kopper/app/manifests.h"
#include "kopper/base/log.h"
#include "kopper/client/api.h"
#include "kopper/client/config.h"
#include "kopper/client/discovery.h"
#include "kopper/client/transport.h"
#include "kopper/http/url.h"
#include "kopper/rt/loop.h"
#include "kopper/rt/scope.h"
#include "kopper/rt/signal.h"
#include "kopper/runtime/manager.h"

namespace kopper::app {

namespace {

std::string name_of(const runtime::ControllerSpec& spec) {
  if (!spec.options.name.empty()) return spec.options.name;
  std::string name(spec.kind->kind);
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

std::vector<std::string> crd_names(const Program& program) {
  std::vector<std::string> names;
  for (const auto& controller : program.controllers) {
    if (controller.crd) names.push_back(controller.kind->resource_name());
  }
  return names;
}

// Of --operators; those that are not named are dropped, with the webhooks of their kinds.
void choose(Program& program, const std::vector<std::string>& operators) {
  if (operators.empty() || std::ranges::find(operators, "*") != operators.end()) return;
  std::erase_if(program.controllers, [&](const runtime::ControllerSpec& spec) {
    if (std::ranges::find(operators, name_of(spec)) != operators.end()) return false;
    program.webhooks.drop(*spec.kind);
    return true;
  });
}

// In a pod, the API server finds us by our Service; elsewhere somebody must say how, or it would ask in vain and refuse
// what it cannot ask about.
bool can_be_asked(const Flags& flags, const client::Config& config) {
  return config.source == "in-cluster" || !flags.webhook_url.empty();
}

std::string lease_name(const Program& program, const Flags& flags) {
  return flags.lease_name.empty() ? program.name : flags.lease_name;
}

DeployOptions deploy_options(const Program& program, const Flags& flags) {
  DeployOptions options;
  options.name = program.name;
  options.namespace_ = flags.deploy_namespace;
  options.image = flags.image.empty() ? program.name + ":" + program.version : flags.image;
  options.args = {"--leader-elect", "--health-probe-bind-address=:8081", "--metrics-bind-address=:8080",
                  "--log-format=json"};
  if (!flags.operators.empty()) options.args.push_back(fmt::format("--operators={}", fmt::join(flags.operators, ",")));
  if (!flags.namespaces.empty())
    options.args.push_back(fmt::format("--namespace={}", fmt::join(flags.namespaces, ",")));
  if (!program.webhooks.empty()) options.webhook_port = flags.webhook_port;
  return options;
}

std::string roles(const Program& program, const Flags& flags) {
  RbacOptions options;
  options.name = program.name;
  options.namespace_ = flags.deploy_namespace;
  options.watched_namespaces = flags.namespaces;
  options.labels = labels_of(deploy_options(program, flags));
  return to_yaml(rbac(uses_of(program, flags), options));
}

std::string crds(const Program& program) {
  Documents documents;
  for (const auto& controller : program.controllers) {
    if (controller.crd) documents.add(controller.crd());
  }
  return documents.yaml();
}

std::string joined(const std::string& a, const std::string& b) {
  return a.empty() || b.empty() || b.starts_with("---") ? a + b : a + "---\n" + b;
}

// Servers before 1.23 refuse to apply definitions with rules that they have no word for.
bool knows_cel(const client::ServerVersion& server) {
  return server.major != "1" || std::atoi(server.minor.c_str()) >= 23;
}

void drop_cel(json::Value& schema) {
  if (auto* members = schema.as_object()) {
    members->erase("x-kubernetes-validations");
    for (auto& [name, value] : *members) drop_cel(value);
  } else if (auto* items = schema.as_array()) {
    for (auto& item : *items) drop_cel(item);
  }
}

// Applies them and waits until the server serves them.
Task<> install(client::Client client, const Program* program, bool with_cel) {
  using api::apiextensionsv1::CustomResourceDefinition;
  const auto definitions = client.of<CustomResourceDefinition>();
  const client::RawApi raw(client, client::resource_of<CustomResourceDefinition>());
  client::ApplyOptions options;
  options.force = true;
  for (const auto& controller : program->controllers) {
    if (!controller.crd) continue;
    const Key key("", controller.kind->resource_name());
    auto crd = controller.crd();
    if (!with_cel) drop_cel(crd);
    co_await raw.apply(key, json::dump(crd), options);
    for (;;) {
      const auto live = co_await definitions.get(key);
      const auto established = std::ranges::any_of(live.status.conditions, [](const auto& condition) {
        return condition.type == "Established" && condition.status == "True";
      });
      if (established) break;
      co_await rt::sleep(std::chrono::milliseconds(50));
    }
    log::info("installed", {{"crd", key.name}});
  }
}

client::Config load(const Flags& flags) {
  client::LoadOptions options;
  options.kubeconfig = flags.kubeconfig;
  options.context = flags.context;
  auto config = client::load_config(options);
  if (!flags.master.empty()) config.server = flags.master;
  return config;
}

std::string own_namespace(const client::Config& config) {
  if (const char* name = std::getenv("POD_NAMESPACE"); name != nullptr && *name != '\0') return name;
  return config.namespace_;
}

runtime::ManagerOptions manager_options(const Program& program, const Flags& flags, const client::Config& config,
                                        std::shared_ptr<http::Handler> transport) {
  runtime::ManagerOptions options;
  options.name = program.name;
  options.host = config.server;
  if (const auto url = http::parse_url(config.server)) options.host = url->host;
  options.namespaces = flags.namespaces;
  options.graceful = flags.graceful;
  if (flags.resync.count() > 0) options.resync = flags.resync;
  if (flags.leader_elect) {
    if (const auto warning = runtime::check_resource_lock(flags.lock)) log::warn(*warning);
    runtime::ElectionOptions election;
    election.name = lease_name(program, flags);
    election.namespace_ = flags.lease_namespace.empty() ? own_namespace(config) : flags.lease_namespace;
    election.times.lease = flags.lease_duration;
    election.times.renew_deadline = flags.renew_deadline;
    election.times.retry_period = flags.retry_period;
    options.election = std::move(election);
  }
  options.tracing = runtime::trace_options([](std::string_view name) {
    const char* value = std::getenv(std::string(name).c_str());
    return std::string(value == nullptr ? "" : value);
  });
  if (!flags.otlp_endpoint.empty()) options.tracing.endpoint = flags.otlp_endpoint + "/v1/traces";
  options.tracing.service = program.name;
  runtime::HealthOptions health;
  health.probe_address = flags.probe_address;
  health.metrics_address = flags.metrics_address;
  health.profiling = flags.profiling;
  if (flags.metrics_secure) {
    health.metrics_tls = runtime::self_made_tls();
    health.metrics_guard.emplace(std::move(transport));
  }
  options.health = std::move(health);
  if (!program.webhooks.empty() && !can_be_asked(flags, config)) {
    log::info("webhooks are off: --webhook-url says how the API server reaches them from outside of a cluster");
  } else if (!program.webhooks.empty()) {
    runtime::WebhookServerOptions server;
    server.port = flags.webhook_port;
    server.secret = {own_namespace(config), program.name + "-webhook-certs"};
    server.config.name = program.name;
    server.config.url = flags.webhook_url;
    DeployOptions deploy;
    deploy.name = program.name;
    server.config.service_name = webhook_service_name(deploy);
    server.config.service_namespace = own_namespace(config);
    if (!flags.webhook_cert_dir.empty()) {
      server.cert_file = (std::filesystem::path(flags.webhook_cert_dir) / "tls.crt").string();
      server.key_file = (std::filesystem::path(flags.webhook_cert_dir) / "tls.key").string();
      const auto ca = std::filesystem::path(flags.webhook_cert_dir) / "ca.crt";
      if (std::filesystem::exists(ca)) server.ca_file = ca.string();
    }
    options.webhook_server = std::move(server);
  }
  return options;
}

// The first signal ends the work in good order; the second, the process.
Task<> stop_on_signal(runtime::Manager* manager) {
  const int received = co_await rt::wait_stop_signal();
  log::info("told to stop", {{"signal", received}});
  manager->stop();
}

Task<> serve(Program* program, const Flags* flags) {
  const auto config = load(*flags);
  const auto transport = client::make_transport(config);
  const client::Client client(transport);
  const auto server = co_await client::server_version(client);
  log::info("connected", {{"server", config.server}, {"version", server.git_version}, {"as", config.source}});
  if (flags->install_crds) co_await install(client, program, knows_cel(server));

  runtime::Manager manager(transport, manager_options(*program, *flags, config, transport));
  for (auto& controller : program->controllers) {
    if (flags->workers > 0) controller.options.workers = flags->workers;
    manager.add(std::move(controller));
  }
  if (!program->webhooks.empty()) manager.add(std::move(program->webhooks));
  rt::Scope signals;
  signals.spawn(stop_on_signal(&manager));
  co_await manager.run();
}

}  // namespace

Uses uses_of(const Program& program, const Flags& flags) {
  Uses uses = writes_events();
  for (const auto& controller : program.controllers) {
    for (const auto& watched : controller.watched) {
      switch (watched.role) {
        case runtime::Role::For: {
          ReconcileUse use;
          use.status = controller.has_status;
          use.finalizer = !controller.finalizer.empty();
          use.owns = std::ranges::any_of(controller.watched,
                                         [](const auto& other) { return other.role == runtime::Role::Owns; });
          uses = std::move(uses) + reconciles(*watched.kind, use);
          break;
        }
        case runtime::Role::Owns: uses = std::move(uses) + owns(*watched.kind); break;
        case runtime::Role::Watches: uses = std::move(uses) + watches(*watched.kind); break;
      }
    }
    for (const auto& more : controller.permissions) {
      uses = std::move(uses) + does(*more.kind, more.verbs, more.subresource);
    }
  }
  uses = std::move(uses) + holds_lease(lease_name(program, flags));
  if (flags.install_crds) uses = std::move(uses) + installs_crds(crd_names(program));
  if (flags.metrics_secure) uses = std::move(uses) + reviews_access();
  if (!program.webhooks.empty()) {
    std::vector<std::string> converted;
    for (const auto& conversion : program.webhooks.conversions())
      converted.push_back(conversion.kind().resource_name());
    uses = std::move(uses) + keeps_secret(program.name + "-webhook-certs") +
           injects_ca({program.name}, {program.name}, std::move(converted));
  }
  return uses;
}

std::string printed(const Program& program, const Flags& flags) {
  switch (flags.print) {
    case Print::Nothing: return "";
    case Print::Crds: return crds(program);
    case Print::Rbac: return roles(program, flags);
    case Print::Deployment: {
      Documents documents;
      return add_deployment(documents, deploy_options(program, flags)).yaml();
    }
    case Print::Manifests: {
      const auto options = deploy_options(program, flags);
      Documents first;
      first.add(namespace_of(options));
      Documents last;
      add_deployment(last, options);
      return joined(joined(joined(first.yaml(), crds(program)), roles(program, flags)), last.yaml());
    }
  }
  return "";
}

int run(int argc, const char* const* argv, Program program) {
  if (program.name.empty()) program.name = std::filesystem::path(argv[0]).filename().string();
  std::vector<std::string> names;
  for (const auto& controller : program.controllers) names.push_back(name_of(controller));
  const auto parsed = parse_flags(argc, argv, program.name, program.version, names);
  if (!parsed.flags) return parsed.exit_code;
  const auto& flags = *parsed.flags;
  choose(program, flags.operators);
  try {
    if (flags.print != Print::Nothing) {
      fmt::print("{}", printed(program, flags));
      return 0;
    }
    log::configure({.level = flags.log_level, .format = flags.log_format, .sink = {}});
    rt::Loop loop;
    loop.run(serve(&program, &flags));
    return 0;
  } catch (const Error& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return exit_code(error.code);
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}

}  // namespace kopper::app
