#include "pods/pods.h"

#include <array>
#include <random>
#include <string_view>

#include <fmt/format.h>

#include "kopper/json/value.h"

namespace kopper::bench {
namespace {

using json::Array;
using json::Object;
using json::Value;

constexpr std::array<std::string_view, 10> kApps{"checkout", "payments", "catalog", "frontend", "search",
                                                 "auth",     "orders",   "billing", "gateway",  "worker"};
constexpr std::array<std::string_view, 7> kEnv{"LOG_LEVEL",     "DB_HOST",   "DB_PORT",   "REGION",
                                               "FEATURE_FLAGS", "CACHE_URL", "TIMEOUT_MS"};

class Generator {
 public:
  std::string pod() {
    app_ = kApps[below(kApps.size())];
    deployment_ = fmt::format("{}-api", app_);
    hash_ = text(10);
    owner_ = uid();
    time_ = fmt::format("2024-{:02}-{:02}T{:02}:{:02}:{:02}Z", 1 + below(12), 1 + below(28), below(24), below(60),
                        below(60));
    containers_ = {std::string(app_)};
    if (below(4) == 0) containers_.emplace_back("istio-proxy");
    env_ = 2 + below(kEnv.size() - 2);
    version_ = fmt::format("v1.{}.{}", below(40), below(10));
    ip_ = fmt::format("10.{}.{}.{}", below(256), below(256), 1 + below(254));
    return json::dump(Object{{"metadata", metadata()}, {"spec", spec()}, {"status", status()}});
  }

 private:
  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  std::string text(std::size_t size) {
    std::string out;
    while (out.size() < size) out += "bcdfghjklmnpqrstvwxz2456789"[below(27)];
    return out;
  }
  std::string hex(std::size_t size) {
    std::string out;
    while (out.size() < size) out += fmt::format("{:016x}", random_());
    return out.substr(0, size);
  }
  std::string uid() { return fmt::format("{}-{}-4{}-8{}-{}", hex(8), hex(4), hex(3), hex(3), hex(12)); }

  Value metadata() {
    return Object{{"name", fmt::format("{}-{}-{}", deployment_, hash_, text(5))},
                  {"generateName", fmt::format("{}-{}-", deployment_, hash_)},
                  {"namespace", fmt::format("prod-{}", below(20))},
                  {"uid", uid()},
                  {"resourceVersion", std::to_string(100'000'000 + below(90'000'000))},
                  {"creationTimestamp", time_},
                  {"labels", Object{{"app", app_},
                                    {"app.kubernetes.io/instance", deployment_},
                                    {"app.kubernetes.io/name", app_},
                                    {"app.kubernetes.io/version", version_},
                                    {"pod-template-hash", hash_},
                                    {"team", fmt::format("team-{}", below(12))}}},
                  {"annotations", Object{{"checksum/config", hex(64)},
                                         {"prometheus.io/port", "8080"},
                                         {"prometheus.io/scrape", "true"},
                                         {"description", "say \"hi\" é path C:\\x\n"}}},
                  {"ownerReferences", Array{Object{{"apiVersion", "apps/v1"},
                                                   {"kind", "ReplicaSet"},
                                                   {"name", fmt::format("{}-{}", deployment_, hash_)},
                                                   {"uid", owner_},
                                                   {"controller", true},
                                                   {"blockOwnerDeletion", true}}}},
                  {"managedFields",
                   Array{managed("kube-controller-manager", spec_fields()), managed("kubelet", status_fields())}}};
  }

  Value managed(std::string_view manager, Value fields) {
    return Object{{"manager", manager}, {"operation", "Update"},    {"apiVersion", "v1"},
                  {"time", time_},      {"fieldsType", "FieldsV1"}, {"fieldsV1", std::move(fields)}};
  }

  // {".":{},"f:a":{},"f:b":{}}
  static Object fields(std::initializer_list<std::string_view> names) {
    Object out{{".", Object{}}};
    for (const auto name : names) out["f:" + std::string(name)] = Object{};
    return out;
  }
  static std::string key(std::string_view name, std::string_view value) {
    return fmt::format(R"(k:{{"{}":"{}"}})", name, value);
  }

