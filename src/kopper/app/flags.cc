#include "kopper/app/flags.h"

#include <algorithm>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "kopper/base/duration.h"
#include "kopper/base/error.h"
#include "kopper/json/yaml.h"

namespace kopper::app {

namespace {

struct Duration {
  Duration(CLI::App& app, const std::string& flag, std::chrono::seconds& into, const std::string& help) {
    app.add_option_function<std::string>(
           flag,
           [&into](const std::string& text) {
             const auto read = parse_duration(text);
             if (!read) throw CLI::ValidationError(fmt::format("\"{}\" is no duration: say 15s, 10m or 1h30m", text));
             into = *read;
           },
           help)
        ->type_name("DURATION")
        ->default_str(fmt::format("{}s", into.count()));
  }
};

std::string environment_name(std::string flag) {
  std::ranges::transform(flag, flag.begin(),
                         [](unsigned char c) { return c == '-' ? '_' : static_cast<char>(std::toupper(c)); });
  return "KOPPER_" + flag;
}

std::string scalar_text(const json::Value& value) {
  if (const auto* text = value.as_string()) return *text;
  return json::dump(value);
}

// The flags of a file, as if they had been given. Throws CLI::ValidationError with one line.
std::vector<std::string> flags_of(const std::string& path, const CLI::App& app) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) throw CLI::ValidationError(fmt::format("{}: cannot be read", path));
  auto documents = json::parse_yaml(text.str());
  if (!documents) throw CLI::ValidationError(fmt::format("{}: {}", path, documents.error().str()));
  std::vector<std::string> flags;
  for (const auto& document : *documents) {
    const auto* object = document.value.as_object();
    if (object == nullptr) throw CLI::ValidationError(fmt::format("{}: expected flags and their values", path));
    for (const auto& [name, value] : *object) {
      if (name == "config" || app.get_option_no_throw("--" + name) == nullptr) {
        throw CLI::ValidationError(fmt::format("{}: {} is no flag", path, name));
      }
      if (const auto* list = value.as_array()) {
        for (const auto& item : *list) flags.push_back(fmt::format("--{}={}", name, scalar_text(item)));
      } else {
        flags.push_back(fmt::format("--{}={}", name, scalar_text(value)));
      }
    }
  }
  return flags;
}

class Parser {
 public:
  Parser(const std::string& program, const std::string& version, const std::vector<std::string>& operators)
      : app_("Runs Kubernetes operators: " + fmt::format("{}", fmt::join(operators, ", ")), program) {
    app_.set_version_flag("--version", program + " " + version);
    app_.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    app_.add_option("--config", config, "A YAML file with flags and their values");
    cluster();
    what(operators);
    election();
    serving();
    printing();
    for (auto* option : app_.get_options()) {
      const auto name = option->get_single_name();
      if (name != "help" && name != "version") option->envname(environment_name(name));
    }
  }

  Flags parse(std::vector<std::string> arguments) {
    // First only to find --config, in the arguments or the environment.
    auto first = arguments;
    std::ranges::reverse(first);
    app_.parse(first);
    if (!config.empty()) {
      const auto path = config;
      auto all = flags_of(path, app_);
      all.insert(all.end(), arguments.begin(), arguments.end());
      std::ranges::reverse(all);
      app_.parse(all);
    }
    for (const auto& [wanted, print] : prints_) {
      if (wanted) flags.print = print;
    }
    return std::move(flags);
  }
  int exit(const CLI::Error& error) const { return app_.exit(error) == 0 ? 0 : 2; }

