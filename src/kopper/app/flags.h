#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kopper/base/log.h"

namespace kopper::app {

enum class Print : std::uint8_t { Nothing, Crds, Rbac, Deployment, Manifests };

// What the command line of an operator says. Each flag is also read from the environment (--leader-elect:
// KOPPER_LEADER_ELECT) and from a YAML file (--config: `leader-elect: true`); the command line wins over the file,
// and that over the environment.
struct Flags {
  // Which cluster.
  std::string kubeconfig;
  std::string context;
  std::string master;                   // the server's URL, instead of the kubeconfig's
  std::vector<std::string> namespaces;  // none: all

  // What runs.
  std::vector<std::string> operators;  // none: all
  bool install_crds = false;
  int workers = 0;  // 0: as the controllers say
  std::chrono::seconds resync{0};
  std::chrono::seconds graceful{30};

  bool leader_elect = false;
  std::string lock = "leases";
  std::string lease_name;
  std::string lease_namespace;
  std::chrono::seconds lease_duration{15};
  std::chrono::seconds renew_deadline{10};
  std::chrono::seconds retry_period{2};

  // What the outside asks.
  std::string probe_address = "127.0.0.1:8081";
  std::string metrics_address = "127.0.0.1:8080";
  bool metrics_secure = false;
  bool profiling = false;
  std::string otlp_endpoint;
  std::uint16_t webhook_port = 9443;
  std::string webhook_url;  // where the API server finds us when we run outside of the cluster
  std::string webhook_cert_dir;

  log::Format log_format = log::Format::Human;
  log::Level log_level = log::Level::Info;

  Print print = Print::Nothing;
  std::string image;
  std::string deploy_namespace = "operator-system";
};

// When there is nothing to run (--help, --version, a mistake), prints why and returns the exit code.
struct ParsedFlags {
  std::optional<Flags> flags;
  int exit_code = 0;
};
// `operators`: the names that --operators may give.
ParsedFlags parse_flags(int argc, const char* const* argv, const std::string& program, const std::string& version,
                        const std::vector<std::string>& operators);

}  // namespace kopper::app
