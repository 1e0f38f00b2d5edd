#include "types.h"

#include <gtest/gtest.h>

#include "kopper/json/value.h"
#include "kopper/json/yaml.h"
#include "kopper/meta/crd.h"
#include "kopper/meta/decode.h"
#include "kopper/meta/encode.h"

namespace redis {
namespace {

namespace json = kopper::json;

constexpr std::string_view kEveryField = R"(
apiVersion: redis.middleware.hc.cn/v1alpha1
kind: RedisCluster
metadata: {name: cache, namespace: kube-system}
spec:
  replicas: 10
  pause: true
  finalizers: foreground
  repository: library/redis
  version: 3.2.8
  updateStrategy:
    type: AssignReceive
    pipeline: "100"
    assignStrategies:
      - {slots: 2000, fromReplicas: nodeId1}
      - {slots: 1000, fromReplicas: "nodeId3,nodeId4"}
  pod:
    - labels: {key: value}
      annotations: {key: value}
      env: [{name: MAXMEMORY, value: 2gb}]
      affinity: {podAntiAffinity: {}}
      resources: {limits: {cpu: "2", memory: 4Gi}}
      updateStrategy: {type: RollingUpdate}
      volumes: {type: nfs, persistentVolumeClaimName: pvcName}
      configmap: name
      monitorImage: exporter
      initImage: init
      middlewareImage: redis
status:
  replicas: 6
  phase: Creating
  reason: trouble
  conditions:
    - name: redis-cluster-0
      instance: 10.168.78.90:6379
      type: master
      masterNodeId: allkk111snknkcs
      nodeId: allkk111snknkcs
      domainName: redis-cluster-0.redis-cluster.kube-system.svc.cluster.local
      slots: 1024-2048
      hostname: docker-vm-3
      hostIP: 192.168.26.122
      status: "True"
      reason: xxxx
      message: xxxx
      lastTransitionTime: 2019-03-25T03:10:29Z
    - {type: Ready, status: "False", reason: Creating, message: "", lastTransitionTime: 2019-03-25T03:10:29Z}
)";

TEST(RedisCluster, HasEveryFieldOfTheOriginal) {
  const auto text = json::dump(json::parse_yaml(kEveryField).value().at(0).value);
  const auto cluster = kopper::meta::decode<RedisCluster>(text);
  ASSERT_TRUE(cluster) << cluster.error().str();
  EXPECT_EQ(cluster->spec.updateStrategy.assignStrategies.at(1).fromReplicas, "nodeId3,nodeId4");
  EXPECT_EQ(cluster->spec.pod.at(0).volumes->persistentVolumeClaimName, "pvcName");
  ASSERT_EQ(cluster->status.conditions.size(), 2U);
  EXPECT_TRUE(cluster->status.conditions[0].is_node());
  EXPECT_FALSE(cluster->status.conditions[1].is_node());
  EXPECT_EQ(masters_of(cluster->spec), 5);

  // Nothing of it is lost on the way back.
  const auto again = kopper::meta::decode<RedisCluster>(kopper::meta::encode(*cluster));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->spec, cluster->spec);
  EXPECT_EQ(again->status, cluster->status);
}

TEST(RedisCluster, AbsentMembersHaveTheirDefaults) {
  const auto cluster = kopper::meta::decode<RedisCluster>(R"({"spec":{"replicas":6,"pod":[{}]}})").value();
  EXPECT_EQ(cluster.spec.updateStrategy.type, "AutoReceive");
  EXPECT_EQ(cluster.spec.updateStrategy.pipeline, "10");
  EXPECT_EQ(cluster.spec.replicasPerMaster, 1);
  EXPECT_TRUE(cluster.spec.podDisruptionBudget);
  EXPECT_EQ(cluster.spec.dataLossPolicy, "Never");
  EXPECT_FALSE(cluster.spec.storage || cluster.spec.auth || cluster.spec.tls || cluster.spec.exporter);
}

TEST(RedisCluster, DefinitionIsThatOfTheOriginalInV1) {
  const auto crd = kopper::meta::crd<RedisCluster>();
  EXPECT_EQ(crd["metadata"].text("name"), "redisclusters.redis.middleware.hc.cn");
  EXPECT_EQ(json::dump(crd["spec"]["names"]["shortNames"]), R"(["rec"])");
  const auto& version = crd["spec"]["versions"][0];
  EXPECT_EQ(version["subresources"]["scale"].text("specReplicasPath"), ".spec.replicas");
  const auto& root = version["schema"]["openAPIV3Schema"]["properties"];
  EXPECT_EQ(root["status"]["properties"]["conditions"].text("x-kubernetes-list-type"), "atomic");
  EXPECT_EQ(json::dump(root["spec"]["required"]), R"(["replicas","pod"])");
  EXPECT_EQ(json::dump(root["spec"]["properties"]["updateStrategy"]["properties"]["type"]["default"]),
            R"("AutoReceive")");
}

}  // namespace
}  // namespace redis
