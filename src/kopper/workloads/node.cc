#include "kopper/workloads/node.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kopper/base/error.h"
#include "kopper/base/log.h"
#include "kopper/client/raw_api.h"
#include "kopper/json/value.h"
#include "kopper/rt/file.h"
#include "kopper/workloads/hosts.h"

namespace kopper::workloads {

using api::PodRef;
using api::corev1::ConfigMap;
using api::corev1::PersistentVolume;
using api::corev1::PersistentVolumeClaim;
using api::corev1::Pod;
using api::corev1::PodCondition;
using api::corev1::Secret;
using api::corev1::Service;
using api::discoveryv1::EndpointSlice;
using runtime::Next;
using namespace std::chrono_literals;
using KubeNode = api::corev1::Node;

namespace {

constexpr std::string_view kOurs = "kopper.dev/local";           // a label: this node is a part of this machine
constexpr std::string_view kSimulated = "kopper.dev/simulated";  // an annotation: containers without a program
constexpr std::array kOwnConditions{"Initialized", "ContainersReady", "Ready"};
constexpr auto kRefreshPause = 200ms;  // services come in crowds

bool is_over(const Pod& pod) { return pod.status.phase == "Succeeded" || pod.status.phase == "Failed"; }

template <class Names>
bool uses(const Pod& pod, std::string_view name, Names names_of) {
  return std::ranges::any_of(pod.spec.volumes, [&](const auto& volume) { return names_of(volume, name); });
}

bool mounts_config_map(const Pod& pod, const ConfigMap& map) {
  return uses(pod, map.metadata.name, [](const auto& volume, std::string_view name) {
    if (volume.configMap && volume.configMap->name == name) return true;
    return volume.projected && std::ranges::any_of(volume.projected->sources, [name](const auto& source) {
             return source.configMap && source.configMap->name == name;
           });
  });
}
bool mounts_secret(const Pod& pod, const Secret& secret) {
  return uses(pod, secret.metadata.name, [](const auto& volume, std::string_view name) {
    if (volume.secret && volume.secret->secretName == name) return true;
    return volume.projected && std::ranges::any_of(volume.projected->sources, [name](const auto& source) {
             return source.secret && source.secret->name == name;
           });
  });
}
bool mounts_claim(const Pod& pod, const PersistentVolumeClaim& claim) {
  return uses(pod, claim.metadata.name, [](const auto& volume, std::string_view name) {
    return volume.persistentVolumeClaim && volume.persistentVolumeClaim->claimName == name;
  });
}
// Not yet started: it may wait for an object that its environment names.
bool waits(const Pod& pod) { return !pod.spec.nodeName.empty() && pod.status.phase == "Pending"; }

KubeNode make_node(const NodeOptions& options, const std::string& name, const std::string& address, api::Time now) {
  KubeNode node;
  node.metadata.name = name;
  node.metadata.labels = {{"kubernetes.io/hostname", name},
                          {"kubernetes.io/os", "linux"},
                          {"kubernetes.io/arch", "amd64"},
                          {std::string(kOurs), "true"}};
  node.status.capacity = options.capacity;
  node.status.allocatable = options.capacity;
  node.status.addresses = {{"InternalIP", address}, {"Hostname", name}};
  auto& info = node.status.nodeInfo;
  info.kubeletVersion = options.version;
  info.containerRuntimeVersion = "bubblewrap://";
  info.operatingSystem = "linux";
  info.architecture = "amd64";
  info.osImage = "Debian GNU/Linux";
  const auto add = [&](std::string type, std::string status, std::string reason, std::string message) {
    api::corev1::NodeCondition condition;
    condition.type = std::move(type);
    condition.status = std::move(status);
    condition.reason = std::move(reason);
    condition.message = std::move(message);
    condition.lastHeartbeatTime = now;
    condition.lastTransitionTime = now;
    node.status.conditions.push_back(std::move(condition));
  };
  add("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available");
  add("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure");
  add("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available");
  add("Ready", "True", "KubeletReady", "kubelet is posting ready status");
  return node;
}

// A token for the pod, from the token subresource of its account.
Task<AccountToken> ask_token(client::Client client, std::string account, PodRef pod, TokenAsked asked) {
  json::Value body = json::Object{};
  body["apiVersion"] = "authentication.k8s.io/v1";
  body["kind"] = "TokenRequest";
  body["spec"] = json::Object{};
  body["spec"]["expirationSeconds"] = asked.expiration_seconds;
  if (!asked.audience.empty()) body["spec"]["audiences"] = json::Array{asked.audience};
  json::Value bound = json::Object{};
  bound["apiVersion"] = "v1";
  bound["kind"] = "Pod";
  bound["name"] = pod->metadata.name;
  bound["uid"] = pod->metadata.uid;
  body["spec"]["boundObjectRef"] = std::move(bound);
  client::WriteOptions options;
  options.subresource = "token";
  const client::RawApi api(client, client::resource_of<api::corev1::ServiceAccount>());
  const Key key(pod->metadata.namespace_, account);
  const auto text = co_await api.create(key, json::dump(body), options);
  const auto answer = json::parse(text);
  if (!answer) throw_error(answer.error(), "token of " + key.str());
  AccountToken out;
  out.token = (*answer)["status"].text("token");
  const auto expires = api::Time::parse((*answer)["status"].text("expirationTimestamp"));
  if (!expires) throw_error(expires.error(), "token of " + key.str());
  out.expires = *expires;
  co_return out;
}

std::string address_of_node(std::size_t index) { return index == 0 ? "127.0.0.1" : fmt::format("127.0.1.{}", index); }

}  // namespace

Node::Node(NodeOptions options)
    : options_(std::move(options)), changes_(std::make_shared<rt::Channel<runtime::Request>>(1U << 20U)) {}

Node::~Node() = default;

PodRun* Node::find(const Key& pod) const {
  const auto found = runs_.find(pod);
  return found == runs_.end() ? nullptr : found->second.get();
}

Task<> Node::join(client::Client client) {
  const auto nodes = client.of<KubeNode>();
  for (std::size_t i = 0; i < options_.names.size(); ++i) {
    const auto wall = rt::Loop::current().wall_now();
    const auto wanted = make_node(options_, options_.names[i], address_of_node(i), wall);
    const auto there = co_await nodes.find(api::key_of(wanted));
    if (!there) co_await nodes.create(wanted);
    const Key key = api::key_of(wanted);
    // A new node is tainted until it is ready, which this one is.
    co_await nodes.modify(key, [&](KubeNode& live) {
      std::erase_if(live.spec.taints, [](const auto& taint) { return taint.key == "node.kubernetes.io/not-ready"; });
      for (const auto& [name, value] : wanted.metadata.labels) live.metadata.labels[name] = value;
    });
    client::WriteOptions status;
    status.subresource = "status";
    co_await nodes.modify(key, [&](KubeNode& live) { live.status = wanted.status; }, status);
  }
  // What pods left that were deleted while nobody was here.
  const auto pods_there = co_await client.of<Pod>().list();
  std::set<std::string> known_pods;
  for (const auto& pod : pods_there.items) known_pods.insert(pod.metadata.uid);
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(options_.machine.state / "pods", ignored)) {
    const auto uid = entry.path().filename().string();
    if (!known_pods.contains(uid)) remove_pod_files(options_.machine.state / "pods", uid);
  }
  client::ListOptions ours;
  ours.label_selector = fmt::format("{}=true", kOurs);
  const auto known = co_await nodes.list(ours);
  for (const auto& node : known.items) {
    if (std::ranges::find(options_.names, node.metadata.name) != options_.names.end()) continue;
    log::info("a node of an earlier start is gone, and its pods with it", {{"node", node.metadata.name}});
    const auto pods = client.of<Pod>();
    client::ListOptions there;
    there.field_selector = "spec.nodeName=" + node.metadata.name;
    const auto lost = co_await pods.list(there);
    for (const auto& pod : lost.items) {
      client::DeleteOptions now;
      now.grace_period_seconds = 0;
      now.uid = pod.metadata.uid;
      co_await pods.remove(api::key_of(pod), now);
    }
    co_await nodes.remove(api::key_of(node));
  }
}

