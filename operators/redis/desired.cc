#include "desired.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "kopper/json/value.h"
#include "kopper/runtime/run.h"

#include "image.h"

namespace redis {

namespace {

namespace corev1 = kopper::api::corev1;

constexpr const char* kSettingsAnnotation = "redis.middleware.hc.cn/settings";
constexpr const char* kSettingsFolder = "/etc/redis";
constexpr const char* kAuthFolder = "/etc/redis-auth";
constexpr const char* kTlsFolder = "/etc/redis-tls";
constexpr const char* kDataFolder = "/data";

// ---- redis.conf

Setting line(std::string name, std::string word) { return {.name = std::move(name), .words = {std::move(word)}}; }

std::vector<Setting> defaults(const RedisClusterSpec& spec) {
  std::vector<Setting> out = {
      line("appendonly", "yes"),
      // How long a master may be silent before its replica takes over.
      line("cluster-node-timeout", "5000"),
      // Slots without a master are no reason to refuse the others.
      line("cluster-require-full-coverage", "no"),
      // A new replica has little use for data of a minute ago on a slow disk; and with one replica, nobody else to
      // wait for.
      line("repl-diskless-sync", "yes"),
      line("repl-diskless-sync-delay", spec.replicasPerMaster == 1 ? "0" : "1"),
      // Enough for a short absence: the replica then needs no full copy.
      line("repl-backlog-size", "16mb"),
      line("tcp-keepalive", "60"),
  };
  // A Redis that refuses writes is better than one that the kernel kills; forks and buffers need the rest.
  const auto& limits = spec.pod.at(0).resources.limits;
  if (const auto memory = limits.find("memory"); memory != limits.end() && memory->second.value() > 0) {
    out.push_back(line("maxmemory", std::to_string(memory->second.value() / 4 * 3)));
  }
  if (spec.tls) out.push_back(line("tls-auth-clients", "optional"));
  return out;
}

std::vector<Setting> must(const RedisClusterSpec& spec) {
  std::vector<Setting> out = {
      line("cluster-enabled", "yes"), line("cluster-config-file", "nodes.conf"),
      line("dir", kDataFolder),       line("protected-mode", "no"),
      line("daemonize", "no"),
  };
  const auto port = std::to_string(kPort);
  out.push_back(line("port", spec.tls ? "0" : port));
  if (spec.tls) {
    const std::string folder = kTlsFolder;
    out.push_back(line("tls-port", port));
    out.push_back(line("tls-cluster", "yes"));
    out.push_back(line("tls-replication", "yes"));
    out.push_back(line("tls-cert-file", folder + "/tls.crt"));
    out.push_back(line("tls-key-file", folder + "/tls.key"));
    out.push_back(line("tls-ca-cert-file", folder + "/ca.crt"));
  }
  out.push_back(line("include", fmt::format("{}/auth.conf", kAuthFolder)));
  return out;
}

// Others must find a node where the operator looks for it, and passwords are for the Secret.
const std::vector<std::string_view>& reserved() {
  static const std::vector<std::string_view> names = {"requirepass",
                                                      "masterauth",
                                                      "masteruser",
                                                      "bind",
                                                      "cluster-announce-ip",
                                                      "cluster-announce-port",
                                                      "cluster-announce-bus-port",
                                                      "cluster-announce-tls-port",
                                                      "cluster-port",
                                                      "tls-port",
                                                      "tls-cluster",
                                                      "tls-replication",
                                                      "tls-cert-file",
                                                      "tls-key-file",
                                                      "tls-ca-cert-file",
                                                      "logfile",
                                                      "replicaof",
                                                      "slaveof",
                                                      "pidfile",
                                                      "supervised"};
  return names;
}

// ---- what runs in the pods

// `redis-cli` to the Redis of this pod, with the password and certificates that it has now.
std::string client(const RedisClusterSpec& spec) {
  std::string command = fmt::format("redis-cli -h \"$PODIP\" -p {}", kPort);
  if (spec.tls) {
    command += fmt::format(" --tls --cacert {0}/ca.crt --cert {0}/tls.crt --key {0}/tls.key", kTlsFolder);
  }
  return fmt::format(R"(if [ -s {0}/password ]; then REDISCLI_AUTH=$(cat {0}/password); export REDISCLI_AUTH; fi
cli() {{ {1} "$@" 2>&1; }}
)",
                     kAuthFolder, command);
}

// While a password is being changed, the file and Redis may differ: a Redis that asks for one is well.
std::string ready_script(const RedisClusterSpec& spec) {
  return client(spec) + R"(answer=$(cli ping)
case $answer in *PONG* | *NOAUTH* | *WRONGPASS*) exit 0 ;; esac
echo "$answer"
exit 1
)";
}

