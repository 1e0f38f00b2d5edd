#include "kopper/workloads/endpoints.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "kopper/runtime/replicas.h"
#include "kopper/workloads/pod_status.h"

namespace kopper::workloads {

using api::PodRef;
using api::corev1::Container;
using api::corev1::Endpoints;
using api::corev1::Pod;
using api::corev1::Service;
using api::corev1::ServicePort;
using api::discoveryv1::Endpoint;
using api::discoveryv1::EndpointPort;
using api::discoveryv1::EndpointSlice;
using runtime::Next;

namespace {

using Self = runtime::Context<Service>;

constexpr const char* kServiceName = "kubernetes.io/service-name";
constexpr const char* kManagedBy = "endpointslice.kubernetes.io/managed-by";
constexpr const char* kManager = "endpointslice-controller.k8s.io";
constexpr const char* kHeadless = "service.kubernetes.io/headless";

bool is_terminating(const Pod& pod) { return pod.metadata.deletionTimestamp.is_set(); }
bool has_ended(const Pod& pod) { return pod.status.phase == "Failed" || pod.status.phase == "Succeeded"; }
bool publishes_all(const Service& service) { return service.spec.publishNotReadyAddresses.value_or(false); }
bool is_headless(const Service& service) { return service.spec.clusterIP == "None"; }

std::vector<std::string> families(const Service& service) {
  return service.spec.ipFamilies.empty() ? std::vector<std::string>{"IPv4"} : service.spec.ipFamilies;
}

// "" when the pod has none of the family.
std::string address_of(const Pod& pod, std::string_view family) {
  const auto fits = [family](const std::string& ip) {
    return !ip.empty() && (ip.find(':') != std::string::npos) == (family == "IPv6");
  };
  for (const auto& one : pod.status.podIPs) {
    if (fits(one.ip)) return one.ip;
  }
  return fits(pod.status.podIP) ? pod.status.podIP : std::string();
}

// Which port of the pod stands behind one of the service; 0: it names one that the pod has not.
std::int32_t target_port(const ServicePort& port, const Pod& pod) {
  if (!port.targetPort) return port.port;
  if (const auto* number = port.targetPort->as_int()) return *number != 0 ? *number : port.port;
  const auto& name = *port.targetPort->as_string();
  const auto search = [&](const Container& container) {
    for (const auto& one : container.ports) {
      const auto protocol = one.protocol.empty() ? std::string_view("TCP") : std::string_view(one.protocol);
      if (one.name == name && (port.protocol.empty() ? "TCP" : port.protocol) == protocol) return one.containerPort;
    }
    return 0;
  };
  for (const auto& container : pod.spec.containers) {
    if (const auto found = search(container); found != 0) return found;
  }
  for (const auto& container : pod.spec.initContainers) {
    if (!is_sidecar(container)) continue;
    if (const auto found = search(container); found != 0) return found;
  }
  return 0;
}

std::vector<EndpointPort> ports_of(const Service& service, const Pod& pod) {
  std::vector<EndpointPort> out;
  for (const auto& port : service.spec.ports) {
    const auto number = target_port(port, pod);
    if (number == 0) continue;
    out.push_back({.name = port.name,
                   .protocol = port.protocol.empty() ? "TCP" : port.protocol,
                   .port = number,
                   .appProtocol = port.appProtocol});
  }
  return out;
}

std::string key_of(const std::vector<EndpointPort>& ports) {
  std::string out;
  for (const auto& port : ports) {
    out += fmt::format("{}/{}/{}/{};", port.name, port.protocol, port.port.value_or(0), port.appProtocol);
  }
  return out;
}

std::string hostname_of(const Service& service, const Pod& pod) {
  return pod.spec.subdomain == service.metadata.name ? pod.spec.hostname : std::string();
}

api::corev1::ObjectReference reference_to(const Pod& pod) {
  return {.kind = "Pod", .namespace_ = pod.metadata.namespace_, .name = pod.metadata.name, .uid = pod.metadata.uid};
}

Endpoint endpoint_of(const Service& service, const Pod& pod, std::string address) {
  Endpoint out;
  out.addresses = {std::move(address)};
  const bool serving = api::is_ready(pod);
  out.conditions.ready = publishes_all(service) || (serving && !is_terminating(pod));
  out.conditions.serving = serving;
  out.conditions.terminating = is_terminating(pod);
  out.hostname = hostname_of(service, pod);
  out.targetRef = reference_to(pod);
  out.nodeName = pod.spec.nodeName;
  return out;
}

// What belongs into slices of one kind of address and the same ports.
struct Group {
  std::string family;
  std::vector<EndpointPort> ports;
  std::vector<Endpoint> endpoints;
};

std::vector<Group> groups_of(const Service& service, const std::vector<PodRef>& pods) {
  std::map<std::string, Group> groups;
  for (const auto& family : families(service)) {
    for (const auto& pod : pods) {
      auto address = address_of(*pod, family);
      if (address.empty() || has_ended(*pod)) continue;
      auto ports = ports_of(service, *pod);
      auto& group = groups[family + " " + key_of(ports)];
      group.family = family;
      group.ports = std::move(ports);
      group.endpoints.push_back(endpoint_of(service, *pod, std::move(address)));
    }
  }
  std::vector<Group> out;
  for (auto& [key, group] : groups) out.push_back(std::move(group));
  return out;
}

api::Labels labels_of(const Service& service) {
  auto labels = service.metadata.labels;
  labels.erase(kHeadless);
  if (is_headless(service)) labels[kHeadless] = "";
  return labels;
}

class SlicePlanner {
 public:
  SlicePlanner(const Service& service, const std::vector<SliceRef>& slices) : service_(service), slices_(slices) {
    for (const auto& slice : slices) taken_.insert(slice->metadata.name);
  }