std::vector<runtime::ControllerSpec> Node::controllers() {
  runtime::ControllerOptions options;
  options.name = "node";
  options.workers = 16;
  options.resync = 0s;
  std::vector<runtime::ControllerSpec> out;
  out.push_back(runtime::controller<Pod>()
                    .with(options)
                    .when(runtime::Predicate())  // that it was bound is no change of its generation
                    .while_deleting()
                    .gone([this](const Key& key) { gone(key); })
                    .watches(changes_)
                    .watches<ConfigMap>(
                        [](const Pod& pod, const ConfigMap& map) { return waits(pod) || mounts_config_map(pod, map); })
                    .watches<Secret>(
                        [](const Pod& pod, const Secret& secret) { return waits(pod) || mounts_secret(pod, secret); })
                    .watches<PersistentVolumeClaim>([](const Pod& pod, const PersistentVolumeClaim& claim) {
                      return waits(pod) && mounts_claim(pod, claim);
                    })
                    .watches<PersistentVolume>([](const PersistentVolume&) { return std::vector<Key>(); })
                    .watches<Service>([this](const Service&) {
                      refresh();
                      return std::vector<Key>();
                    })
                    .watches<EndpointSlice>([this](const EndpointSlice&) {
                      refresh();
                      return std::vector<Key>();
                    })
                    .may<Pod>({"delete", "patch"})
                    .reconcile([this](Self self) { return reconcile(std::move(self)); }));
  return out;
}