// Whoever answers is alive, also when it is loading, or busy with a script.
std::string alive_script(const RedisClusterSpec& spec) {
  return client(spec) + R"(answer=$(cli ping)
case $answer in *PONG* | *LOADING* | *BUSY* | *MASTERDOWN* | *NOAUTH* | *WRONGPASS*) exit 0 ;; esac
echo "$answer"
exit 1
)";
}

// The operator makes a replica the master when it sees that this pod goes: wait for that, 5 seconds at most.
std::string stop_script(const RedisClusterSpec& spec) {
  return "set -f\n" + client(spec) + R"(tries=0
while [ $tries -lt 25 ]; do
  set -- $(cli role)
  [ "$1" = master ] || exit 0
  owns=$(cli cluster nodes | while read -r line; do
    case $line in *myself*) set -- $line; [ $# -gt 8 ] && echo yes ;; esac
  done)
  [ -n "$owns" ] || exit 0
  tries=$((tries + 1))
  sleep 0.2
done
)";
}

corev1::Probe probe(const std::string& script, std::int32_t period, std::int32_t failures) {
  corev1::Probe out;
  out.exec.emplace().command = {"sh", "-c", script};
  out.periodSeconds = period;
  out.timeoutSeconds = 5;
  out.failureThreshold = failures;
  return out;
}

kopper::EnvVar from_pod(std::string name, std::string path) {
  kopper::EnvVar out;
  out.name = std::move(name);
  out.valueFrom.emplace().fieldRef.emplace().fieldPath = std::move(path);
  return out;
}

std::vector<kopper::EnvVar> variables(const PodSettings& pod) {
  std::vector<kopper::EnvVar> out = {from_pod("POD_NAME", "metadata.name"), from_pod("NAMESPACE", "metadata.namespace"),
                                     from_pod("PODIP", "status.podIP")};
  out.insert(out.end(), pod.env.begin(), pod.env.end());
  return out;
}

// All pods share what the user names: each has a folder of its own there.
bool is_shared(const RedisClusterSpec& spec) { return !spec.storage && spec.pod.at(0).volumes.has_value(); }

std::vector<kopper::VolumeMount> mounts(const RedisClusterSpec& spec) {
  kopper::VolumeMount data{.name = "data", .mountPath = kDataFolder};
  if (is_shared(spec)) data.subPathExpr = "$(POD_NAME)";
  std::vector<kopper::VolumeMount> out = {
      data,
      {.name = "settings", .readOnly = true, .mountPath = kSettingsFolder},
      {.name = "auth", .readOnly = true, .mountPath = kAuthFolder},
  };
  if (spec.tls) out.push_back({.name = "tls", .readOnly = true, .mountPath = kTlsFolder});
  return out;
}

