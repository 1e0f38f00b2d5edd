#include "kopper/client/in_cluster.h"

#include <charconv>
#include <cstdint>

#include <fmt/format.h>

#include "kopper/base/error.h"
#include "kopper/client/detail/env.h"
#include "kopper/client/detail/text.h"
#include "kopper/rt/file.h"

namespace kopper::client {
namespace {

bool is_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() && port != 0;
}

}  // namespace

std::optional<Config> in_cluster_config(const LoadOptions& options) {
  const auto host = detail::env(options, "KUBERNETES_SERVICE_HOST");
  const auto port = detail::env(options, "KUBERNETES_SERVICE_PORT");
  if (host.empty() || port.empty()) return std::nullopt;
  if (!is_port(port)) {
    throw Error(Code::Invalid, fmt::format("in-cluster: KUBERNETES_SERVICE_PORT: \"{}\" is not a port", port));
  }
  const auto dir = options.service_account_dir.empty() ? "/var/run/secrets/kubernetes.io/serviceaccount"
                                                       : options.service_account_dir;
  Config config;
  const bool ipv6 = host.find(':') != std::string::npos;
  config.server = ipv6 ? fmt::format("https://[{}]:{}", host, port) : fmt::format("https://{}:{}", host, port);
  config.token_file = dir + "/token";
  config.ca.file = dir + "/ca.crt";
  config.source = "in-cluster";
  for (const auto& file : {config.token_file, config.ca.file}) {
    if (!rt::file_stamp(file)) {
      throw Error(Code::Invalid, fmt::format("in-cluster: {}: no such file (automountServiceAccountToken off?)", file));
    }
  }
  if (const auto file = dir + "/namespace"; rt::file_stamp(file)) {
    if (auto name = detail::trimmed(rt::read_file(file)); !name.empty()) config.namespace_ = std::move(name);
  }
  if (!options.namespace_.empty()) config.namespace_ = options.namespace_;
  return config;
}

}  // namespace kopper::client
