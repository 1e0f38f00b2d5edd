#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The part of a Pod that the three decoders read.
namespace kopper::bench {

using Map = std::map<std::string, std::string>;

struct OwnerReference {
  std::string apiVersion, kind, name, uid;
  std::optional<bool> controller, blockOwnerDeletion;
};
struct ObjectMeta {
  std::string name, generateName, namespace_, uid, resourceVersion, creationTimestamp;
  std::optional<std::string> deletionTimestamp;
  Map labels, annotations;
  std::vector<OwnerReference> ownerReferences;
  std::vector<std::string> finalizers;
};
struct ContainerPort {
  std::string name;
  int32_t containerPort = 0;
  std::string protocol;
};
struct EnvVar {
  std::string name;
  std::optional<std::string> value;
};
struct Resources {
  Map limits, requests;
};
struct Container {
  std::string name, image;
  std::vector<std::string> command, args;
  std::vector<ContainerPort> ports;
  std::vector<EnvVar> env;
  Resources resources;
  std::string imagePullPolicy;
};
struct PodSpec {
  std::vector<Container> containers;
  std::string restartPolicy;
  std::optional<int64_t> terminationGracePeriodSeconds;
  std::string serviceAccountName, nodeName, schedulerName;
  std::optional<int32_t> priority;
};
struct PodCondition {
  std::string type, status;
  std::optional<std::string> reason, message;
  std::string lastTransitionTime;
};
struct ContainerStatus {
  std::string name;
  bool ready = false;
  int32_t restartCount = 0;
  std::string image, imageID, containerID;
  std::optional<bool> started;
};
struct PodStatus {
  std::string phase;
  std::vector<PodCondition> conditions;
  std::string hostIP, podIP, startTime;
  std::vector<ContainerStatus> containerStatuses;
  std::string qosClass;
};
struct Pod {
  ObjectMeta metadata;
  PodSpec spec;
  PodStatus status;
};

bool decode_by_hand(std::string_view json, Pod& out);
void encode_by_hand(const Pod& pod, std::string& out);
bool decode_nlohmann(std::string_view json, Pod& out);

}  // namespace kopper::bench