kopper::Container redis_container(const RedisClusterSpec& spec) {
  const auto& pod = spec.pod.at(0);
  kopper::Container out;
  out.name = "redis-cluster";
  out.image = image_of(spec.repository, pod.middlewareImage, spec.version);
  // Arguments, not a command: the image's own start script makes the data folder writable and drops root.
  out.args = {"redis-server", fmt::format("{}/redis.conf", kSettingsFolder), "--cluster-announce-ip", "$(PODIP)"};
  out.workingDir = kDataFolder;
  out.ports = {{.name = "redis", .containerPort = kPort}, {.name = "bus", .containerPort = kBusPort}};
  out.env = variables(pod);
  out.resources = pod.resources;
  out.volumeMounts = mounts(spec);
  out.startupProbe = probe(alive_script(spec), 1, 120);
  out.readinessProbe = probe(ready_script(spec), 5, 3);
  out.livenessProbe = probe(alive_script(spec), 10, 6);
  out.lifecycle.emplace().preStop.emplace().exec.emplace().command = {"sh", "-c", stop_script(spec)};
  return out;
}

std::string exporter_address(const RedisClusterSpec& spec) {
  return fmt::format("{}://localhost:{}", spec.tls ? "rediss" : "redis", kPort);
}

kopper::Container exporter(const RedisClusterSpec& spec) {
  kopper::Container out;
  out.name = "redis-exporter";
  out.image = image_of(spec.repository, spec.pod.at(0).monitorImage, "");
  out.ports = {{.name = "redis-exporter", .containerPort = kExporterPort}};
  out.env = {{.name = "REDIS_ADDR", .value = exporter_address(spec)},
             {.name = "REDIS_ALIAS", .value = "redis-cluster"},
             {.name = "REDIS_EXPORTER_WEB_LISTEN_ADDRESS", .value = fmt::format(":{}", kExporterPort)},
             {.name = "REDIS_PASSWORD_FILE", .value = fmt::format("{}/exporter.json", kAuthFolder)}};
  out.volumeMounts = {{.name = "auth", .readOnly = true, .mountPath = kAuthFolder}};
  if (spec.tls) {
    const std::string folder = kTlsFolder;
    // The certificate is for the names of the pods, not for localhost.
    out.env.push_back({.name = "REDIS_EXPORTER_SKIP_TLS_VERIFICATION", .value = "true"});
    out.env.push_back({.name = "REDIS_EXPORTER_TLS_CA_CERT_FILE", .value = folder + "/ca.crt"});
    out.env.push_back({.name = "REDIS_EXPORTER_TLS_CLIENT_CERT_FILE", .value = folder + "/tls.crt"});
    out.env.push_back({.name = "REDIS_EXPORTER_TLS_CLIENT_KEY_FILE", .value = folder + "/tls.key"});
    out.volumeMounts.push_back({.name = "tls", .readOnly = true, .mountPath = kTlsFolder});
  }
  return out;
}

kopper::Container init(const RedisCluster& cluster) {
  const auto& pod = cluster.spec.pod.at(0);
  kopper::Container out;
  out.name = cluster.metadata.name + "-init";
  out.image = image_of(cluster.spec.repository, pod.initImage, "");
  out.env = variables(pod);
  out.volumeMounts = mounts(cluster.spec);
  return out;
}

std::vector<kopper::Volume> volumes(const RedisCluster& cluster) {
  const auto& spec = cluster.spec;
  std::vector<kopper::Volume> out;
  const auto add = [&](std::string name) -> kopper::Volume& {
    out.emplace_back().name = std::move(name);
    return out.back();
  };
  add("settings").configMap.emplace().name = settings_name(cluster);
  add("auth").secret.emplace().secretName = auth_name(cluster);
  if (spec.tls) add("tls").secret.emplace().secretName = spec.tls->secretName;
  if (spec.storage) return out;
  auto& data = add("data");
  const auto& shared = spec.pod.at(0).volumes;
  if (!shared) {
    data.emptyDir.emplace();
  } else if (shared->type == "nfs") {
    data.persistentVolumeClaim.emplace().claimName = shared->persistentVolumeClaimName;
  } else {
    auto& path = data.hostPath.emplace();
    path.path = fmt::format("/var/lib/redis-cluster/{}/{}", cluster.metadata.namespace_, cluster.metadata.name);
    path.type = "DirectoryOrCreate";
  }
  return out;
}

