#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kopper/api/gen/apps_v1.h"
#include "kopper/api/gen/core_v1.h"
#include "kopper/api/names.h"
#include "kopper/api/quantity.h"
#include "kopper/api/time.h"
#include "kopper/meta/kind.h"
#include "kopper/meta/rules.h"

namespace redis {

// The i-th feeds the i-th new master.
struct AssignStrategy {
  std::int32_t slots = 0;
  std::string fromReplicas;  // ids of masters, with commas between them: together they give `slots`

  static constexpr auto rules =
      kopper::rules(kopper::field<&AssignStrategy::slots>.required().min(1).max(16384).doc("How many slots it gets"),
                    kopper::field<&AssignStrategy::fromReplicas>.required().min_length(1).max_length(65536).doc(
                        "Node ids of the masters that give them together, separated by commas"));
  friend bool operator==(const AssignStrategy&, const AssignStrategy&) = default;
};

struct SlotStrategy {
  std::string type = "AutoReceive";
  std::string pipeline = "10";  // a number, as text
  std::vector<AssignStrategy> assignStrategies;

  static constexpr auto rules = kopper::rules(
      kopper::field<&SlotStrategy::type>.one_of({"AutoReceive", "AssignReceive"}).doc("How new masters get slots: AutoReceive spreads all evenly, AssignReceive does as assignStrategies say"),
      kopper::field<&SlotStrategy::pipeline>.pattern("^[1-9][0-9]{0,3}$").doc("How many keys a MIGRATE moves, 1..9999"),
      kopper::field<&SlotStrategy::assignStrategies>.max_items(500).doc(
          "Of AssignReceive: one for each new master, in the order of their pods"));
  friend bool operator==(const SlotStrategy&, const SlotStrategy&) = default;
};

// Where the data of all pods is together: each has a folder with its name there.
struct PodVolumes {
  std::string type;
  std::string persistentVolumeClaimName;

  static constexpr auto rules = kopper::rules(
      kopper::field<&PodVolumes::type>.required().one_of({"hostPath", "nfs"}).doc("hostPath: a folder of the node; nfs: persistentVolumeClaimName, which all pods write to"),
      kopper::field<&PodVolumes::persistentVolumeClaimName>.max_length(253),
      kopper::object.cel("self.type != 'nfs' || (has(self.persistentVolumeClaimName) && "
                         "size(self.persistentVolumeClaimName) > 0)",
                         "spec.pod[0].volumes.persistentVolumeClaimName is needed with type nfs"));
  friend bool operator==(const PodVolumes&, const PodVolumes&) = default;
};

struct PodSettings {
  kopper::Labels labels;
  kopper::Labels annotations;
  std::vector<kopper::api::corev1::EnvVar> env;
  kopper::Box<kopper::api::corev1::Affinity> affinity;
  kopper::api::corev1::ResourceRequirements resources;
  kopper::api::appsv1::StatefulSetUpdateStrategy updateStrategy;
  std::optional<PodVolumes> volumes;
  std::string configmap;
  std::string monitorImage;
  std::string initImage;
  std::string middlewareImage;

  static constexpr auto rules = kopper::rules(
      kopper::field<&PodSettings::affinity>.doc("None: pods are spread over the nodes where that is possible"),
      kopper::field<&PodSettings::resources>.doc("Of the redis container"),
      kopper::field<&PodSettings::updateStrategy>.doc(
          "RollingUpdate: the operator replaces pods one by one, masters after a failover. OnDelete: pods are replaced "
          "when somebody deletes them"),
      kopper::field<&PodSettings::volumes>.doc("Where the data is when spec.storage does not say it"),
      kopper::field<&PodSettings::configmap>.max_length(253).doc(
          "A ConfigMap with lines of redis.conf under the key redis.conf; changes are applied while Redis runs"),
      kopper::field<&PodSettings::monitorImage>.max_length(1024).doc("Of the exporter, which serves metrics at 9105"),
      kopper::field<&PodSettings::initImage>.max_length(1024).doc("Runs before Redis, with its data at /data"),
      kopper::field<&PodSettings::middlewareImage>.max_length(1024).doc(
          "Of Redis, below spec.repository unless it names a registry; none: spec.repository is the image"));
  friend bool operator==(const PodSettings&, const PodSettings&) = default;
};

struct Storage {
  kopper::api::Quantity size;
  std::string storageClassName;
  std::string retain = "Retain";

  static constexpr auto rules = kopper::rules(
      kopper::field<&Storage::size>.required().doc("Of each pod's volume; may grow"),
      kopper::field<&Storage::storageClassName>.no_default().max_length(253).doc("None: the cluster's default class"),
      kopper::field<&Storage::retain>.one_of({"Retain", "Delete"}).doc("What becomes of the volumes of a cluster that is deleted, and of pods that a smaller one has not"));
  friend bool operator==(const Storage&, const Storage&) = default;
};

// Names a Secret of the same namespace.
struct SecretName {
  std::string secretName;

  static constexpr auto rules =
      kopper::rules(kopper::field<&SecretName::secretName>.required().min_length(1).max_length(253));
  friend bool operator==(const SecretName&, const SecretName&) = default;
};

struct RedisClusterSpec {
  std::int32_t replicas = 0;
  bool pause = false;
  std::string finalizers;
  std::string repository;
  std::string version;
  SlotStrategy updateStrategy;
  std::vector<PodSettings> pod;

  std::int32_t replicasPerMaster = 1;
  std::optional<Storage> storage;
  std::optional<SecretName> auth;  // key "password"
  std::optional<SecretName> tls;   // keys "tls.crt", "tls.key", "ca.crt"
  bool podDisruptionBudget = true;
  std::optional<bool> exporter;
  std::string dataLossPolicy = "Never";

