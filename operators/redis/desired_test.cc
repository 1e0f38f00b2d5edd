#include "desired.h"

#include <algorithm>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/meta/encode.h"

namespace redis {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

RedisCluster demo() {
  RedisCluster out;
  out.metadata.name = "demo";
  out.metadata.namespace_ = "shop";
  out.spec.replicas = 6;
  out.spec.repository = "library/redis";
  out.spec.version = "7.0";
  out.spec.pod.resize(1);
  return out;
}

Inputs inputs(std::int32_t pods = 6) {
  Inputs out;
  out.pods = pods;
  return out;
}

const kopper::Container& redis_of(const Desired& all) { return all.set.spec.template_.spec.containers.at(0); }
const std::string& conf_of(const Desired& all) { return all.settings.data.at("redis.conf"); }

std::vector<std::string> names(const auto& list) {
  std::vector<std::string> out;
  for (const auto& item : list) out.push_back(item.name);
  return out;
}

TEST(Desired, OneStatefulSetAndOneHeadlessServiceAsTheCluster) {
  const auto all = desired(demo(), inputs(8));
  EXPECT_EQ(all.set.metadata.name, "demo");
  EXPECT_EQ(all.set.spec.replicas, 8);
  EXPECT_EQ(all.set.spec.serviceName, "demo");
  EXPECT_EQ(all.set.spec.selector.matchLabels, (kopper::Labels{{"app", "demo"}}));
  EXPECT_EQ(all.set.spec.podManagementPolicy, "Parallel");
  EXPECT_EQ(all.set.spec.updateStrategy.type, "OnDelete");
  EXPECT_EQ(redis_of(all).image, "library/redis:7.0");
  EXPECT_THAT(redis_of(all).args,
              ElementsAre("redis-server", "/etc/redis/redis.conf", "--cluster-announce-ip", "$(PODIP)"));
  EXPECT_EQ(all.service.metadata.name, "demo");
  EXPECT_EQ(all.service.spec.clusterIP, "None");
  EXPECT_EQ(all.service.spec.publishNotReadyAddresses, true);
  EXPECT_THAT(names(all.service.spec.ports), ElementsAre("demo", "bus"));
  EXPECT_EQ(all.budget->spec.maxUnavailable, kopper::IntOrString(1));
  EXPECT_EQ(domain_name(demo(), "demo-0"), "demo-0.demo.shop.svc.cluster.local");
  EXPECT_EQ(claim_name(demo(), 3), "data-demo-3");
}

TEST(Desired, TakesWhatTheSpecSaysOfPods) {
  auto cluster = demo();
  auto& pod = cluster.spec.pod[0];
  pod.labels = {{"team", "a"}};
  pod.annotations = {{"note", "b"}};
  pod.env = {{.name = "MAXMEMORY", .value = "2gb"}};
  pod.resources.limits = {{"memory", "4Gi"}};
  pod.affinity.emplace().podAntiAffinity.emplace();
  pod.monitorImage = "exporter:1";
  pod.initImage = "init:2";
  cluster.spec.podDisruptionBudget = false;
  const auto all = desired(cluster, inputs());
  const auto& pods = all.set.spec.template_;
  EXPECT_EQ(pods.metadata.labels, (kopper::Labels{{"app", "demo"}, {"team", "a"}}));
  EXPECT_EQ(pods.metadata.annotations.at("note"), "b");
  EXPECT_THAT(names(redis_of(all).env), ElementsAre("POD_NAME", "NAMESPACE", "PODIP", "MAXMEMORY"));
  EXPECT_TRUE(pods.spec.affinity->podAntiAffinity->preferredDuringSchedulingIgnoredDuringExecution.empty());
  EXPECT_THAT(names(pods.spec.containers), ElementsAre("redis-cluster", "redis-exporter"));
  EXPECT_THAT(names(pods.spec.initContainers), ElementsAre("demo-init"));
  EXPECT_EQ(pods.spec.initContainers[0].image, "library/redis/init:2");
  EXPECT_THAT(names(all.service.spec.ports), ElementsAre("demo", "bus", "redis-exporter"));
  EXPECT_FALSE(all.budget);
  EXPECT_THAT(conf_of(all), HasSubstr("maxmemory 3221225472\n"));

  cluster.spec.exporter = false;
  EXPECT_THAT(names(desired(cluster, inputs()).set.spec.template_.spec.containers), ElementsAre("redis-cluster"));
}

TEST(Desired, SpreadsPodsWhereNobodySaysOtherwise) {
  const auto all = desired(demo(), inputs());
  const auto& terms =
      all.set.spec.template_.spec.affinity->podAntiAffinity->preferredDuringSchedulingIgnoredDuringExecution;
  ASSERT_EQ(terms.size(), 2U);
  EXPECT_EQ(terms[0].podAffinityTerm.topologyKey, "kubernetes.io/hostname");
  EXPECT_EQ(terms[0].podAffinityTerm.labelSelector->matchLabels, labels_of(demo()));
}

TEST(Desired, DataIsWhereTheSpecSays) {
  auto cluster = demo();
  const auto data_of = [&] {
    const auto all = desired(cluster, inputs());
    const auto& volumes = all.set.spec.template_.spec.volumes;
    const auto found = std::ranges::find(volumes, "data", &kopper::Volume::name);
    return std::pair(found == volumes.end() ? kopper::Volume() : *found, redis_of(all).volumeMounts.at(0));
  };
  EXPECT_TRUE(data_of().first.emptyDir);
  EXPECT_EQ(data_of().second.subPathExpr, "");

  cluster.spec.pod[0].volumes = PodVolumes{.type = "nfs", .persistentVolumeClaimName = "share"};
  EXPECT_EQ(data_of().first.persistentVolumeClaim->claimName, "share");
  EXPECT_EQ(data_of().second.subPathExpr, "$(POD_NAME)");
  cluster.spec.pod[0].volumes = PodVolumes{.type = "hostPath", .persistentVolumeClaimName = ""};
  EXPECT_EQ(data_of().first.hostPath->path, "/var/lib/redis-cluster/shop/demo");
  EXPECT_EQ(data_of().second.subPathExpr, "$(POD_NAME)");

  cluster.spec.pod[0].volumes.reset();
  cluster.spec.storage = Storage{.size = "2Gi", .storageClassName = "fast", .retain = "Retain"};
  EXPECT_EQ(data_of().first.name, "");
  EXPECT_EQ(data_of().second.subPathExpr, "");
  const auto claim = desired(cluster, inputs()).set.spec.volumeClaimTemplates.at(0);
  EXPECT_EQ(claim.metadata.name, "data");
  EXPECT_EQ(claim.spec.resources.requests.at("storage"), kopper::Quantity("2Gi"));
  EXPECT_EQ(claim.spec.storageClassName, "fast");
  auto live = inputs();
  live.claim_size = kopper::Quantity("1Gi");
  EXPECT_EQ(desired(cluster, live).set.spec.volumeClaimTemplates.at(0).spec.resources.requests.at("storage"),
            kopper::Quantity("1Gi"));
}

TEST(Desired, SettingsAreOursTheUsersAndWhatMustBe) {
  auto given = inputs();
  given.settings = "appendonly no\nport 7000\nmaxmemory 1gb\nrequirepass secret\nbroken \"\n";
  const auto all = desired(demo(), given);
  EXPECT_EQ(conf_of(all),
            "cluster-node-timeout 5000\n"
            "cluster-require-full-coverage no\n"
            "repl-diskless-sync yes\n"
            "repl-diskless-sync-delay 0\n"
            "repl-backlog-size 16mb\n"
            "tcp-keepalive 60\n"
            "appendonly no\n"
            "maxmemory 1gb\n"
            "cluster-enabled yes\n"
            "cluster-config-file nodes.conf\n"
            "dir /data\n"
            "protected-mode no\n"
            "daemonize no\n"
            "port 6379\n"
            "include /etc/redis-auth/auth.conf\n");
  EXPECT_THAT(all.ignored, ElementsAre("line 5: quotes do not match", "port is set by the operator",
                                       "requirepass is set by the operator"));
}

TEST(Desired, LeavesOutWhatRedisWouldNotStartWith) {
  auto given = inputs();
  given.settings = "maxmemroy 1gb\nsave 60 1\n";
  given.refused = {"maxmemroy"};
  const auto all = desired(demo(), given);
  EXPECT_THAT(conf_of(all), Not(HasSubstr("maxmemroy")));
  EXPECT_THAT(conf_of(all), HasSubstr("save 60 1\n"));
  EXPECT_THAT(all.ignored, ElementsAre("maxmemroy is refused by Redis"));
  EXPECT_THAT(all.wanted, Contains(Setting{"maxmemroy", {"1gb"}})) << "another version may know it";
}

// The template decides whether pods are replaced.
TEST(Desired, OnlySettingsThatNeedItReplacePods) {
  const auto template_with = [](std::string settings, std::string password) {
    auto given = inputs();
    given.settings = std::move(settings);
    given.password = std::move(password);
    return kopper::meta::encode(desired(demo(), given).set.spec.template_);
  };
  const auto plain = template_with("", "");
  EXPECT_EQ(template_with("maxmemory 1gb\nsave 60 1\n", ""), plain);
  EXPECT_EQ(template_with("", "secret"), plain);
  EXPECT_NE(template_with("io-threads 4\n", ""), plain);
  EXPECT_EQ(template_with("io-threads 4\nmaxmemory 1gb\n", ""), template_with("maxmemory 2gb\nio-threads 4\n", ""));
}

TEST(Desired, PasswordsAreInTheSecretAndNowhereElse) {
  auto cluster = demo();
  cluster.spec.auth = SecretName{"mine"};
  cluster.spec.pod[0].monitorImage = "exporter";
  auto given = inputs();
  given.password = "s3cr\"et \\x";
  const auto all = desired(cluster, given);
  EXPECT_EQ(all.auth.metadata.name, "demo-auth");
  EXPECT_EQ(all.auth.data.at("auth.conf").data,
            "masteruser default\nmasterauth \"s3cr\\\"et \\\\x\"\nrequirepass \"s3cr\\\"et \\\\x\"\n");
  EXPECT_EQ(all.auth.data.at("password").data, given.password);
  EXPECT_EQ(all.auth.data.at("exporter.json").data, R"({"redis://localhost:6379":"s3cr\"et \\x"})");
  for (const auto& text : {kopper::meta::encode(all.set), kopper::meta::encode(all.settings),
                           kopper::meta::encode(all.service), kopper::meta::encode(*all.budget)}) {
    EXPECT_THAT(text, Not(HasSubstr("s3cr")));
  }
  const auto none = desired(demo(), inputs()).auth;
  EXPECT_EQ(none.data.at("auth.conf").data, "");
  EXPECT_EQ(none.data.at("exporter.json").data, "{}");

  kopper::Secret secret;
  EXPECT_EQ(password_of(secret), "");
  secret.data["password"].data = "x\n";
  EXPECT_EQ(password_of(secret), "x");
}

TEST(Desired, TlsIsForClientsReplicasAndTheBus) {
  auto cluster = demo();
  cluster.spec.tls = SecretName{"certs"};
  cluster.spec.pod[0].monitorImage = "exporter";
  const auto all = desired(cluster, inputs());
  for (const auto* expected : {"port 0\n", "tls-port 6379\n", "tls-cluster yes\n", "tls-replication yes\n",
                               "tls-cert-file /etc/redis-tls/tls.crt\n", "tls-auth-clients optional\n"}) {
    EXPECT_THAT(conf_of(all), HasSubstr(expected));
  }
  const auto& pod = all.set.spec.template_.spec;
  EXPECT_THAT(names(pod.volumes), ElementsAre("settings", "auth", "tls", "data"));
  for (const auto* script : {&pod.containers[0].readinessProbe->exec->command.at(2),
                             &pod.containers[0].lifecycle->preStop->exec->command.at(2)}) {
    EXPECT_THAT(*script, HasSubstr("--tls --cacert /etc/redis-tls/ca.crt"));
  }
  EXPECT_THAT(names(pod.containers[1].env), Contains("REDIS_EXPORTER_TLS_CA_CERT_FILE"));
  EXPECT_EQ(pod.containers[1].env[0].value, "rediss://localhost:6379");
}

}  // namespace
}  // namespace redis
