#include "inputs.h"

#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "desired.h"
#include "validate.h"

namespace redis {

namespace {

using kopper::StatefulSet;
using kopper::Task;
using Self = kopper::Context<RedisCluster>;

constexpr std::string_view kPlanAnnotation = "redis.middleware.hc.cn/slot-plan";

std::string label(const kopper::ObjectMeta& metadata, std::string_view name) {
  const auto found = metadata.labels.find(std::string(name));
  return found == metadata.labels.end() ? std::string() : found->second;
}

bool is_up_to_date(const StatefulSet& set) { return set.status.observedGeneration >= set.metadata.generation; }

std::vector<Planned> plan_of(const StatefulSet& set) {
  std::vector<Planned> out;
  const auto found = set.metadata.annotations.find(std::string(kPlanAnnotation));
  if (found == set.metadata.annotations.end()) return out;
  // "id=0-99 200;id=300"
  std::string_view text = found->second;
  while (!text.empty()) {
    const auto end = text.find(';');
    const auto part = text.substr(0, end);
    text = end == text.npos ? std::string_view() : text.substr(end + 1);
    const auto equals = part.find('=');
    const auto slots = equals == part.npos ? std::nullopt : SlotSet::parse(part.substr(equals + 1));
    if (slots) out.push_back({std::string(part.substr(0, equals)), *slots});
  }
  return out;
}

kopper::Error missing(std::string field, std::string_view kind, std::string_view name) {
  kopper::Error error(kopper::Code::NotFound, fmt::format("{}: there is no {} {}", field, kind, name));
  error.reason = fmt::format("{}Missing", kind);
  return error;
}

}  // namespace

Task<Read> read_inputs(Self self) {
  Read out;
  out.at = kopper::rt::Loop::current().now();
  const auto& spec = self->spec;
  const auto& ns = self->metadata.namespace_;
  if (const auto& name = spec.pod.front().configmap; !name.empty()) {
    const auto found = co_await self.live<kopper::ConfigMap>().find(kopper::Key(ns, name));
    if (!found) throw missing("spec.pod[0].configmap", "ConfigMap", name);
    out.settings = settings_of(*found);
  }
  if (spec.auth) {
    const auto found = co_await self.live<kopper::Secret>().find(kopper::Key(ns, spec.auth->secretName));
    if (!found) throw missing("spec.auth.secretName", "Secret", spec.auth->secretName);
    out.passwords.wanted = password_of(*found);
    if (out.passwords.wanted.empty())
      throw missing("spec.auth.secretName", "password in Secret", spec.auth->secretName);
  }
  if (spec.tls) {
    const auto found = co_await self.live<kopper::Secret>().find(kopper::Key(ns, spec.tls->secretName));
    if (!found) throw missing("spec.tls.secretName", "Secret", spec.tls->secretName);
    const auto ca = found->data.find("ca.crt");
    if (ca == found->data.end()) throw missing("spec.tls.secretName", "ca.crt in Secret", spec.tls->secretName);
    out.ca = ca->second.data;
  }
  const auto rendered = co_await self.live<kopper::Secret>().find(kopper::Key(ns, auth_name(*self)));
  out.rendered = rendered.has_value();
  out.passwords.used = rendered ? password_of(*rendered) : out.passwords.wanted;
  if (rendered) out.passwords.previous = previous_of(*rendered);
  co_return out;
}

Access access_of(const RedisCluster& cluster, const Read& read) {
  Access out;
  out.passwords = read.passwords.known();
  if (cluster.spec.tls) {
    kopper::rt::TlsClientOptions options;
    options.ca_pem = read.ca;
    out.tls = kopper::rt::TlsContext::client(options);
    out.tls_version = kopper::fingerprint(read.ca);
    out.tls_name = fmt::format("{}.{}.svc.cluster.local", cluster.metadata.name, cluster.metadata.namespace_);
  }
  return out;
}

std::optional<int> ordinal_of(std::string_view pod, std::string_view set) {
  if (!pod.starts_with(set) || pod.size() <= set.size() + 1 || pod[set.size()] != '-') return std::nullopt;
  pod.remove_prefix(set.size() + 1);
  int out = 0;
  const auto [stop, error] = std::from_chars(pod.data(), pod.data() + pod.size(), out);
  if (error != std::errc() || stop != pod.data() + pod.size()) return std::nullopt;
  return out;
}

std::vector<PodFacts> facts_of(const Self& self, const StatefulSet& set) {
  std::vector<PodFacts> out;
  kopper::Labels labels{{"app", self->metadata.name}};
  for (const auto& pod : self.list<kopper::Pod>(labels)) {
    const auto ordinal = ordinal_of(pod->metadata.name, set.metadata.name);
    if (!ordinal || !kopper::api::is_controlled_by(pod->metadata, set.metadata.uid)) continue;
    PodFacts facts;
    facts.name = pod->metadata.name;
    facts.ordinal = *ordinal;
    facts.address = pod->status.podIP;
    facts.host = pod->spec.nodeName;
    facts.host_address = pod->status.hostIP;
    if (const auto node = self.find<kopper::api::corev1::Node>(kopper::Key("", facts.host))) {
      facts.zone = label(node->metadata, "topology.kubernetes.io/zone");
    }
    facts.ready = kopper::api::is_ready(*pod);
    facts.terminating = pod->metadata.deletionTimestamp.is_set();
    // An older revision that the controller did not look at yet says nothing.
    facts.outdated = is_up_to_date(set) && !set.status.updateRevision.empty() &&
                     label(pod->metadata, "controller-revision-hash") != set.status.updateRevision;
    out.push_back(std::move(facts));
  }
  return out;
}

Wanted wanted_of(const RedisCluster& cluster, const StatefulSet* set) {
  const auto& spec = cluster.spec;
  Wanted out;
  out.replicas = spec.replicas;
  out.replicas_each = spec.replicasPerMaster;
  out.pods = set == nullptr ? 0 : set->spec.replicas.value_or(0);
  out.assigns = spec.updateStrategy.type == "AssignReceive";
  for (const auto& strategy : spec.updateStrategy.assignStrategies) {
    out.assignments.push_back({static_cast<std::size_t>(strategy.slots), ids_of(strategy.fromReplicas)});
  }
  if (set != nullptr) out.plan = plan_of(*set);
  out.accept_loss = spec.dataLossPolicy == "AcceptLoss";
  const auto& update = spec.pod.front().updateStrategy;
  out.rolls = update.type != "OnDelete";
  if (update.rollingUpdate) out.partition = update.rollingUpdate->partition.value_or(0);
  const auto& phase = cluster.status.phase;
  out.was_running = !phase.empty() && phase != "Creating" && phase != "None";
  out.was_upgrading = phase == "Upgrading";
  return out;
}

kopper::json::Value plan_patch(const std::vector<Planned>& plan) {
  std::string text;
  for (const auto& part : plan) text += fmt::format("{}{}={}", text.empty() ? "" : ";", part.to, part.slots.str());
  kopper::json::Value patch;
  auto& annotation = patch["metadata"]["annotations"][std::string(kPlanAnnotation)];
  if (!plan.empty()) annotation = std::move(text);
  return patch;
}

}  // namespace redis