  static constexpr auto rules = kopper::rules(
      kopper::field<&RedisClusterSpec::replicas>.required().min(6).max(1000).doc(
          "How many pods: masters and their replicas together"),
      kopper::field<&RedisClusterSpec::pause>.doc("The operator looks, but changes nothing"),
      kopper::field<&RedisClusterSpec::finalizers>.pattern("^(foreground|background|orphan)?$")
          .doc("What becomes of the pods when this is deleted: foreground: it stays until they are gone; background or "
               "nothing: they go after it; orphan: they stay and go on"),
      kopper::field<&RedisClusterSpec::repository>.max_length(1024).doc("Where images are: a registry and a path"),
      kopper::field<&RedisClusterSpec::version>.max_length(128).doc("Of Redis: the tag of its image when that has none"),
      kopper::field<&RedisClusterSpec::updateStrategy>.doc("How slots come to new masters"),
      kopper::field<&RedisClusterSpec::pod>.required().min_items(1).max_items(1).doc("What all pods are made of"),
      kopper::field<&RedisClusterSpec::replicasPerMaster>.min(1).max(5),
      kopper::field<&RedisClusterSpec::storage>.doc("A volume for each pod"),
      kopper::field<&RedisClusterSpec::auth>.doc("The Secret whose key password clients need; may change at any time"),
      kopper::field<&RedisClusterSpec::tls>.doc("The Secret with tls.crt, tls.key and ca.crt; none: without TLS"),
      kopper::field<&RedisClusterSpec::podDisruptionBudget>.doc("Whether evictions take one pod at a time only"),
      kopper::field<&RedisClusterSpec::exporter>.doc("Whether monitorImage runs beside Redis; absent: when there is one"),
      kopper::field<&RedisClusterSpec::dataLossPolicy>.one_of({"Never", "AcceptLoss"})
          .doc("Of slots whose data is lost for good: Never waits for a person, AcceptLoss goes on without it"),
      kopper::object
          .cel("self.replicas % (self.replicasPerMaster + 1) == 0",
               "spec.replicas must be a multiple of spec.replicasPerMaster + 1: each master has as many replicas")
          .cel("self.replicas >= 3 * (self.replicasPerMaster + 1)",
               "spec.replicas must be enough for 3 masters: 3 * (spec.replicasPerMaster + 1)")
          .cel("has(self.storage) == has(oldSelf.storage)", "spec.storage cannot be added or taken away")
          .cel("has(self.tls) == has(oldSelf.tls)", "spec.tls cannot be added or taken away"));
  friend bool operator==(const RedisClusterSpec&, const RedisClusterSpec&) = default;
};

// One of status.conditions: a node of Redis (nodeId is set) or, after all nodes, a usual condition, which has only
// type, status, reason, message and the time.
struct NodeCondition {
  std::string name;      // of the pod
  std::string instance;  // "10.1.2.3:6379"
  std::string type;      // "master", "slave"; "Ready" …
  std::string masterNodeId;
  std::string nodeId;
  std::string domainName;
  std::string slots;     // "0-5460 5462"
  std::string hostname;  // of the Kubernetes node
  std::string hostIP;
  std::string status;  // "True", "False", "Unknown"
  std::string reason;
  std::string message;
  kopper::api::Time lastTransitionTime;
  std::optional<std::int64_t> observedGeneration;  // not of nodes

  bool is_node() const { return !nodeId.empty(); }
  friend bool operator==(const NodeCondition&, const NodeCondition&) = default;
};

// Slots that move now.
struct Migration {
  std::int32_t moved = 0;
  std::int32_t total = 0;

  friend bool operator==(const Migration&, const Migration&) = default;
};

struct RedisClusterStatus {
  std::int32_t replicas = 0;  // pods that the StatefulSet is to have
  std::string phase;          // "" or None, Creating, Running, Failed, Scaling, Upgrading, Deleting
  std::string reason;
  std::vector<NodeCondition> conditions;
  std::string selector;      // of the pods, for `kubectl scale` and autoscalers
  std::int32_t masters = 0;  // those with slots
  std::optional<Migration> migration;
  std::int64_t observedGeneration = 0;

  // The list has no member that tells its items apart: "master" is the type of many.
  static constexpr auto rules = kopper::rules(kopper::field<&RedisClusterStatus::conditions>.atomic());
  friend bool operator==(const RedisClusterStatus&, const RedisClusterStatus&) = default;
};

struct RedisCluster {
  static constexpr kopper::Kind kind{.group = "redis.middleware.hc.cn",
                                     .version = "v1alpha1",
                                     .kind = "RedisCluster",
                                     .short_names = {"rec"},
                                     .columns = {{"Replicas", "integer", ".spec.replicas"},
                                                 {"Masters", "integer", ".status.masters"},
                                                 {"Phase", "string", ".status.phase"},
                                                 {"Ready", "string", ".status.conditions[?(@.type==\"Ready\")].status"},
                                                 {"Reason", "string", ".status.reason", 1},
                                                 {"Age", "date", ".metadata.creationTimestamp"}},
                                     .scale = {".spec.replicas", ".status.replicas", ".status.selector"}};

  kopper::ObjectMeta metadata;
  RedisClusterSpec spec;
  RedisClusterStatus status;
};

// How many the spec asks for.
inline std::int32_t masters_of(const RedisClusterSpec& spec) { return spec.replicas / (spec.replicasPerMaster + 1); }

}  // namespace redis
