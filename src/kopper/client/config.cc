#include "kopper/client/config.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kopper/base/error.h"
#include "kopper/client/detail/env.h"
#include "kopper/client/detail/proxy_env.h"
#include "kopper/client/in_cluster.h"
#include "kopper/client/kubeconfig.h"

namespace kopper::client {
namespace {

std::string absolute(std::string_view path) { return std::filesystem::absolute(path).lexically_normal().string(); }

// The files of a KUBECONFIG list, each once.
std::vector<std::string> split_list(std::string_view list) {
  std::vector<std::string> files;
  while (!list.empty()) {
    const auto end = std::min(list.find(':'), list.size());
    if (end > 0) {
      auto file = absolute(list.substr(0, end));
      if (std::ranges::find(files, file) == files.end()) files.push_back(std::move(file));
    }
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return files;
}

Config resolve_or_throw(const Kubeconfig& kubeconfig, const LoadOptions& options) {
  auto config = resolve(kubeconfig, {options.context, options.cluster, options.user, options.namespace_});
  if (!config) throw config.error();
  if (config->proxy_url.empty()) {
    const auto env = [&options](const char* name) { return detail::env(options, name); };
    config->proxy_url = detail::proxy_from_env(config->server, env);
  }
  return *std::move(config);
}

}  // namespace

Config load_config(const LoadOptions& options) {
  if (!options.kubeconfig.empty()) {
    return resolve_or_throw(read_kubeconfig(absolute(options.kubeconfig)), options);
  }
  std::vector<std::string> tried;

  if (const auto list = detail::env(options, "KUBECONFIG"); !list.empty()) {
    std::vector<Kubeconfig> found;
    for (const auto& file : split_list(list)) {
      if (auto one = read_kubeconfig_if_exists(file)) found.push_back(*std::move(one));
    }
    if (!found.empty()) return resolve_or_throw(merge_kubeconfigs(found), options);
    tried.push_back(fmt::format("KUBECONFIG={} (no such file)", list));
  } else {
    tried.emplace_back("KUBECONFIG (not set)");
  }

  if (options.context.empty() && options.cluster.empty() && options.user.empty()) {
    if (auto config = in_cluster_config(options)) return *std::move(config);
    tried.emplace_back("in-cluster (KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT not set)");
  }

  const auto home = detail::env(options, "HOME");
  const auto file = home.empty() ? std::string("~/.kube/config") : home + "/.kube/config";
  if (!home.empty()) {
    if (const auto kubeconfig = read_kubeconfig_if_exists(file)) return resolve_or_throw(*kubeconfig, options);
  }
  tried.push_back(fmt::format("{} ({})", file, home.empty() ? "HOME not set" : "no such file"));
  throw Error(Code::Invalid, fmt::format("no cluster configured: give --kubeconfig; tried {}", fmt::join(tried, ", ")));
}

Config load_config() { return load_config(LoadOptions()); }

}  // namespace kopper::client