  Value spec_fields() {
    Object containers;
    for (const auto& name : containers_) containers[key("name", name)] = container_fields();
    return Object{
        {"f:metadata",
         Object{{"f:annotations", fields({"prometheus.io/port", "prometheus.io/scrape", "checksum/config"})},
                {"f:generateName", Object{}},
                {"f:labels", fields({"app", "app.kubernetes.io/instance", "app.kubernetes.io/name",
                                     "app.kubernetes.io/version", "pod-template-hash", "team"})},
                {"f:ownerReferences", Object{{".", Object{}}, {key("uid", owner_), Object{}}}}}},
        {"f:spec",
         Object{
             {"f:affinity", Object{{".", Object{}},
                                   {"f:podAntiAffinity", fields({"preferredDuringSchedulingIgnoredDuringExecution"})}}},
             {"f:containers", std::move(containers)},
             {"f:dnsPolicy", Object{}},
             {"f:enableServiceLinks", Object{}},
             {"f:restartPolicy", Object{}},
             {"f:schedulerName", Object{}},
             {"f:securityContext", fields({"fsGroup", "runAsUser"})},
             {"f:serviceAccount", Object{}},
             {"f:serviceAccountName", Object{}},
             {"f:terminationGracePeriodSeconds", Object{}},
             {"f:volumes",
              Object{{".", Object{}},
                     {key("name", "config"),
                      Object{{".", Object{}}, {"f:configMap", fields({"defaultMode", "name"})}, {"f:name", Object{}}}},
                     {key("name", "tmp"), fields({"emptyDir", "name"})}}}}}};
  }

  Value container_fields() {
    Object env{{".", Object{}}};
    for (std::size_t i = 0; i < env_; ++i) env[key("name", kEnv[i])] = fields({"name", "value"});
    const Object amounts{
        {".", Object{}}, {"f:limits", fields({"cpu", "memory"})}, {"f:requests", fields({"cpu", "memory"})}};
    return Object{
        {".", Object{}},
        {"f:env", std::move(env)},
        {"f:image", Object{}},
        {"f:imagePullPolicy", Object{}},
        {"f:livenessProbe", Object{{".", Object{}},
                                   {"f:failureThreshold", Object{}},
                                   {"f:httpGet", fields({"path", "port", "scheme"})},
                                   {"f:periodSeconds", Object{}},
                                   {"f:successThreshold", Object{}},
                                   {"f:timeoutSeconds", Object{}}}},
        {"f:name", Object{}},
        {"f:ports",
         Object{{".", Object{}},
                {R"(k:{"containerPort":8080,"protocol":"TCP"})", fields({"containerPort", "name", "protocol"})}}},
        {"f:resources", amounts},
        {"f:terminationMessagePath", Object{}},
        {"f:terminationMessagePolicy", Object{}},
        {"f:volumeMounts",
         Object{{".", Object{}}, {key("mountPath", "/etc/config"), fields({"mountPath", "name", "readOnly"})}}}};
  }

  Value status_fields() {
    Object conditions;
    for (const auto type : {"ContainersReady", "Initialized", "Ready"}) {
      conditions[key("type", type)] = fields({"lastProbeTime", "lastTransitionTime", "status", "type"});
    }
    return Object{{"f:status", Object{{"f:conditions", std::move(conditions)},
                                      {"f:containerStatuses", Object{}},
                                      {"f:hostIP", Object{}},
                                      {"f:phase", Object{}},
                                      {"f:podIP", Object{}},
                                      {"f:podIPs", Object{{".", Object{}}, {key("ip", ip_), fields({"ip"})}}},
                                      {"f:startTime", Object{}}}}};
  }

  Value container(const std::string& name) {
    Array env;
    for (std::size_t i = 0; i < env_; ++i) {
      env.push_back(
          Object{{"name", kEnv[i]}, {"value", fmt::format("{}-{}.svc.cluster.local:{}", app_, i, 1000 + below(9000))}});
    }
    env.push_back(
        Object{{"name", "MY_POD_NAME"},
               {"valueFrom", Object{{"fieldRef", Object{{"apiVersion", "v1"}, {"fieldPath", "metadata.name"}}}}}});
    return Object{
        {"name", name},
        {"image", image(name)},
        {"args", Array{"--config=/etc/config/app.yaml", fmt::format("--v={}", below(5))}},
        {"ports", Array{Object{{"name", "http"}, {"containerPort", 8080}, {"protocol", "TCP"}}}},
        {"env", std::move(env)},
        {"resources", Object{{"limits", Object{{"cpu", "500m"}, {"memory", "512Mi"}}},
                             {"requests", Object{{"cpu", "100m"}, {"memory", "128Mi"}}}}},
        {"volumeMounts", Array{Object{{"name", "config"}, {"readOnly", true}, {"mountPath", "/etc/config"}},
                               Object{{"name", "kube-api-access-" + text(5)},
                                      {"readOnly", true},
                                      {"mountPath", "/var/run/secrets/kubernetes.io/serviceaccount"}}}},
        {"livenessProbe", Object{{"httpGet", Object{{"path", "/healthz"}, {"port", 8080}, {"scheme", "HTTP"}}},
                                 {"timeoutSeconds", 1},
                                 {"periodSeconds", 10},
                                 {"successThreshold", 1},
                                 {"failureThreshold", 3}}},
        {"terminationMessagePath", "/dev/termination-log"},
        {"terminationMessagePolicy", "File"},
        {"imagePullPolicy", "IfNotPresent"}};
  }