corev1::Affinity spread(const RedisCluster& cluster) {
  corev1::Affinity out;
  auto& terms = out.podAntiAffinity.emplace().preferredDuringSchedulingIgnoredDuringExecution;
  const auto add = [&](std::int32_t weight, std::string key) {
    auto& term = terms.emplace_back();
    term.weight = weight;
    term.podAffinityTerm.topologyKey = std::move(key);
    term.podAffinityTerm.labelSelector.emplace().matchLabels = labels_of(cluster);
  };
  add(100, "kubernetes.io/hostname");
  add(50, "topology.kubernetes.io/zone");
  return out;
}

std::vector<kopper::PersistentVolumeClaim> claims(const RedisCluster& cluster, const Inputs& inputs) {
  const auto& storage = cluster.spec.storage;
  if (!storage) return {};
  kopper::PersistentVolumeClaim out;
  out.metadata.name = "data";
  out.metadata.labels = labels_of(cluster);
  out.spec.accessModes = {"ReadWriteOnce"};
  out.spec.resources.requests["storage"] = inputs.claim_size.value_or(storage->size);
  if (!storage->storageClassName.empty()) out.spec.storageClassName = storage->storageClassName;
  return {std::move(out)};
}

kopper::StatefulSet stateful_set(const RedisCluster& cluster, const Inputs& inputs,
                                 const std::vector<Setting>& settings) {
  const auto& spec = cluster.spec;
  const auto& pod = spec.pod.at(0);
  kopper::StatefulSet out;
  out.metadata.name = cluster.metadata.name;
  out.metadata.labels = labels_of(cluster);
  out.spec.replicas = inputs.pods;
  out.spec.selector.matchLabels = labels_of(cluster);
  out.spec.serviceName = cluster.metadata.name;
  out.spec.podManagementPolicy = "Parallel";
  // Which pod goes next depends on who is master: the operator replaces them.
  out.spec.updateStrategy.type = "OnDelete";
  out.spec.revisionHistoryLimit = 10;
  out.spec.volumeClaimTemplates = claims(cluster, inputs);

  auto& metadata = out.spec.template_.metadata;
  metadata.labels = pod.labels;
  for (const auto& [key, value] : labels_of(cluster)) metadata.labels[key] = value;
  metadata.annotations = pod.annotations;
  std::vector<Setting> at_start;
  std::ranges::copy_if(settings, std::back_inserter(at_start), [](const Setting& s) { return needs_restart(s.name); });
  metadata.annotations[kSettingsAnnotation] = kopper::runtime::fingerprint(text_of(at_start));

  auto& body = out.spec.template_.spec;
  if (!pod.initImage.empty()) body.initContainers.push_back(init(cluster));
  body.containers.push_back(redis_container(spec));
  if (has_exporter(spec)) body.containers.push_back(exporter(spec));
  body.volumes = volumes(cluster);
  body.affinity = pod.affinity ? *pod.affinity : spread(cluster);
  body.terminationGracePeriodSeconds = 30;
  body.automountServiceAccountToken = false;
  return out;
}

kopper::Service service(const RedisCluster& cluster) {
  kopper::Service out;
  out.metadata.name = cluster.metadata.name;
  out.metadata.labels = labels_of(cluster);
  out.spec.clusterIP = "None";
  out.spec.selector = labels_of(cluster);
  // Nodes must find each other before they are ready.
  out.spec.publishNotReadyAddresses = true;
  const auto add = [&](std::string name, std::uint16_t port) {
    auto& added = out.spec.ports.emplace_back();
    added.name = std::move(name);
    added.protocol = "TCP";
    added.port = port;
    added.targetPort = kopper::IntOrString(static_cast<int>(port));
  };
  add(cluster.metadata.name, kPort);
  add("bus", kBusPort);
  if (has_exporter(cluster.spec)) add("redis-exporter", kExporterPort);
  return out;
}