 private:
  void cluster() {
    app_.add_option("--kubeconfig", flags.kubeconfig,
                    "Which cluster; default: $KUBECONFIG, in-cluster, ~/.kube/config");
    app_.add_option("--context", flags.context, "Context of the kubeconfig");
    app_.add_option("--master", flags.master, "URL of the API server, instead of the kubeconfig's");
    app_.add_option("--namespace,--watch-namespace", flags.namespaces, "Only these namespaces; default: all")
        ->delimiter(',')
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  }
  void what(const std::vector<std::string>& operators) {
    app_.add_option("--operators", flags.operators,
                    fmt::format("Which to run, of {}; default: all", fmt::join(operators, ", ")))
        ->delimiter(',')
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->check(CLI::IsMember([&] {
          auto names = operators;
          names.emplace_back("*");
          return names;
        }()));
    app_.add_flag("--install-crds", flags.install_crds, "Apply the CRDs at start, and wait for them");
    app_.add_option("--max-concurrent-reconciles", flags.workers, "Reconciles at once, of each controller")
        ->check(CLI::Range(1, 10000));
    Duration(app_, "--resync-period", flags.resync, "Look at every object again so often; 0: as the controllers say");
    Duration(app_, "--graceful-shutdown-timeout", flags.graceful, "For what is in work when told to stop");
  }
  void election() {
    app_.add_flag("--leader-elect", flags.leader_elect, "Of several replicas only one works");
    app_.add_option("--leader-elect-resource-lock", flags.lock, "All kinds mean a Lease")->capture_default_str();
    app_.add_option("--leader-elect-resource-name,--leader-election-id", flags.lease_name,
                    "Name of the Lease; default: the program's");
    app_.add_option("--leader-elect-resource-namespace", flags.lease_namespace, "Default: the program's own");
    Duration(app_, "--leader-elect-lease-duration", flags.lease_duration, "When another may take over");
    Duration(app_, "--leader-elect-renew-deadline", flags.renew_deadline, "When the leader gives up");
    Duration(app_, "--leader-elect-retry-period", flags.retry_period, "Between tries");
  }
  void serving() {
    app_.add_option("--health-probe-bind-address", flags.probe_address, "/healthz and /readyz; 0: off")
        ->capture_default_str();
    app_.add_option("--metrics-bind-address", flags.metrics_address, "/metrics; 0: off")->capture_default_str();
    app_.add_flag("--metrics-secure", flags.metrics_secure,
                  "Metrics over TLS, for those whom the API server allows to get /metrics");
    app_.add_flag("--profiling", flags.profiling, "/debug/pprof/ beside the metrics");
    app_.add_option("--otlp-endpoint", flags.otlp_endpoint,
                    "Where traces go (OTLP over HTTP); default: OTEL_EXPORTER_OTLP_ENDPOINT");
    app_.add_option("--webhook-port", flags.webhook_port, "Where webhooks are served")->capture_default_str();
    app_.add_option("--webhook-url", flags.webhook_url,
                    "How the API server reaches the webhooks, when not by a Service: https://host:{port}");
    app_.add_option("--webhook-cert-dir", flags.webhook_cert_dir,
                    "tls.crt and tls.key of the webhooks; default: made and renewed by the program");
    app_.add_option("--log-format", flags.log_format, "human or json")
        ->transform(CLI::CheckedTransformer(
            std::map<std::string, log::Format>{{"human", log::Format::Human}, {"json", log::Format::Json}}));
    app_.add_option("--log-level", flags.log_level, "debug, info, warn or error")
        ->transform(CLI::CheckedTransformer(std::map<std::string, log::Level>{{"debug", log::Level::Debug},
                                                                              {"info", log::Level::Info},
                                                                              {"warn", log::Level::Warn},
                                                                              {"error", log::Level::Error}}));
  }
  void printing() {
    const auto add = [this](const char* flag, Print print, const char* help) {
      app_.add_flag(flag, prints_.emplace_back(false, print).first, help)->group("Printing");
    };
    prints_.reserve(4);
    add("--print-crds", Print::Crds, "The CustomResourceDefinitions, as YAML");
    add("--print-rbac", Print::Rbac, "The roles that the program needs, and no more");
    add("--print-deployment", Print::Deployment, "A Deployment of the program, and what goes with it");
    add("--print-manifests", Print::Manifests, "All of these, and the namespace: what `kubectl apply -f -` needs");
    app_.add_option("--image", flags.image, "The image of a printed Deployment")->group("Printing");
    app_.add_option("--deploy-namespace", flags.deploy_namespace, "The namespace of what is printed")
        ->capture_default_str()
        ->group("Printing");
  }

  std::string config;
  Flags flags;
  std::vector<std::pair<bool, Print>> prints_;
  CLI::App app_;
};

}  // namespace

ParsedFlags parse_flags(int argc, const char* const* argv, const std::string& program, const std::string& version,
                        const std::vector<std::string>& operators) {
  Parser parser(program, version, operators);
  try {
    return {parser.parse(std::vector<std::string>(argv + 1, argv + argc)), 0};
  } catch (const CLI::Error& error) {
    return {std::nullopt, parser.exit(error)};
  }
}

}  // namespace kopper::app
