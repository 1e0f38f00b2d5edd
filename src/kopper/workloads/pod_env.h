#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kopper/api/gen/core_v1.h"
#include "kopper/workloads/downward_api.h"

// The environment of a container. Pure.
namespace kopper::workloads {

// Names and values; each name once.
using Environment = std::vector<std::pair<std::string, std::string>>;

// Objects of the pod's namespace, by name; null: there is none.
struct PodSources {
  std::function<std::shared_ptr<const api::corev1::ConfigMap>(std::string_view name)> config_map;
  std::function<std::shared_ptr<const api::corev1::Secret>(std::string_view name)> secret;
};

// The object, or null when there is none and it is optional. Throws Error{NotFound} in kubelet's words.
std::shared_ptr<const api::corev1::ConfigMap> find_config_map(const PodSources& sources, const std::string& name,
                                                              bool optional);
std::shared_ptr<const api::corev1::Secret> find_secret(const PodSources& sources, const std::string& name,
                                                       bool optional);

// REDIS_SERVICE_HOST, REDIS_PORT_6379_TCP_ADDR …: of the services of the pod's namespace, unless it wants none of them,
// and of the API server in any case. `services` may be those of all namespaces.
Environment service_variables(const api::corev1::Pod& pod,
                              const std::vector<std::shared_ptr<const api::corev1::Service>>& services);

// `services`, envFrom and env, later ones over earlier ones; PATH, HOSTNAME and HOME unless they are among them.
// $(NAME) in a value of env is what came before it, and stays as it is when nothing did. Throws Error when something
// that it needs is missing, in kubelet's words: the container waits with reason CreateContainerConfigError.
Environment container_env(const api::corev1::Pod& pod, const api::corev1::Container& container, const PodFacts& facts,
                          const PodSources& sources, const Environment& services);

// The value of a name.
const std::string* find_variable(const Environment& env, std::string_view name);

}  // namespace kopper::workloads