kopper::Secret auth(const RedisCluster& cluster, const std::string& password, const std::string& previous) {
  kopper::Secret out;
  out.metadata.name = auth_name(cluster);
  out.metadata.labels = labels_of(cluster);
  std::vector<Setting> lines;
  kopper::json::Object addresses;
  if (!password.empty()) {
    // With a name, a replica also gets in where no password is asked for yet, or any more.
    lines = {line("masteruser", "default"), line("masterauth", password), line("requirepass", password)};
    addresses[exporter_address(cluster.spec)] = password;
  }
  out.data["auth.conf"] = kopper::Bytes{text_of(lines)};
  out.data["password"] = kopper::Bytes{password};
  if (!previous.empty()) out.data["previous"] = kopper::Bytes{previous};
  out.data["exporter.json"] = kopper::Bytes{kopper::json::dump(std::move(addresses))};
  return out;
}

}  // namespace

Desired desired(const RedisCluster& cluster, const Inputs& inputs) {
  auto parsed = parse_settings(inputs.settings);
  Desired out;
  out.wanted = merge(defaults(cluster.spec), parsed.settings, must(cluster.spec), reserved()).settings;
  for (const auto& name : inputs.refused) {
    const auto gone = std::erase_if(parsed.settings, [&](const Setting& setting) { return setting.name == name; });
    if (gone > 0) parsed.problems.push_back(name + " is refused by Redis");
  }
  auto merged = merge(defaults(cluster.spec), parsed.settings, must(cluster.spec), reserved());
  out.service = service(cluster);
  out.settings.metadata.name = settings_name(cluster);
  out.settings.metadata.labels = labels_of(cluster);
  out.settings.data["redis.conf"] = text_of(merged.settings);
  out.auth = auth(cluster, inputs.password, inputs.previous);
  out.set = stateful_set(cluster, inputs, merged.settings);
  if (cluster.spec.podDisruptionBudget) {
    auto& budget = out.budget.emplace();
    budget.metadata.name = cluster.metadata.name;
    budget.metadata.labels = labels_of(cluster);
    budget.spec.maxUnavailable = kopper::IntOrString(1);
    budget.spec.selector.emplace().matchLabels = labels_of(cluster);
  }
  out.ignored = std::move(parsed.problems);
  out.ignored.insert(out.ignored.end(), merged.ignored.begin(), merged.ignored.end());
  return out;
}

kopper::Labels labels_of(const RedisCluster& cluster) { return {{"app", cluster.metadata.name}}; }
std::string settings_name(const RedisCluster& cluster) { return cluster.metadata.name + "-redis"; }
std::string auth_name(const RedisCluster& cluster) { return cluster.metadata.name + "-auth"; }
std::string pod_name(const RedisCluster& cluster, int ordinal) {
  return fmt::format("{}-{}", cluster.metadata.name, ordinal);
}
std::string claim_name(const RedisCluster& cluster, int ordinal) { return "data-" + pod_name(cluster, ordinal); }
std::string domain_name(const RedisCluster& cluster, std::string_view pod) {
  return fmt::format("{}.{}.{}.svc.cluster.local", pod, cluster.metadata.name, cluster.metadata.namespace_);
}

bool has_exporter(const RedisClusterSpec& spec) {
  return !spec.pod.at(0).monitorImage.empty() && spec.exporter.value_or(true);
}

std::string settings_of(const kopper::ConfigMap& map) {
  const auto found = map.data.find("redis.conf");
  return found == map.data.end() ? "" : found->second;
}

namespace {

std::string value_of(const kopper::Secret& secret, const std::string& key) {
  const auto found = secret.data.find(key);
  if (found == secret.data.end()) return "";
  auto out = found->second.data;
  while (out.ends_with('\n') || out.ends_with('\r')) out.pop_back();
  return out;
}

}  // namespace

std::string password_of(const kopper::Secret& secret) { return value_of(secret, "password"); }
std::string previous_of(const kopper::Secret& secret) { return value_of(secret, "previous"); }

}  // namespace redis
