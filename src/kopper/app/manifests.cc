#include "kopper/app/manifests.h"

#include "kopper/json/yaml.h"

namespace kopper::app {

using namespace api::corev1;  // every object here is made of its types

namespace {

constexpr std::int64_t kNonRoot = 65532;

api::Labels selector_of(const DeployOptions& options) { return {{"app.kubernetes.io/name", options.name}}; }

api::metav1::ObjectMeta named(const DeployOptions& options, std::string_view suffix = {}) {
  api::metav1::ObjectMeta metadata;
  metadata.name = options.name;
  metadata.name.append(suffix);
  metadata.namespace_ = options.namespace_;
  metadata.labels = labels_of(options);
  return metadata;
}

api::metav1::LabelSelector selecting(const DeployOptions& options) {
  api::metav1::LabelSelector selector;
  selector.matchLabels = selector_of(options);
  return selector;
}

Affinity apart(const DeployOptions& options) {
  WeightedPodAffinityTerm term{.weight = 100};
  term.podAffinityTerm.labelSelector = selecting(options);
  term.podAffinityTerm.topologyKey = "kubernetes.io/hostname";
  PodAntiAffinity anti;
  anti.preferredDuringSchedulingIgnoredDuringExecution = {std::move(term)};
  Affinity affinity;
  affinity.podAntiAffinity = std::move(anti);
  return affinity;
}

Probe probe(std::string path, std::int32_t period) {
  HTTPGetAction get;
  get.path = std::move(path);
  get.port = "health";
  Probe out;
  out.httpGet = std::move(get);
  out.periodSeconds = period;
  return out;
}

EnvVar from_field(std::string name, std::string path) {
  EnvVarSource source;
  source.fieldRef = ObjectFieldSelector{.fieldPath = std::move(path)};
  EnvVar out;
  out.name = std::move(name);
  out.valueFrom = std::move(source);
  return out;
}

SecurityContext restricted() {
  SecurityContext out;
  out.allowPrivilegeEscalation = false;
  out.readOnlyRootFilesystem = true;
  out.capabilities = Capabilities{.drop = {"ALL"}};
  return out;
}

PodSecurityContext not_root() {
  PodSecurityContext out;
  out.runAsNonRoot = true;
  out.runAsUser = kNonRoot;
  out.runAsGroup = kNonRoot;
  out.seccompProfile = SeccompProfile{.type = "RuntimeDefault"};
  return out;
}

Container manager(const DeployOptions& options) {
  Container out;
  out.name = "manager";
  out.image = options.image;
  out.imagePullPolicy = options.image_pull_policy;
  out.command = options.command;
  out.args = options.args;
  out.env = {from_field("POD_NAMESPACE", "metadata.namespace"), from_field("POD_NAME", "metadata.name")};
  const auto port = [&](std::string name, std::int32_t number) {
    if (number != 0) out.ports.push_back({.name = std::move(name), .containerPort = number, .protocol = "TCP"});
  };
  port("health", options.health_port);
  port("metrics", options.metrics_port);
  port("webhook", options.webhook_port);
  if (options.health_port != 0) {
    out.livenessProbe = probe("/healthz", 20);
    out.readinessProbe = probe("/readyz", 5);
  }
  ResourceRequirements resources;
  resources.requests = options.requests;
  resources.limits = options.limits;
  out.resources = std::move(resources);
  out.securityContext = restricted();
  return out;
}

Service service(const DeployOptions& options, std::string_view suffix, std::int32_t port, std::string target) {
  ServicePort only;
  only.name = target;
  only.port = port;
  only.protocol = "TCP";
  only.targetPort = std::move(target);
  Service out;
  out.metadata = named(options, suffix);
  out.spec.selector = selector_of(options);
  out.spec.ports = {std::move(only)};
  return out;
}

}  // namespace

Documents& Documents::add(json::Value object) {
  objects_.push_back(std::move(object));
  return *this;
}

std::string Documents::yaml() const {
  std::string out;
  for (const auto& object : objects_) {
    if (!out.empty()) out += "---\n";
    out += json::to_yaml(object);
  }
  return out;
}

api::Labels labels_of(const DeployOptions& options) {
  auto labels = selector_of(options);
  labels.insert(options.labels.begin(), options.labels.end());
  return labels;
}

Namespace namespace_of(const DeployOptions& options) {
  Namespace out;
  out.metadata.name = options.namespace_;
  out.metadata.labels = labels_of(options);
  out.metadata.labels["pod-security.kubernetes.io/enforce"] = "restricted";
  return out;
}

ServiceAccount service_account(const DeployOptions& options) {
  ServiceAccount out;
  out.metadata = named(options);
  return out;
}

api::appsv1::Deployment deployment(const DeployOptions& options) {
  api::appsv1::Deployment out;
  out.metadata = named(options);
  out.spec.replicas = options.replicas;
  out.spec.selector = selecting(options);
  auto& pod = out.spec.template_;
  pod.metadata.labels = labels_of(options);
  pod.spec.serviceAccountName = options.name;
  pod.spec.terminationGracePeriodSeconds = options.termination_grace_seconds;
  pod.spec.securityContext = not_root();
  if (options.replicas > 1) pod.spec.affinity = apart(options);
  pod.spec.containers = {manager(options)};
  return out;
}

api::policyv1::PodDisruptionBudget disruption_budget(const DeployOptions& options) {
  api::policyv1::PodDisruptionBudget out;
  out.metadata = named(options);
  out.spec.maxUnavailable = 1;
  out.spec.selector = selecting(options);
  return out;
}

std::string webhook_service_name(const DeployOptions& options) { return options.name + "-webhook"; }

Service webhook_service(const DeployOptions& options) { return service(options, "-webhook", 443, "webhook"); }

Service metrics_service(const DeployOptions& options) {
  return service(options, "-metrics", options.metrics_port, "metrics");
}

Documents& add_deployment(Documents& to, const DeployOptions& options) {
  to.add(service_account(options));
  if (options.metrics_port != 0) to.add(metrics_service(options));
  if (options.webhook_port != 0) to.add(webhook_service(options));
  to.add(deployment(options));
  if (options.replicas > 1) to.add(disruption_budget(options));
  return to;
}

std::string deployment_yaml(const DeployOptions& options) {
  Documents out;
  out.add(namespace_of(options));
  return add_deployment(out, options).yaml();
}

}  // namespace kopper::app
