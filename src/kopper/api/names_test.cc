// The types as an operator's author uses them.
#include "kopper/api/names.h"

#include <gtest/gtest.h>

#include "kopper/meta/encode.h"

namespace {

struct MemcachedSpec {
  int32_t size = 1;
  std::string image = "memcached:1.6-alpine";
};
struct MemcachedStatus {
  int32_t ready = 0;
  std::vector<kopper::Condition> conditions;
};
struct Memcached {
  static constexpr kopper::Kind kind{"cache.example.com", "v1alpha1", "Memcached"};
  kopper::ObjectMeta metadata;
  MemcachedSpec spec;
  MemcachedStatus status;
};

kopper::Deployment desired(const Memcached& mc) {
  const kopper::Labels labels{{"app", "memcached"}, {"instance", mc.metadata.name}};
  return {.metadata = {.name = mc.metadata.name, .labels = labels},
          .spec = {.replicas = mc.spec.size,
                   .selector = {.matchLabels = labels},
                   .template_ = {.metadata = {.labels = labels},
                                 .spec = {.containers = {{.name = "memcached",
                                                          .image = mc.spec.image,
                                                          .ports = {{.containerPort = 11211}}}}}}}};
}

MemcachedStatus observed(const Memcached& mc, const kopper::Deployment& live) {
  const auto ready = live.status.readyReplicas;
  return {.ready = ready,
          .conditions = {kopper::condition("Available", ready == mc.spec.size, "Replicas", "{}/{} pods ready", ready,
                                           mc.spec.size)}};
}

TEST(Names, DesiredStateIsPlainData) {
  Memcached mc;
  mc.metadata.name = "demo";
  mc.spec.size = 3;
  EXPECT_EQ(kopper::meta::encode(desired(mc)),
            R"({"apiVersion":"apps/v1","kind":"Deployment",)"
            R"("metadata":{"name":"demo","labels":{"app":"memcached","instance":"demo"}},)"
            R"("spec":{"replicas":3,"selector":{"matchLabels":{"app":"memcached","instance":"demo"}},)"
            R"("template":{"metadata":{"labels":{"app":"memcached","instance":"demo"}},)"
            R"("spec":{"containers":[{"name":"memcached","image":"memcached:1.6-alpine",)"
            R"("ports":[{"containerPort":11211}]}]}}}})");
}

TEST(Names, ObservedStateReadsPlainNumbers) {
  Memcached mc;
  mc.spec.size = 3;
  kopper::Deployment live;
  live.status.readyReplicas = 2;
  const auto status = observed(mc, live);
  EXPECT_EQ(status.ready, 2);
  EXPECT_EQ(status.conditions[0].status, "False");
  EXPECT_EQ(status.conditions[0].message, "2/3 pods ready");
}

TEST(Names, OptionalPartsTakeBraces) {
  const kopper::Container c{
      .name = "web",
      .env = {{.name = "MODE", .value = "fast"}},
      .resources = {.limits = {{"memory", "64Mi"}}, .requests = {{"cpu", "100m"}, {"memory", "64Mi"}}},
      .livenessProbe = {{.httpGet = {{.path = "/healthz", .port = "http"}}, .periodSeconds = 5}},
      .securityContext = {{.runAsNonRoot = true}}};
  EXPECT_EQ(kopper::meta::encode(c),
            R"({"name":"web","env":[{"name":"MODE","value":"fast"}],)"
            R"("resources":{"limits":{"memory":"64Mi"},"requests":{"cpu":"100m","memory":"64Mi"}},)"
            R"("livenessProbe":{"httpGet":{"path":"/healthz","port":"http"},"periodSeconds":5},)"
            R"("securityContext":{"runAsNonRoot":true}})");
  EXPECT_EQ(c.livenessProbe->periodSeconds, 5);
  EXPECT_FALSE(c.readinessProbe.has_value());
}

TEST(Names, AnUntouchedStatusIsNotWritten) {
  // Server-side apply would claim what is written; required numbers in a status are no reason to.
  EXPECT_EQ(kopper::meta::encode(kopper::StatefulSet{.metadata = {.name = "db"}}),
            R"({"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"db"}})");
}

TEST(Names, KindsKnowWhereTheyLive) {
  EXPECT_EQ(kopper::Deployment::kind.api_version(), "apps/v1");
  EXPECT_EQ(Memcached::kind.api_version(), "cache.example.com/v1alpha1");
  EXPECT_EQ(kopper::Pod::kind.plural, "pods");
  EXPECT_EQ(kopper::Pod::kind.scope, kopper::Scope::Namespaced);
  EXPECT_EQ(kopper::Namespace::kind.scope, kopper::Scope::Cluster);
}

}  // namespace
