#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kopper/api/validation.h"
#include "kopper/client/detail/refusal.h"
#include "kopper/client/detail/text.h"
#include "kopper/client/kubeconfig.h"

namespace kopper::client {

using detail::Bad;
using detail::element;
using detail::member;

namespace {

std::string absolute_to(std::string_view path, const Origin& origin) {
  if (path.empty() || path.front() == '/') return std::string(path);
  return (std::filesystem::path(origin.file).parent_path() / path).lexically_normal().string();
}

void check_printable(std::string_view text, const std::string& path) {
  if (detail::has_control(text)) throw Bad{path, "has a line break or another control character"};
}

// "https" of "https://…"; empty when there is none.
std::string_view scheme_of(std::string_view url) {
  const auto end = url.find("://");
  return end == url.npos ? std::string_view() : url.substr(0, end);
}

void check_url(std::string_view url, std::initializer_list<std::string_view> schemes, const std::string& path) {
  const auto scheme = scheme_of(url);
  // Only the scheme is shown: the rest may hold a password.
  if (std::ranges::find(schemes, scheme) == schemes.end()) {
    throw Bad{path, fmt::format("expected a URL with {}, found {}", fmt::join(schemes, ", "),
                                scheme.empty() ? "none of them" : fmt::format("\"{}\"", scheme))};
  }
  if (url.size() == scheme.size() + 3 || url[scheme.size() + 3] == '/') throw Bad{path, "has no host"};
  check_printable(url, path);
}

void use_cluster(const KubeCluster& cluster, const std::string& path, Config& config) {
  const auto server = member(path, "server");
  if (cluster.server.empty()) throw Bad{server, "missing"};
  config.server = cluster.server;
  config.insecure = cluster.insecure_skip_tls_verify;
  if (config.server.find("://") == std::string::npos) {  // "host:port", as kubectl takes it
    const bool tls =
        config.insecure || !cluster.certificate_authority.empty() || !cluster.certificate_authority_data.empty();
    config.server.insert(0, tls ? "https://" : "http://");
  }
  check_url(config.server, {"https", "http"}, server);
  config.ca = {cluster.certificate_authority_data, absolute_to(cluster.certificate_authority, cluster.origin)};
  if (config.insecure && !config.ca.empty()) {
    throw Bad{member(path, "insecure-skip-tls-verify"), "set together with a certificate authority: keep one"};
  }
  config.tls_server_name = cluster.tls_server_name;
  config.disable_compression = cluster.disable_compression;
  config.proxy_url = cluster.proxy_url;
  if (!config.proxy_url.empty()) check_url(config.proxy_url, {"http", "https", "socks5"}, member(path, "proxy-url"));
}

InteractiveMode interactive_mode(const KubeExec& exec, const std::string& path) {
  const std::string_view mode = exec.interactive_mode;
  if (mode == "Never") return InteractiveMode::Never;
  if (mode == "Always") return InteractiveMode::Always;
  if (mode == "IfAvailable") return InteractiveMode::IfAvailable;
  if (!mode.empty()) throw Bad{path, fmt::format("expected Never, IfAvailable or Always, found \"{}\"", mode)};
  if (exec.api_version.ends_with("/v1")) throw Bad{path, fmt::format("missing, {} needs it", exec.api_version)};
  return InteractiveMode::IfAvailable;
}

// The extension of a cluster that is meant for its credential plugin.
json::Value plugin_config(const KubeCluster& cluster) {
  const auto* extensions = cluster.other.find("extensions");
  if (!extensions || !extensions->is_array()) return {};
  for (const auto& item : *extensions->as_array()) {
    if (item.text("name") == "client.authentication.k8s.io/exec") return item["extension"];
  }
  return {};
}

ExecSpec use_exec(const KubeExec& exec, const Origin& origin, const std::string& path) {
  static constexpr std::string_view kVersions[] = {"client.authentication.k8s.io/v1",
                                                   "client.authentication.k8s.io/v1beta1"};
  if (exec.api_version.empty()) throw Bad{member(path, "apiVersion"), "missing"};
  if (std::ranges::find(kVersions, exec.api_version) == std::end(kVersions)) {
    throw Bad{member(path, "apiVersion"), fmt::format("unsupported \"{}\"", exec.api_version)};
  }
  if (exec.command.empty()) throw Bad{member(path, "command"), "missing"};
  for (std::size_t i = 0; i < exec.env.size(); ++i) {
    if (exec.env[i].first.empty() || exec.env[i].first.find('=') != std::string::npos) {
      throw Bad{member(element(member(path, "env"), i), "name"), "not the name of a variable"};
    }
  }
  ExecSpec spec;
  spec.api_version = exec.api_version;
  // A bare name is looked up in PATH; anything with a slash is a path like the others in this file.
  spec.command = exec.command.find('/') == std::string::npos ? exec.command : absolute_to(exec.command, origin);
  spec.args = exec.args;
  spec.env = exec.env;
  spec.install_hint = exec.install_hint;
  spec.provide_cluster_info = exec.provide_cluster_info;
  spec.interactive_mode = interactive_mode(exec, member(path, "interactiveMode"));
  return spec;
}

void use_certificate(const KubeUser& user, const std::string& path, Config& config) {
  config.client_cert = {user.client_certificate_data, absolute_to(user.client_certificate, user.origin)};
  config.client_key = {user.client_key_data, absolute_to(user.client_key, user.origin)};
  if (config.client_cert.empty()) {
    config.client_key = {};  // a key alone is not used, as for kubectl
  } else if (config.client_key.empty()) {
    throw Bad{member(path, "client-key"), "missing, there is a client certificate"};
  }
}

void use_impersonation(const KubeUser& user, const std::string& path, Config& config) {
  config.impersonate = {user.as, user.as_uid, user.as_groups, user.as_user_extra};
  if (user.as.empty() && !(user.as_uid.empty() && user.as_groups.empty() && user.as_user_extra.empty())) {
    throw Bad{member(path, "as"), "missing, there is a uid, group or extra to impersonate"};
  }
  check_printable(user.as, member(path, "as"));
  check_printable(user.as_uid, member(path, "as-uid"));
  for (const auto& group : user.as_groups) check_printable(group, member(path, "as-groups"));
  for (const auto& [key, values] : user.as_user_extra) {
    for (const auto& value : values) check_printable(value, member(path, "as-user-extra"));
  }
}

void use_user(const KubeUser& user, const std::string& path, Config& config) {
  config.token = detail::trimmed(user.token);
  check_printable(config.token, member(path, "token"));
  config.token_file = absolute_to(user.token_file, user.origin);
  config.username = user.username;
  config.password = user.password;
  const bool has_token = !config.token.empty() || !config.token_file.empty();
  const bool has_basic = !config.username.empty() || !config.password.empty();
  if (has_token && has_basic) throw Bad{path, "has both a token and a username: keep one"};
  use_certificate(user, path, config);
  use_impersonation(user, path, config);
  if (user.exec) config.exec = use_exec(*user.exec, user.origin, member(path, "exec"));

  const bool identified = has_token || has_basic || config.exec || !config.client_cert.empty();
  const auto* provider = user.other.find("auth-provider");
  if (!identified && provider && !provider->is_null()) {
    throw Bad{member(path, "auth-provider"),
              fmt::format("\"{}\" is not supported: use an exec plugin", provider->text("name"))};
  }
}

std::string names_of(const std::vector<KubeContext>& contexts) {
  constexpr std::size_t kShown = 10;
  std::vector<std::string_view> names;
  for (const auto& context : contexts) {
    if (names.size() == kShown) {
      names.emplace_back("…");
      break;
    }
    names.push_back(context.name);
  }
  return names.empty() ? "there is none" : fmt::format("there is {}", fmt::join(names, ", "));
}

Config resolve_or_throw(const Kubeconfig& kubeconfig, const Overrides& overrides, std::string& file) {
  file = fmt::format("{}", fmt::join(kubeconfig.files, ":"));
  const auto& context_name = overrides.context.empty() ? kubeconfig.current_context : overrides.context;
  // With a cluster named by the caller a context is not needed.
  if (context_name.empty() && overrides.cluster.empty()) {
    throw Bad{"current-context", fmt::format("not set, name a context ({})", names_of(kubeconfig.contexts))};
  }
  KubeContext context;
  std::string context_path;
  if (!context_name.empty()) {
    const auto* found = kubeconfig.context(context_name);
    if (!found) {
      throw Bad{overrides.context.empty() ? "current-context" : "",
                fmt::format("no context named \"{}\" ({})", context_name, names_of(kubeconfig.contexts))};
    }
    context = *found;
    file = context.origin.file;
    context_path = member(element("contexts", context.origin.index), "context");
  }
  if (!overrides.cluster.empty()) context.cluster = overrides.cluster;
  if (!overrides.user.empty()) context.user = overrides.user;
  if (!overrides.namespace_.empty()) context.namespace_ = overrides.namespace_;

  Config config;
  config.source = context_name.empty() ? fmt::format("kubeconfig {}, cluster {}", file, context.cluster)
                                       : fmt::format("kubeconfig {}, context {}", file, context_name);
  if (!context.namespace_.empty()) {
    if (!api::check_dns_label(context.namespace_).empty()) {
      throw Bad{overrides.namespace_.empty() ? member(context_path, "namespace") : "",
                fmt::format("\"{}\" is not the name of a namespace", context.namespace_)};
    }
    config.namespace_ = context.namespace_;
  }
  const auto* cluster = kubeconfig.cluster(context.cluster);
  if (!cluster) {
    const auto at = overrides.cluster.empty() ? member(context_path, "cluster") : "";
    if (context.cluster.empty()) throw Bad{at, "missing"};
    throw Bad{at, fmt::format("no cluster named \"{}\"", context.cluster)};
  }
  const auto* user = kubeconfig.user(context.user);
  if (!user && !context.user.empty()) {
    throw Bad{overrides.user.empty() ? member(context_path, "user") : "",
              fmt::format("no user named \"{}\"", context.user)};
  }

  file = cluster->origin.file;
  use_cluster(*cluster, member(element("clusters", cluster->origin.index), "cluster"), config);
  if (user) {
    file = user->origin.file;
    use_user(*user, member(element("users", user->origin.index), "user"), config);
  }
  if (config.exec) config.exec->cluster_config = plugin_config(*cluster);
  return config;
}

}  // namespace

std::expected<Config, Error> resolve(const Kubeconfig& kubeconfig, const Overrides& overrides) {
  std::string file;
  try {
    return resolve_or_throw(kubeconfig, overrides, file);
  } catch (const Bad& bad) {
    return std::unexpected(detail::refuse(file, bad.path, bad.what));
  }
}

}  // namespace kopper::client
