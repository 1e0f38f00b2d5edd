#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kopper/base/error.h"
#include "kopper/client/config.h"
#include "kopper/json/value.h"

namespace kopper::client {

// Where an entry stands, for error messages and relative paths: clusters[index] of `file`.
struct Origin {
  std::string file;
  std::size_t index = 0;
};

// The entries of a kubeconfig as they are written: paths not resolved, *_data decoded from base64.
// `other` holds the members that are not read here (extensions, auth-provider …), so that writing a file loses nothing.
struct KubeCluster {
  std::string name;
  std::string server;
  std::string certificate_authority;
  std::string certificate_authority_data;
  std::string tls_server_name;
  std::string proxy_url;
  bool insecure_skip_tls_verify = false;
  bool disable_compression = false;
  json::Object other;
  Origin origin;
};

struct KubeExec {
  std::string api_version;
  std::string command;
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;
  std::string install_hint;
  std::string interactive_mode;
  bool provide_cluster_info = false;
  json::Object other;
};

struct KubeUser {
  std::string name;
  std::string client_certificate;
  std::string client_certificate_data;
  std::string client_key;
  std::string client_key_data;
  std::string token;
  std::string token_file;
  std::string username;
  std::string password;
  std::string as;
  std::string as_uid;
  std::vector<std::string> as_groups;
  std::vector<std::pair<std::string, std::vector<std::string>>> as_user_extra;
  std::optional<KubeExec> exec;
  json::Object other;
  Origin origin;
};

struct KubeContext {
  std::string name;
  std::string cluster;
  std::string user;
  std::string namespace_;
  json::Object other;
  Origin origin;
};

struct Kubeconfig {
  std::vector<KubeCluster> clusters;
  std::vector<KubeUser> users;
  std::vector<KubeContext> contexts;
  std::string current_context;
  json::Object other;
  std::vector<std::string> files;  // what it was read from

  const KubeCluster* cluster(std::string_view name) const;
  const KubeUser* user(std::string_view name) const;
  const KubeContext* context(std::string_view name) const;
};

// YAML or JSON, at most 8 MiB. Empty text is an empty kubeconfig, as for kubectl. Two entries of one name are refused,
// as kubectl does. Every error reads "kubeconfig <file>: <field>: <what>"; none shows a secret.
std::expected<Kubeconfig, Error> parse_kubeconfig(std::string_view text, std::string_view file);

// As kubectl merges a KUBECONFIG list: of each name the first entry, whole; the first current-context that is not
// empty.
Kubeconfig merge_kubeconfigs(std::span<const Kubeconfig> list);

struct Overrides {
  std::string context;
  std::string cluster;
  std::string user;
  std::string namespace_;
};

// Picks a context and makes it a Config; only what that context uses is checked. Relative paths become relative to the
// file they stand in. A context without a user is anonymous.
std::expected<Config, Error> resolve(const Kubeconfig& kubeconfig, const Overrides& overrides);

// YAML in the order kubectl writes.
std::string to_yaml(const Kubeconfig& kubeconfig);

// Read and parse; throw Error. A file that is not there is an error here, and nothing in read_kubeconfig_if_exists().
Kubeconfig read_kubeconfig(const std::string& file);
std::optional<Kubeconfig> read_kubeconfig_if_exists(const std::string& file);
// Replaces `file` in one step, mode 0600, making its folder when there is none.
void write_kubeconfig(const std::string& file, const Kubeconfig& kubeconfig);

}  // namespace kopper::client