void Node::refresh() {
  service_hosts_.clear();
  if (!std::exchange(refreshing_, true)) scope_.spawn(refresh_later());
}

Task<> Node::refresh_later() {
  co_await rt::sleep(kRefreshPause);
  refreshing_ = false;
  for (const auto& [key, run] : runs_) run->refresh();
}

std::string Node::take_address(const std::string& wanted) {
  const auto network = fmt::format("127.{}.", options_.network);
  if (wanted.starts_with(network) && addresses_.insert(wanted).second) return wanted;
  for (;;) {
    const auto number = next_address_++ % 60000;
    auto address = fmt::format("{}{}.{}", network, number / 250, number % 250 + 1);
    if (addresses_.insert(address).second) return address;
  }
}

std::filesystem::path Node::folder(const std::string& pod_uid, const std::string& container) const {
  return options_.machine.state / "pods" / pod_uid / "containers" / container;
}

PodHome Node::home_of(const Self& self, std::string ip) {
  auto& cluster = self.run().cluster();
  const Key& key = self.key();
  PodHome home;
  home.machine = &options_.machine;
  const auto index = std::ranges::find(options_.names, self->spec.nodeName) - options_.names.begin();
  home.facts.host_ip = address_of_node(static_cast<std::size_t>(index));
  home.facts.ip = self->spec.hostNetwork.value_or(false) ? home.facts.host_ip : std::move(ip);
  home.facts.allocatable = options_.capacity;
  home.sources.host_paths = options_.machine.host_paths;
  home.sources.objects.config_map = [&cluster, key](std::string_view name) {
    return cluster.cache.reader<ConfigMap>().get(Key(key.namespace_, std::string(name)));
  };
  home.sources.objects.secret = [&cluster, key](std::string_view name) {
    return cluster.cache.reader<Secret>().get(Key(key.namespace_, std::string(name)));
  };
  home.sources.claim = [&cluster, key](std::string_view name) -> std::optional<std::string> {
    const auto claim = cluster.cache.reader<PersistentVolumeClaim>().get(Key(key.namespace_, std::string(name)));
    if (!claim) throw Error(Code::NotFound, fmt::format("persistentvolumeclaim \"{}\" not found", name));
    if (claim->status.phase != "Bound") return std::nullopt;
    const auto volume = cluster.cache.reader<PersistentVolume>().get(Key("", claim->spec.volumeName));
    if (!volume) return std::nullopt;
    if (volume->spec.hostPath) return volume->spec.hostPath->path;
    if (volume->spec.local) return volume->spec.local->path;
    throw Error(Code::Unsupported, fmt::format("volume {} is no directory of this machine", volume->metadata.name));
  };
  const std::string account = self->spec.serviceAccountName.empty() ? "default" : self->spec.serviceAccountName;
  home.sources.token = [client = cluster.client, account, pod = PodRef(std::make_shared<Pod>(*self))](
                           TokenAsked asked) { return ask_token(client, account, pod, std::move(asked)); };
  home.service_variables = [&cluster, pod = std::make_shared<Pod>(*self)] {
    cache::Filter all;
    return service_variables(*pod, cluster.cache.reader<Service>().list(all));
  };
  home.hosts = [this, key] { return hosts_of(key); };
  home.changed = [this, key] { changes_->try_send(runtime::Request(key, "a container changed")); };
  home.event = [&cluster, reference = runtime::reference_to(*self)](bool warning, std::string reason,
                                                                    std::string message) {
    runtime::EventNote note;
    note.type = warning ? runtime::EventType::Warning : runtime::EventType::Normal;
    note.reason = std::move(reason);
    note.message = std::move(message);
    cluster.events.record(reference, std::move(note));
  };
  return home;
}

