#include "kopper/workloads/service_proxy.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "kopper/api/selector.h"

namespace kopper::workloads {

using api::corev1::Service;
using api::corev1::ServicePort;
using api::discoveryv1::EndpointSlice;
using runtime::Next;

namespace {

using Self = runtime::Context<Service>;

constexpr const char* kServiceName = "kubernetes.io/service-name";
constexpr std::chrono::seconds kDefaultSticky = std::chrono::hours(3);

struct Proxy {
  Forwarder& forwarder;
  std::map<Key, std::set<std::string>> told;
};

// Those that are ready; when there is none, those that still serve while they end.
std::vector<Address> backends(const ServicePort& port, const std::vector<SliceRef>& slices) {
  std::vector<Address> ready;
  std::vector<Address> ending;
  for (const auto& slice : slices) {
    if (slice->addressType != "IPv4") continue;
    for (const auto& target : slice->ports) {
      const auto protocol = target.protocol.empty() ? std::string("TCP") : target.protocol;
      if (target.name != port.name || protocol != "TCP" || !target.port) continue;
      for (const auto& endpoint : slice->endpoints) {
        if (endpoint.addresses.empty()) continue;
        const Address at{endpoint.addresses[0], static_cast<std::uint16_t>(*target.port)};
        if (endpoint.conditions.ready.value_or(true)) {
          ready.push_back(at);
        } else if (endpoint.conditions.serving.value_or(false) && endpoint.conditions.terminating.value_or(false)) {
          ending.push_back(at);
        }
      }
    }
  }
  auto& out = ready.empty() ? ending : ready;
  std::ranges::sort(out);
  const auto same = std::ranges::unique(out);
  out.erase(same.begin(), same.end());
  return std::move(out);
}

Task<Next> reconcile(Self service, std::shared_ptr<Proxy> proxy) {
  const auto slices = service.list<EndpointSlice>(api::Labels{{kServiceName, service->metadata.name}});
  auto wanted = fronts_of(*service, slices);
  auto& told = proxy->told[service.key()];
  std::set<std::string> problems;
  for (auto& problem : wanted.unsupported) {
    if (!told.contains(problem)) service.warning("PortNotSupported", "{}", problem);
    problems.insert(std::move(problem));
  }
  const auto failed = proxy->forwarder.set(service.key(), std::move(wanted.fronts));
  for (const auto& problem : failed) {
    if (!told.contains(problem)) service.warning("PortUnavailable", "cannot {}", problem);
    problems.insert(problem);
  }
  told = std::move(problems);
  co_return failed.empty() ? Next::wait() : Next::in(std::chrono::seconds(10));
}

std::vector<Key> service_of(const EndpointSlice& slice) {
  const auto found = slice.metadata.labels.find(kServiceName);
  if (found == slice.metadata.labels.end()) return {};
  return {Key{slice.metadata.namespace_, found->second}};
}

}  // namespace

ServiceFronts fronts_of(const Service& service, const std::vector<SliceRef>& slices) {
  ServiceFronts out;
  const auto& spec = service.spec;
  if (spec.type == "ExternalName") return out;
  std::optional<std::chrono::seconds> sticky;
  if (spec.sessionAffinity == "ClientIP") {
    const bool given = spec.sessionAffinityConfig && spec.sessionAffinityConfig->clientIP;
    const auto seconds = given ? spec.sessionAffinityConfig->clientIP->timeoutSeconds : std::nullopt;
    sticky = seconds ? std::chrono::seconds(*seconds) : kDefaultSticky;
  }
  const bool reachable = spec.clusterIP.starts_with("127.");
  for (const auto& port : spec.ports) {
    const bool node_port = port.nodePort.value_or(0) != 0;
    if (!reachable && !node_port) continue;
    if (!port.protocol.empty() && port.protocol != "TCP") {
      out.unsupported.push_back(
          fmt::format("port {} cannot be reached: {} is not supported here, only TCP is", port.port, port.protocol));
      continue;
    }
    const auto to = backends(port, slices);
    const auto add = [&](std::string ip, std::int32_t number) {
      out.fronts.push_back(
          {.at = {std::move(ip), static_cast<std::uint16_t>(number)}, .backends = to, .sticky = sticky});
    };
    if (reachable) add(spec.clusterIP, port.port);
    if (node_port) add("127.0.0.1", *port.nodePort);
  }
  return out;
}

runtime::ControllerSpec service_proxy(Forwarder& forwarder) {
  const auto proxy = std::make_shared<Proxy>(Proxy{.forwarder = forwarder, .told = {}});
  return runtime::controller<Service>()
      .name("service-proxy")
      .watches<EndpointSlice>(service_of)
      .gone([proxy](const Key& key) {
        proxy->forwarder.remove(key);
        proxy->told.erase(key);
      })
      .reconcile([proxy](Self self) { return reconcile(std::move(self), proxy); });
}

}  // namespace kopper::workloads