  void place(Group group) {
    std::map<std::string, Endpoint> waiting;
    for (auto& endpoint : group.endpoints) waiting.emplace(endpoint.targetRef->uid, std::move(endpoint));
    std::vector<EndpointSlice> mine;
    for (const auto& slice : slices_) {
      if (slice->addressType != group.family || key_of(slice->ports) != key_of(group.ports)) continue;
      auto kept = empty_slice(slice->metadata.name, group);
      for (const auto& endpoint : slice->endpoints) {
        const auto found = waiting.find(endpoint.targetRef ? endpoint.targetRef->uid : std::string());
        if (found == waiting.end()) continue;
        kept.endpoints.push_back(std::move(found->second));
        waiting.erase(found);
      }
      if (!kept.endpoints.empty()) mine.push_back(std::move(kept));
    }
    std::size_t room = 0;
    for (auto& [uid, endpoint] : waiting) {
      while (room < mine.size() && mine[room].endpoints.size() >= kMaxEndpointsInSlice) ++room;
      if (room == mine.size()) mine.push_back(empty_slice(new_name(), group));
      mine[room].endpoints.push_back(std::move(endpoint));
    }
    for (auto& slice : mine) wanted_.push_back(std::move(slice));
  }

  SlicePlan finish() && {
    // A service without pods has one all the same: it says that somebody looks after it.
    for (const auto& family : families(service_)) {
      if (std::ranges::find(wanted_, family, &EndpointSlice::addressType) != wanted_.end()) continue;
      const auto old = std::ranges::find_if(slices_, [&](const SliceRef& it) { return it->addressType == family; });
      Group none;
      none.family = family;
      wanted_.push_back(empty_slice(old != slices_.end() ? (*old)->metadata.name : new_name(), none));
    }
    SlicePlan plan;
    for (const auto& slice : slices_) {
      const auto same = [&slice](const EndpointSlice& it) { return it.metadata.name == slice->metadata.name; };
      if (std::ranges::none_of(wanted_, same)) plan.remove.push_back(slice);
    }
    plan.wanted = std::move(wanted_);
    return plan;
  }

 private:
  EndpointSlice empty_slice(std::string name, const Group& group) const {
    EndpointSlice out;
    out.metadata.name = std::move(name);
    out.metadata.generateName = service_.metadata.name + "-";
    out.metadata.labels = labels_of(service_);
    out.metadata.labels[kServiceName] = service_.metadata.name;
    out.metadata.labels[kManagedBy] = kManager;
    out.addressType = group.family;
    out.ports = group.ports;
    return out;
  }
  std::string new_name() {
    auto name = runtime::replica_names(service_.metadata.name, service_.metadata.uid, 1, taken_).at(0);
    taken_.insert(name);
    return name;
  }