std::string Node::hosts_of(const Key& key) {
  const auto* run = find(key);
  if (run == nullptr || cluster_ == nullptr) return "";
  auto known = service_hosts_.find(key.namespace_);
  if (known == service_hosts_.end()) {
    const cache::Filter all;
    auto lines = service_hosts(key.namespace_, cluster_->cache.reader<Service>().list(all),
                               cluster_->cache.reader<EndpointSlice>().list(all));
    known = service_hosts_.emplace(key.namespace_, std::move(lines)).first;
  }
  return pod_hosts(run->pod(), run->facts(), known->second);
}

void Node::start(const Self& self) {
  auto ip = take_address(self->status.podIP);
  auto pod = std::make_shared<Pod>(*self);
  runs_[self.key()] = std::make_unique<PodRun>(std::move(pod), home_of(self, std::move(ip)));
}

Task<Next> Node::reconcile(Self self) {
  if (std::ranges::find(options_.names, self->spec.nodeName) == options_.names.end()) co_return Next::wait();
  cluster_ = &self.run().cluster();
  auto* run = find(self.key());
  if (run != nullptr && run->uid() != self->metadata.uid) {
    // Another pod of that name, which was deleted by force.
    gone(self.key());
    run = nullptr;
  }
  const bool deleting = self->metadata.deletionTimestamp.is_set();
  if (run == nullptr) {
    if (stopping_) co_return Next::wait();
    if (deleting) {
      co_await forget(self);
      co_return Next::wait();
    }
    if (is_over(*self)) co_return Next::wait();
    start(self);
    run = find(self.key());
  } else {
    run->update(std::make_shared<Pod>(*self));
  }
  if (deleting) run->stop(std::chrono::seconds(self->metadata.deletionGracePeriodSeconds.value_or(30)));
  co_await report(self, run);
  if (!deleting || !run->ended()) co_return Next::wait();
  release(self.key());
  co_await forget(self);
  co_return Next::wait();
}

// What the node knows is in the status. Conditions of others are theirs.
Task<> Node::report(Self self, const PodRun* run) {
  auto status = pod_status(*self, run->record(), self.run().now());
  std::erase_if(status.conditions, [](const PodCondition& condition) {
    return std::ranges::find(kOwnConditions, condition.type) == kOwnConditions.end();
  });
  const auto simulated = run->simulated();
  const auto told = self->metadata.annotations.find(std::string(kSimulated));
  if (!simulated.empty() && told == self->metadata.annotations.end()) {
    json::Value patch = json::Object{};
    patch["metadata"] = json::Object{};
    patch["metadata"]["annotations"] = json::Object{};
    patch["metadata"]["annotations"][std::string(kSimulated)] = fmt::format("{}", fmt::join(simulated, ","));
    co_await self.patch(*self, std::move(patch));
  }
  co_await self.set_status(std::move(status));
}

// Nothing of it runs any more: the API may forget it.
Task<> Node::forget(Self self) {
  client::DeleteOptions now;
  now.grace_period_seconds = 0;
  now.uid = self->metadata.uid;
  try {
    co_await self.live<Pod>().remove(self.key(), now);
  } catch (const Error& error) {
    if (error.code != Code::Conflict) throw;  // another one of that name
  }
}

void Node::release(const Key& key) {
  const auto found = runs_.find(key);
  if (found == runs_.end()) return;
  addresses_.erase(found->second->facts().ip);
  remove_pod_files(options_.machine.state / "pods", found->second->uid());
  runs_.erase(found);
}

void Node::gone(const Key& key) {
  const auto found = runs_.find(key);
  if (found == runs_.end()) return;
  auto run = std::move(found->second);
  runs_.erase(found);
  run->stop(0s);
  scope_.spawn(bury(std::move(run)));
}

Task<> Node::bury(std::unique_ptr<PodRun> run) {
  co_await run->wait_ended();
  addresses_.erase(run->facts().ip);
  remove_pod_files(options_.machine.state / "pods", run->uid());
}

Task<> Node::stop(std::chrono::seconds grace) {
  stopping_ = true;
  std::vector<Task<>> ends;
  for (const auto& [key, run] : runs_) {
    const auto own = std::chrono::seconds(run->pod().spec.terminationGracePeriodSeconds.value_or(30));
    run->stop(std::min(grace, own));
    ends.push_back(run->wait_ended());
  }
  co_await rt::all(std::move(ends));
}

}  // namespace kopper::workloads
