#include "kopper/workloads/pod_env.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/base/error.h"

namespace kopper::workloads {
namespace {

using api::corev1::ConfigMap;
using api::corev1::Container;
using api::corev1::EnvVar;
using api::corev1::Pod;
using api::corev1::Secret;
using api::corev1::Service;
using ::testing::Contains;
using ::testing::Pair;

Pod a_pod() {
  Pod pod;
  pod.metadata = {.name = "web-0", .namespace_ = "shop", .uid = "u-1"};
  pod.metadata.labels = {{"app", "web"}, {"tier", "front"}};
  pod.metadata.annotations = {{"note", "a \"b\"\nc"}};
  pod.spec.nodeName = "node-1";
  pod.spec.serviceAccountName = "robot";
  Container main{.name = "main"};
  main.resources.requests = {{"cpu", "250m"}, {"memory", "64Mi"}};
  main.resources.limits = {{"memory", "100Mi"}};
  pod.spec.containers.push_back(main);
  pod.spec.containers.push_back({.name = "side"});
  return pod;
}

PodFacts facts() {
  return {.ip = "127.64.0.7", .host_ip = "127.0.0.1", .allocatable = {{"cpu", 2}, {"memory", "4Gi"}}};
}

PodSources sources() {
  ConfigMap settings;
  settings.data = {{"color", "red"}, {"bad=key", "x"}};
  Secret login;
  login.data = {{"password", {"s3cret"}}};
  return {.config_map = [settings](std::string_view name) -> std::shared_ptr<const ConfigMap> {
            return name == "settings" ? std::make_shared<const ConfigMap>(settings) : nullptr;
          },
          .secret = [login](std::string_view name) -> std::shared_ptr<const Secret> {
            return name == "login" ? std::make_shared<const Secret>(login) : nullptr;
          }};
}

EnvVar plain(std::string name, std::string value) { return {.name = std::move(name), .value = std::move(value)}; }
EnvVar field(std::string name, std::string path) {
  EnvVar it{.name = std::move(name)};
  it.valueFrom.emplace().fieldRef.emplace().fieldPath = std::move(path);
  return it;
}
EnvVar resource(std::string name, std::string what, std::optional<api::Quantity> divisor = {}, std::string of = {}) {
  EnvVar it{.name = std::move(name)};
  auto& ref = it.valueFrom.emplace().resourceFieldRef.emplace();
  ref.resource = std::move(what);
  ref.divisor = divisor;
  ref.containerName = std::move(of);
  return it;
}
EnvVar from_map(std::string name, std::string map, std::string key, bool optional = false) {
  EnvVar it{.name = std::move(name)};
  it.valueFrom.emplace().configMapKeyRef = {{.name = std::move(map), .key = std::move(key), .optional = optional}};
  return it;
}
EnvVar from_secret(std::string name, std::string secret, std::string key, bool optional = false) {
  EnvVar it{.name = std::move(name)};
  it.valueFrom.emplace().secretKeyRef = {{.name = std::move(secret), .key = std::move(key), .optional = optional}};
  return it;
}

Environment env_of(std::vector<EnvVar> env, const Environment& services = {}) {
  auto pod = a_pod();
  pod.spec.containers[0].env = std::move(env);
  return container_env(pod, pod.spec.containers[0], facts(), sources(), services);
}

std::string value(const Environment& env, std::string_view name) {
  const auto* found = find_variable(env, name);
  return found != nullptr ? *found : "(none)";
}

std::string error_of(std::vector<EnvVar> env) {
  try {
    env_of(std::move(env));
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

TEST(PodEnv, RefersToWhatCameBefore) {
  const auto env = env_of({plain("A", "1"), plain("B", "$(A)-$(C)-$$(A)-$(REDIS_SERVICE_HOST)"), plain("A", "2")},
                          {{"REDIS_SERVICE_HOST", "127.96.0.9"}});
  EXPECT_EQ(value(env, "A"), "2");
  EXPECT_EQ(value(env, "B"), "1-$(C)-$(A)-127.96.0.9");
}

TEST(PodEnv, HasWhatEveryContainerHas) {
  const auto env = env_of({plain("HOME", "/data"), plain("ME", "$(HOSTNAME)")});
  EXPECT_EQ(value(env, "HOSTNAME"), "web-0");
  EXPECT_EQ(value(env, "HOME"), "/data");
  EXPECT_THAT(value(env, "PATH"), ::testing::HasSubstr("/usr/bin"));
  EXPECT_EQ(value(env, "ME"), "$(HOSTNAME)");
}

TEST(PodEnv, TellsThePodOfItself) {
  const auto env = env_of({field("NAME", "metadata.name"), field("NS", "metadata.namespace"),
                           field("UID", "metadata.uid"), field("IP", "status.podIP"), field("HOST", "status.hostIP"),
                           field("NODE", "spec.nodeName"), field("ACCOUNT", "spec.serviceAccountName"),
                           field("APP", "metadata.labels['app']"), field("NONE", "metadata.labels['other']"),
                           field("LABELS", "metadata.labels"), field("NOTES", "metadata.annotations")});
  EXPECT_EQ(value(env, "NAME"), "web-0");
  EXPECT_EQ(value(env, "NS"), "shop");
  EXPECT_EQ(value(env, "UID"), "u-1");
  EXPECT_EQ(value(env, "IP"), "127.64.0.7");
  EXPECT_EQ(value(env, "HOST"), "127.0.0.1");
  EXPECT_EQ(value(env, "NODE"), "node-1");
  EXPECT_EQ(value(env, "ACCOUNT"), "robot");
  EXPECT_EQ(value(env, "APP"), "web");
  EXPECT_EQ(value(env, "NONE"), "");
  EXPECT_EQ(value(env, "LABELS"), "app=\"web\"\ntier=\"front\"");
  EXPECT_EQ(value(env, "NOTES"), R"(note="a \"b\"\nc")");
  EXPECT_EQ(error_of({field("X", "spec.hostname")}), "unsupported fieldPath: spec.hostname");
}

TEST(PodEnv, TellsWhatTheContainerMayUse) {
  const auto env = env_of({resource("CPU", "requests.cpu"), resource("MILLI", "requests.cpu", "1m"),
                           resource("MEMORY", "limits.memory"), resource("MIB", "limits.memory", "1Mi"),
                           resource("NODE_CPU", "limits.cpu"), resource("SIDE", "limits.memory", "1Gi", "side"),
                           resource("NONE", "requests.ephemeral-storage")});
  EXPECT_EQ(value(env, "CPU"), "1");
  EXPECT_EQ(value(env, "MILLI"), "250");
  EXPECT_EQ(value(env, "MEMORY"), "104857600");
  EXPECT_EQ(value(env, "MIB"), "100");
  EXPECT_EQ(value(env, "NODE_CPU"), "2");
  EXPECT_EQ(value(env, "SIDE"), "4");
  EXPECT_EQ(value(env, "NONE"), "0");
  EXPECT_EQ(error_of({resource("X", "limits.cpu", {}, "who")}), "container who not found");
}

TEST(PodEnv, ReadsKeysOfObjects) {
  const auto env = env_of({from_map("COLOR", "settings", "color"), from_secret("PASSWORD", "login", "password"),
                           from_map("A", "settings", "size", true), from_secret("B", "none", "x", true)});
  EXPECT_EQ(value(env, "COLOR"), "red");
  EXPECT_EQ(value(env, "PASSWORD"), "s3cret");
  EXPECT_EQ(value(env, "A"), "(none)");
  EXPECT_EQ(value(env, "B"), "(none)");
}

TEST(PodEnv, SaysWhatIsMissing) {
  EXPECT_EQ(error_of({from_map("A", "none", "x")}), "configmap \"none\" not found");
  EXPECT_EQ(error_of({from_secret("A", "none", "x")}), "secret \"none\" not found");
  EXPECT_EQ(error_of({from_map("A", "settings", "size")}), "couldn't find key size in ConfigMap shop/settings");
  EXPECT_EQ(error_of({from_secret("A", "login", "user")}), "couldn't find key user in Secret shop/login");
}

TEST(PodEnv, TakesAllOfAnObject) {
  auto pod = a_pod();
  auto& container = pod.spec.containers[0];
  container.envFrom.push_back({.prefix = "CFG_", .configMapRef = {{.name = "settings"}}});
  container.envFrom.push_back({.secretRef = {{.name = "login"}}});
  container.envFrom.push_back({.configMapRef = {{.name = "none", .optional = true}}});
  container.env = {plain("CFG_color", "blue, not $(CFG_color)")};
  auto env = container_env(pod, container, facts(), sources(), {});
  EXPECT_EQ(value(env, "CFG_color"), "blue, not red");
  EXPECT_EQ(value(env, "password"), "s3cret");
  EXPECT_EQ(value(env, "CFG_bad=key"), "(none)");

  container.envFrom.push_back({.secretRef = {{.name = "none"}}});
  EXPECT_THROW(container_env(pod, container, facts(), sources(), {}), Error);
}

std::shared_ptr<const Service> service(std::string ns, std::string name, std::string ip, std::string port_name = {}) {
  Service it;
  it.metadata = {.name = std::move(name), .namespace_ = std::move(ns)};
  it.spec.clusterIP = std::move(ip);
  it.spec.ports.push_back({.name = std::move(port_name), .protocol = "TCP", .port = 6379});
  return std::make_shared<const Service>(it);
}

TEST(PodEnv, KnowsServices) {
  const std::vector services{service("default", "kubernetes", "127.96.0.1", "https"),
                             service("shop", "my-redis", "127.96.0.2", "main"), service("shop", "headless", "None"),
                             service("other", "far", "127.96.0.3")};
  auto pod = a_pod();
  const auto env = service_variables(pod, services);
  EXPECT_THAT(env, Contains(Pair("MY_REDIS_SERVICE_HOST", "127.96.0.2")));
  EXPECT_THAT(env, Contains(Pair("MY_REDIS_SERVICE_PORT", "6379")));
  EXPECT_THAT(env, Contains(Pair("MY_REDIS_SERVICE_PORT_MAIN", "6379")));
  EXPECT_THAT(env, Contains(Pair("MY_REDIS_PORT", "tcp://127.96.0.2:6379")));
  EXPECT_THAT(env, Contains(Pair("MY_REDIS_PORT_6379_TCP_PROTO", "tcp")));
  EXPECT_THAT(env, Contains(Pair("KUBERNETES_SERVICE_HOST", "127.96.0.1")));
  EXPECT_EQ(find_variable(env, "HEADLESS_SERVICE_HOST"), nullptr);
  EXPECT_EQ(find_variable(env, "FAR_SERVICE_HOST"), nullptr);

  pod.spec.enableServiceLinks = false;
  const auto alone = service_variables(pod, services);
  EXPECT_EQ(find_variable(alone, "MY_REDIS_SERVICE_HOST"), nullptr);
  EXPECT_THAT(alone, Contains(Pair("KUBERNETES_SERVICE_HOST", "127.96.0.1")));
}

TEST(PodEnv, CutsLongHostNames) {
  auto pod = a_pod();
  EXPECT_EQ(pod_hostname(pod), "web-0");
  pod.metadata.name = std::string(62, 'a') + "-b";
  EXPECT_EQ(pod_hostname(pod), std::string(62, 'a'));
  pod.spec.hostname = "db";
  EXPECT_EQ(pod_hostname(pod), "db");
}

}  // namespace
}  // namespace kopper::workloads
