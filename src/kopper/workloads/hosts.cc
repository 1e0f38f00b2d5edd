#include "kopper/workloads/hosts.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "kopper/base/key.h"

namespace kopper::workloads {

using api::corev1::Pod;
using api::corev1::Service;

namespace {

constexpr const char* kServiceName = "kubernetes.io/service-name";

// All names of one thing: "web" or "db-0.web" of a namespace.
std::string names(std::string_view name, std::string_view of, std::string_view seen_from) {
  auto out = fmt::format("{0}.{1}.svc.cluster.local\t{0}.{1}.svc\t{0}.{1}", name, of);
  if (of == seen_from) out += fmt::format("\t{}", name);
  return out;
}

}  // namespace

std::string service_hosts(std::string_view namespace_, const std::vector<std::shared_ptr<const Service>>& services,
                          const std::vector<SliceRef>& slices) {
  std::map<Key, std::vector<SliceRef>> of;
  for (const auto& slice : slices) {
    const auto found = slice->metadata.labels.find(kServiceName);
    if (found != slice->metadata.labels.end()) of[{slice->metadata.namespace_, found->second}].push_back(slice);
  }
  std::map<Key, std::shared_ptr<const Service>> sorted;
  for (const auto& service : services) sorted[{service->metadata.namespace_, service->metadata.name}] = service;

  std::string out;
  for (const auto& [key, service] : sorted) {
    const auto& ip = service->spec.clusterIP;
    if (service->spec.type == "ExternalName" || ip.empty()) continue;
    if (ip != "None") {
      out += fmt::format("{}\t{}\n", ip, names(key.name, key.namespace_, namespace_));
      continue;
    }
    std::map<std::string, std::string> ready;  // address → hostname
    for (const auto& slice : of[key]) {
      for (const auto& endpoint : slice->endpoints) {
        if (!endpoint.conditions.ready.value_or(true)) continue;
        for (const auto& address : endpoint.addresses) ready[address] = endpoint.hostname;
      }
    }
    for (const auto& [address, hostname] : ready) {
      out += fmt::format("{}\t{}\n", address, names(key.name, key.namespace_, namespace_));
      if (hostname.empty()) continue;
      out += fmt::format("{}\t{}\n", address, names(hostname + "." + key.name, key.namespace_, namespace_));
    }
  }
  return out;
}

std::string pod_hosts(const Pod& pod, const PodFacts& facts, std::string_view services) {
  std::string out =
      "# Kubernetes-managed hosts file.\n"
      "127.0.0.1\tlocalhost\n"
      "::1\tlocalhost ip6-localhost ip6-loopback\n";
  const auto hostname = pod_hostname(pod);
  if (!pod.spec.subdomain.empty()) {
    out += fmt::format("{0}\t{1}.{2}.{3}.svc.cluster.local\t{1}\n", facts.ip, hostname, pod.spec.subdomain,
                       pod.metadata.namespace_);
  } else {
    out += fmt::format("{}\t{}\n", facts.ip, hostname);
  }
  for (const auto& alias : pod.spec.hostAliases) {
    out += fmt::format("{}\t{}\n", alias.ip, fmt::join(alias.hostnames, "\t"));
  }
  out += services;
  return out;
}

}  // namespace kopper::workloads
