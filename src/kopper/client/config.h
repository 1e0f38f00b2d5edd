#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kopper/json/value.h"

namespace kopper::client {

// Whether a credential plugin may talk to the person at the terminal.
enum class InteractiveMode : std::uint8_t { IfAvailable, Never, Always };

// A program that prints a credential: `users[].user.exec` of a kubeconfig.
struct ExecSpec {
  std::string api_version;  // client.authentication.k8s.io/v1 or …/v1beta1
  std::string command;      // a name looked up in PATH, or a path
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;  // added to our own environment
  std::string install_hint;                              // shown when the command cannot be found
  bool provide_cluster_info = false;
  InteractiveMode interactive_mode = InteractiveMode::IfAvailable;
  json::Value cluster_config;  // handed on as spec.cluster.config; null when there is none
};

// Act as somebody else. Nothing is impersonated while `user` is empty.
struct Impersonation {
  std::string user;
  std::string uid;
  std::vector<std::string> groups;
  std::vector<std::pair<std::string, std::vector<std::string>>> extra;
};

// PEM text: inline, or in a file that is read again when it changes. Inline wins.
struct Pem {
  std::string data;
  std::string file;

  bool empty() const { return data.empty() && file.empty(); }
};

// Everything it takes to reach one API server as one user. Plain data: fill it by hand, or load_config().
struct Config {
  std::string server;  // https://host:port, a path in front of every request is allowed
  Pem ca;              // empty = the system's authorities
  bool insecure = false;
  std::string tls_server_name;  // checked instead of the server's host
  std::string proxy_url;        // http, https or socks5
  bool disable_compression = false;

  // One of these; a client certificate may come on top.
  std::string token;
  std::string token_file;  // read again when it changes; wins over `token`
  std::string username;
  std::string password;
  std::optional<ExecSpec> exec;  // used only when none of the above is set
  Pem client_cert;
  Pem client_key;

  Impersonation impersonate;
  std::string namespace_ = "default";
  std::string source;  // where this came from, for people: "kubeconfig /a/b, context dev", "in-cluster"
};

struct LoadOptions {
  std::string kubeconfig;  // the --kubeconfig flag: this file and no other
  std::string context;     // instead of current-context
  std::string cluster;     // instead of the context's
  std::string user;
  std::string namespace_;

  // What a test replaces.
  std::function<std::string(std::string_view)> env;  // default: getenv, "" when not set
  std::string service_account_dir;                   // default: /var/run/secrets/kubernetes.io/serviceaccount
};

// Looks at the kubeconfig flag, $KUBECONFIG (a list, merged), the service account of this pod, ~/.kube/config, in that
// order, and takes the first that is there. Throws Error{Invalid}, one line naming the file and field that is wrong, or
// saying what was tried. A service account is passed over when a context, cluster or user is asked for. A kubeconfig
// without a proxy-url takes HTTPS_PROXY, HTTP_PROXY and NO_PROXY from the environment.
Config load_config(const LoadOptions& options);
Config load_config();

}  // namespace kopper::client