  std::string image(const std::string& name) {
    return fmt::format("registry.example.com/{}/{}:{}", app_, name, version_);
  }

  static Value toleration(std::string_view condition) {
    return Object{{"key", fmt::format("node.kubernetes.io/{}", condition)},
                  {"operator", "Exists"},
                  {"effect", "NoExecute"},
                  {"tolerationSeconds", 300}};
  }

  Value spec() {
    Array containers;
    for (const auto& name : containers_) containers.push_back(container(name));
    Value token = Object{{"serviceAccountToken", Object{{"expirationSeconds", 3607}, {"path", "token"}}}};
    Value root = Object{{"configMap", Object{{"name", "kube-root-ca.crt"},
                                             {"items", Array{Object{{"key", "ca.crt"}, {"path", "ca.crt"}}}}}}};
    Value projected = Object{{"sources", Array{std::move(token), std::move(root)}}, {"defaultMode", 420}};
    Value term = Object{{"labelSelector", Object{{"matchLabels", Object{{"app", app_}}}}},
                        {"topologyKey", "kubernetes.io/hostname"}};
    return Object{
        {"volumes", Array{Object{{"name", "config"},
                                 {"configMap", Object{{"name", deployment_ + "-config"}, {"defaultMode", 420}}}},
                          Object{{"name", "tmp"}, {"emptyDir", Object{}}},
                          Object{{"name", "kube-api-access-" + text(5)}, {"projected", std::move(projected)}}}},
        {"containers", std::move(containers)},
        {"restartPolicy", "Always"},
        {"terminationGracePeriodSeconds", 30},
        {"dnsPolicy", "ClusterFirst"},
        {"serviceAccountName", app_},
        {"serviceAccount", app_},
        {"nodeName", fmt::format("ip-10-0-{}-{}.internal", below(256), below(256))},
        {"securityContext", Object{{"runAsUser", 1000}, {"fsGroup", 2000}}},
        {"affinity",
         Object{{"podAntiAffinity", Object{{"preferredDuringSchedulingIgnoredDuringExecution",
                                            Array{Object{{"weight", 100}, {"podAffinityTerm", std::move(term)}}}}}}}},
        {"schedulerName", "default-scheduler"},
        {"tolerations", Array{toleration("not-ready"), toleration("unreachable")}},
        {"priority", 0},
        {"enableServiceLinks", true},
        {"preemptionPolicy", "PreemptLowerPriority"}};
  }

  Value status() {
    Array conditions;
    Array statuses;
    for (const auto type : {"Initialized", "Ready", "ContainersReady", "PodScheduled"}) {
      conditions.push_back(
          Object{{"type", type}, {"status", "True"}, {"lastProbeTime", nullptr}, {"lastTransitionTime", time_}});
    }
    for (const auto& name : containers_) {
      statuses.push_back(Object{{"name", name},
                                {"state", Object{{"running", Object{{"startedAt", time_}}}}},
                                {"lastState", Object{}},
                                {"ready", true},
                                {"restartCount", below(4)},
                                {"image", image(name)},
                                {"imageID", fmt::format("registry.example.com/{}/{}@sha256:{}", app_, name, hex(64))},
                                {"containerID", "containerd://" + hex(64)},
                                {"started", true}});
    }
    return Object{{"phase", "Running"},
                  {"conditions", std::move(conditions)},
                  {"hostIP", fmt::format("10.0.{}.{}", below(256), 1 + below(254))},
                  {"podIP", ip_},
                  {"podIPs", Array{Object{{"ip", ip_}}}},
                  {"startTime", time_},
                  {"containerStatuses", std::move(statuses)},
                  {"qosClass", "Burstable"}};
  }

  std::mt19937_64 random_{42};
  // The pod at hand.
  std::string_view app_;
  std::string deployment_;
  std::string hash_;
  std::string owner_;
  std::string time_;
  std::vector<std::string> containers_;
  std::size_t env_ = 0;
  std::string version_;
  std::string ip_;
};

}  // namespace

std::vector<std::string> pods(std::size_t count) {
  Generator generator;
  std::vector<std::string> out;
  out.reserve(count);
  while (out.size() < count) out.push_back(generator.pod());
  return out;
}

std::string pod_list(const std::vector<std::string>& pods) {
  std::string out = R"({"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"190000001"},"items":[)";
  for (const auto& pod : pods) {
    if (out.back() != '[') out += ',';
    out += pod;
  }
  return out += "]}\n";
}

}  // namespace kopper::bench
