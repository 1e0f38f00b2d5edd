#include "validate.h"

#include <fstream>
#include <iterator>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/json/yaml.h"
#include "kopper/meta/decode.h"

namespace redis {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

RedisCluster good(std::int32_t replicas = 6) {
  RedisCluster out;
  out.metadata.name = "demo";
  out.spec.replicas = replicas;
  out.spec.repository = "redis";
  out.spec.version = "7.0.15";
  out.spec.pod.resize(1);
  return out;
}

// Three masters a, b, c with a third of the slots each, and a replica x of a.
RedisCluster running() {
  auto out = good();
  out.status.replicas = 6;
  out.status.masters = 3;
  const auto add = [&](std::string id, std::string type, std::string slots) {
    NodeCondition node;
    node.nodeId = std::move(id);
    node.type = std::move(type);
    node.slots = std::move(slots);
    out.status.conditions.push_back(std::move(node));
  };
  add("a", "master", "0-5460");
  add("b", "master", "5461-10922");
  add("c", "master", "10923-16383");
  add("x", "slave", "");
  NodeCondition ready;
  ready.type = "Ready";
  out.status.conditions.push_back(ready);
  return out;
}

// The same with other wishes.
RedisCluster grown(const RedisCluster& from, std::int32_t replicas, std::vector<AssignStrategy> assignments) {
  auto out = from;
  out.spec.replicas = replicas;
  out.spec.updateStrategy.type = "AssignReceive";
  out.spec.updateStrategy.assignStrategies = std::move(assignments);
  return out;
}

std::vector<std::string> fields(const std::vector<kopper::Cause>& causes) {
  std::vector<std::string> out;
  for (const auto& cause : causes) out.push_back(cause.field);
  return out;
}

std::vector<std::string> said(const std::vector<kopper::Cause>& causes) {
  std::vector<std::string> out;
  for (const auto& cause : causes) out.push_back(cause.field + ": " + cause.message);
  return out;
}

TEST(Validate, AGoodSpecPasses) {
  EXPECT_THAT(said(validate(good())), IsEmpty());
  auto three = good(9);
  three.spec.replicasPerMaster = 2;
  EXPECT_THAT(said(validate(three)), IsEmpty());
}

TEST(Validate, SamplesPass) {
  for (const auto* name : {"rediscluster", "full"}) {
    std::ifstream file(fmt::format("{}/operators/redis/samples/{}.yaml", KOPPER_SOURCE_DIR, name));
    const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    const auto documents = kopper::json::parse_yaml(text).value();
    const auto cluster = kopper::meta::decode<RedisCluster>(kopper::json::dump(documents.at(0).value));
    ASSERT_TRUE(cluster) << cluster.error().str();
    EXPECT_THAT(said(validate(*cluster)), IsEmpty());
  }
}

TEST(Validate, CountsPods) {
  EXPECT_THAT(said(validate(good(7))),
              ElementsAre("spec.replicas: 7 is not a multiple of 2: a master and its replica"));
  EXPECT_THAT(said(validate(good(4))),
              ElementsAre("spec.replicas: 4 is too few: 3 masters with a replica each need 6"));
  EXPECT_THAT(fields(validate(good(0))), ElementsAre("spec.replicas"));
  EXPECT_THAT(fields(validate(good(1002))), ElementsAre("spec.replicas"));
  auto three = good(8);
  three.spec.replicasPerMaster = 2;
  EXPECT_THAT(said(validate(three)), ElementsAre("spec.replicas: 8 is too few: 3 masters with 2 replicas each need 9"));
  three.spec.replicasPerMaster = 0;
  EXPECT_THAT(fields(validate(three)), ElementsAre("spec.replicasPerMaster"));
}

TEST(Validate, NeedsExactlyOnePod) {
  auto none = good();
  none.spec.pod.clear();
  EXPECT_THAT(fields(validate(none)), ElementsAre("spec.pod"));
  none.spec.pod.resize(2);
  EXPECT_THAT(fields(validate(none)), ElementsAre("spec.pod"));
}

TEST(Validate, RefusesWordsThatMeanNothing) {
  auto bad = good();
  bad.spec.updateStrategy.type = "RollingUpdate";
  bad.spec.pod[0].updateStrategy.type = "Recreate";
  bad.spec.finalizers = "later";
  bad.spec.dataLossPolicy = "Maybe";
  bad.spec.storage = Storage{.size = "1Gi", .storageClassName = "", .retain = "Keep"};
  bad.spec.auth = SecretName{};
  bad.spec.tls = SecretName{};
  EXPECT_THAT(fields(validate(bad)),
              ElementsAre("spec.updateStrategy.type", "spec.pod[0].updateStrategy.type", "spec.finalizers",
                          "spec.dataLossPolicy", "spec.auth.secretName", "spec.tls.secretName", "spec.storage.retain"));
}

TEST(Validate, ReadsThePipeline) {
  auto cluster = good();
  for (const auto* bad : {"abc", "0", "-1", "", "1.5", "10000", " 5", "0x10"}) {
    cluster.spec.updateStrategy.pipeline = bad;
    EXPECT_THAT(fields(validate(cluster)), ElementsAre("spec.updateStrategy.pipeline")) << bad;
  }
  EXPECT_EQ(pipeline_of(cluster.spec), 10U);
  cluster.spec.updateStrategy.pipeline = "100";
  EXPECT_THAT(validate(cluster), IsEmpty());
  EXPECT_EQ(pipeline_of(cluster.spec), 100U);
}

TEST(Validate, BlamesThePartThatSpoilsAnImage) {
  const auto blamed = [](std::string repository, std::string image, std::string version) {
    auto cluster = good();
    cluster.spec.repository = std::move(repository);
    cluster.spec.version = std::move(version);
    cluster.spec.pod[0].middlewareImage = std::move(image);
    return fields(validate(cluster));
  };
  EXPECT_THAT(blamed("", "", "7"), ElementsAre("spec.repository"));
  EXPECT_THAT(blamed("Redis", "", "7"), ElementsAre("spec.repository"));
  EXPECT_THAT(blamed("Some Where/", "redis", "7"), ElementsAre("spec.repository"));
  EXPECT_THAT(blamed("redis", "", "7 8"), ElementsAre("spec.version"));
  EXPECT_THAT(blamed("hub.example.com/", "re dis", "7"), ElementsAre("spec.pod[0].middlewareImage"));
  EXPECT_THAT(blamed("hub.example.com/", "redis", "7"), IsEmpty());

  auto cluster = good();
  cluster.spec.pod[0].monitorImage = "exporter:";
  cluster.spec.pod[0].initImage = "UPPER";
  EXPECT_THAT(fields(validate(cluster)), ElementsAre("spec.pod[0].initImage", "spec.pod[0].monitorImage"));
  cluster = good();
  cluster.spec.exporter = true;
  EXPECT_THAT(fields(validate(cluster)), ElementsAre("spec.pod[0].monitorImage"));
}

TEST(Validate, ChecksWhatPodsAreMadeOf) {
  auto cluster = good();
  cluster.spec.pod[0].labels = {{"app", "other"}, {"bad key", "x"}, {"team", "a b"}};
  cluster.spec.pod[0].env = {{.name = "A"}, {.name = "PODIP"}, {.name = "A"}};
  cluster.spec.pod[0].volumes = PodVolumes{.type = "nfs", .persistentVolumeClaimName = ""};
  cluster.spec.storage = Storage{.size = 0, .storageClassName = "", .retain = "Retain"};
  const auto found = fields(validate(cluster));
  for (const auto* field :
       {"spec.pod[0].labels", "spec.pod[0].env[1].name", "spec.pod[0].env[2].name",
        "spec.pod[0].volumes.persistentVolumeClaimName", "spec.pod[0].volumes", "spec.storage.size"}) {
    EXPECT_THAT(found, ::testing::Contains(field));
  }
  cluster = good();
  cluster.spec.pod[0].labels = {{"app", "demo"}};
  EXPECT_THAT(validate(cluster), IsEmpty());
  cluster.metadata.name = "0demo";
  EXPECT_THAT(fields(validate(cluster)), ::testing::Contains("metadata.name"));
  cluster = good();
  cluster.metadata.name = std::string(53, 'a');
  EXPECT_THAT(fields(validate(cluster)), ElementsAre("metadata.name"));
}

TEST(Validate, LeavesTheOperatorsNamesAlone) {
  auto cluster = good();
  cluster.spec.auth = SecretName{"demo-auth"};
  cluster.spec.pod[0].configmap = "demo-redis";
  EXPECT_THAT(fields(validate(cluster)), ElementsAre("spec.pod[0].configmap", "spec.auth.secretName"));
  cluster = good();
  cluster.metadata.name = "bus";
  EXPECT_THAT(fields(validate(cluster)), ElementsAre("metadata.name"));
}

TEST(Validate, KeepsWhereTheDataIs) {
  auto old = good();
  old.spec.storage = Storage{.size = "2Gi", .storageClassName = "fast", .retain = "Retain"};
  auto now = old;
  now.spec.storage->size = "3Gi";
  now.spec.storage->retain = "Delete";
  EXPECT_THAT(validate(now, &old), IsEmpty());
  now.spec.storage->size = "1Gi";
  now.spec.storage->storageClassName = "slow";
  EXPECT_THAT(said(validate(now, &old)),
              ElementsAre("spec.storage.size: cannot shrink from 2Gi",
                          "spec.storage.storageClassName: cannot change: the data would stay behind"));
  now.spec.storage.reset();
  now.spec.tls = SecretName{"certs"};
  now.spec.pod[0].volumes = PodVolumes{.type = "hostPath", .persistentVolumeClaimName = ""};
  EXPECT_THAT(fields(validate(now, &old)), ElementsAre("spec.storage", "spec.pod[0].volumes", "spec.tls"));
}

// By the webhook, which has what is stored, and by the operator, which has only the object.
std::vector<std::string> both(const RedisCluster& now, const RedisCluster& before) {
  const auto webhook = said(validate(now, &before));
  EXPECT_EQ(webhook, said(validate(now)));
  return webhook;
}

TEST(Validate, AssignmentsFitTheNewMasters) {
  const auto before = running();
  EXPECT_THAT(both(grown(before, 8, {{2000, "a"}}), before), IsEmpty());
  EXPECT_THAT(both(grown(before, 10, {{2000, "a"}, {1000, " b, c"}}), before), IsEmpty());
  EXPECT_THAT(both(grown(before, 10, {{2000, "a"}}), before),
              ElementsAre("spec.updateStrategy.assignStrategies: 1 for 2 new masters"));
  EXPECT_THAT(both(grown(before, 8, {}), before),
              ElementsAre("spec.updateStrategy.assignStrategies: 0 for 1 new master"));
}

TEST(Validate, DonorsAreMastersWithEnough) {
  const auto before = running();
  const std::string first = "spec.updateStrategy.assignStrategies[0]";
  EXPECT_THAT(both(grown(before, 8, {{100, "a,nobody"}}), before),
              ElementsAre(first + ".fromReplicas: \"nobody\" is no master of this cluster"));
  EXPECT_THAT(both(grown(before, 8, {{100, "x"}}), before),
              ElementsAre(first + ".fromReplicas: \"x\" is a replica: only masters have slots"));
  EXPECT_THAT(both(grown(before, 8, {{100, "a,,b"}}), before),
              ElementsAre(first + ".fromReplicas: must be ids of masters with commas between them"));
  EXPECT_THAT(both(grown(before, 8, {{100, "a,a"}}), before),
              ElementsAre(first + ".fromReplicas: names a master twice"));
  EXPECT_THAT(both(grown(before, 8, {{0, "a"}}), before), ElementsAre(first + ".slots: 0 is not between 1 and 16384"));
  const auto slots_of = [&](std::vector<AssignStrategy> assignments) {
    return fields(validate(grown(before, assignments.size() == 1 ? 8 : 10, assignments), &before));
  };
  EXPECT_THAT(slots_of({{6000, "a"}}), ElementsAre(first + ".slots"));
  EXPECT_THAT(slots_of({{5461, "a"}}), ElementsAre(first + ".slots")) << "all that it has";
  EXPECT_THAT(slots_of({{5460, "a"}}), IsEmpty());
  EXPECT_THAT(slots_of({{12000, "a,b"}}), ElementsAre(first + ".slots"));
  EXPECT_THAT(slots_of({{3000, "a"}, {3000, "a"}}), ElementsAre("spec.updateStrategy.assignStrategies[1].slots"));
}

TEST(Validate, AMasterThatIsSilentIsAMaster) {
  auto before = running();
  before.status.conditions[0].slots = "";
  before.status.conditions[0].status = "False";
  EXPECT_THAT(both(grown(before, 8, {{100, "a"}}), before), IsEmpty()) << "what it has shows when it is back";
  EXPECT_THAT(both(grown(before, 8, {}), before),
              ElementsAre("spec.updateStrategy.assignStrategies: 0 for 1 new master"));
  before = running();
  before.status.conditions[0].slots = "0-5460 [77->-b]";
  EXPECT_THAT(both(grown(before, 8, {{5000, "a"}}), before), IsEmpty());
}

TEST(Validate, AssignmentsThatAreNotForNowAreIgnored) {
  const auto before = running();
  EXPECT_THAT(both(grown(before, 6, {{9000, "gone"}}), before), IsEmpty()) << "it does not grow";
  const auto empty = good();
  EXPECT_THAT(both(grown(empty, 6, {{9000, "gone"}}), empty), IsEmpty()) << "there is no cluster yet";

  // Under way: the pods are there, and the first of two masters has its slots.
  auto moving = grown(before, 10, {{2000, "a"}, {1000, "b"}});
  moving.status.replicas = 10;
  moving.status.masters = 4;
  moving.status.conditions[0].slots = "2000-5460";
  NodeCondition fed;
  fed.nodeId = "d";
  fed.type = "master";
  fed.slots = "0-1999";
  moving.status.conditions.push_back(fed);
  EXPECT_THAT(said(validate(moving)), IsEmpty());
  auto labelled = moving;
  labelled.spec.pod[0].labels["team"] = "a";
  EXPECT_THAT(said(validate(labelled, &moving)), IsEmpty());
}

}  // namespace
}  // namespace redis