  const Service& service_;
  const std::vector<SliceRef>& slices_;
  std::set<std::string> taken_;
  std::vector<EndpointSlice> wanted_;
};

Task<Next> reconcile(Self service) {
  std::vector<SliceRef> slices;
  for (auto& slice : service.children<EndpointSlice>()) {
    const auto found = slice->metadata.labels.find(kManagedBy);
    if (found != slice->metadata.labels.end() && found->second == kManager) slices.push_back(std::move(slice));
  }
  // Who has no selector looks after the endpoints alone.
  if (service->spec.type != "ExternalName" && service->spec.selector.empty()) co_return Next::wait();
  SlicePlan plan;
  if (service->spec.type == "ExternalName") {
    plan.remove = slices;
  } else {
    const auto pods = service.list<Pod>(service->spec.selector);
    plan = plan_slices(*service, pods, slices);
    runtime::ChildOptions options;
    options.adopt = true;  // somebody wrote them before there was a selector
    co_await service.apply(endpoints_of(*service, pods), options);
  }
  for (auto& slice : plan.wanted) co_await service.apply(std::move(slice));
  for (const auto& slice : plan.remove) co_await service.remove(*slice);
  co_return Next::wait();
}

bool selects(const Service& service, const Pod& pod) {
  return !service.spec.selector.empty() && api::Selector::of(service.spec.selector).matches(pod.metadata.labels);
}

}  // namespace

SlicePlan plan_slices(const Service& service, const std::vector<PodRef>& pods, const std::vector<SliceRef>& slices) {
  SlicePlanner planner(service, slices);
  for (auto& group : groups_of(service, pods)) planner.place(std::move(group));
  return std::move(planner).finish();
}

Endpoints endpoints_of(const Service& service, const std::vector<PodRef>& pods) {
  Endpoints out;
  out.metadata.name = service.metadata.name;
  out.metadata.labels = labels_of(service);
  out.metadata.labels["endpoints.kubernetes.io/managed-by"] = "endpoint-controller";
  const auto family = families(service).at(0);
  std::map<std::string, api::corev1::EndpointSubset> subsets;
  std::size_t count = 0;
  for (const auto& pod : pods) {
    auto address = address_of(*pod, family);
    if (address.empty() || has_ended(*pod) || (is_terminating(*pod) && !publishes_all(service))) continue;
    const auto ports = ports_of(service, *pod);
    // Only a headless service has endpoints without ports.
    if (ports.empty() && !(is_headless(service) && service.spec.ports.empty())) continue;
    if (++count > kMaxEndpointsInSubsets) {
      out.metadata.annotations["endpoints.kubernetes.io/over-capacity"] = "truncated";
      break;
    }
    auto& subset = subsets[key_of(ports)];
    subset.ports.clear();
    for (const auto& port : ports) {
      subset.ports.push_back({.name = port.name,
                              .port = port.port.value_or(0),
                              .protocol = port.protocol,
                              .appProtocol = port.appProtocol});
    }
    const bool ready = publishes_all(service) || api::is_ready(*pod);
    (ready ? subset.addresses : subset.notReadyAddresses)
        .push_back({.ip = std::move(address),
                    .hostname = hostname_of(service, *pod),
                    .nodeName = pod->spec.nodeName,
                    .targetRef = reference_to(*pod)});
  }
  for (auto& [key, subset] : subsets) {
    std::ranges::sort(subset.addresses, {}, &api::corev1::EndpointAddress::ip);
    std::ranges::sort(subset.notReadyAddresses, {}, &api::corev1::EndpointAddress::ip);
    out.subsets.push_back(std::move(subset));
  }
  return out;
}

runtime::ControllerSpec endpoints() {
  return runtime::controller<Service>()
      .name("endpoints")
      .owns<EndpointSlice>()
      .owns<Endpoints>()
      .watches<Pod>(selects)
      .reconcile(reconcile);
}

}  // namespace kopper::workloads
