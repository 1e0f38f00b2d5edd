#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kopper/api/gen/apps_v1.h"
#include "kopper/api/gen/core_v1.h"
#include "kopper/api/gen/policy_v1.h"
#include "kopper/api/labels.h"
#include "kopper/api/quantity.h"
#include "kopper/json/value.h"
#include "kopper/meta/encode.h"

// What it takes to run a program of controllers on a cluster, as objects. Pure: the same options give the same bytes.
namespace kopper::app {

// YAML documents, one an object, as `kubectl apply -f` reads them.
class Documents {
 public:
  template <class T>
  Documents& add(const T& object) {
    return add(meta::to_value(object));
  }
  Documents& add(json::Value object);
  std::string yaml() const;

 private:
  std::vector<json::Value> objects_;
};

struct DeployOptions {
  std::string name = "operator-manager";       // of the Deployment and all that goes with it, the ServiceAccount too
  std::string namespace_ = "operator-system";  // also in the pods' variable POD_NAMESPACE
  std::string image = "operator-manager:latest";
  std::string image_pull_policy = "IfNotPresent";
  std::vector<std::string> command = {};  // none: the image's entry point
  std::vector<std::string> args = {"--leader-elect"};
  std::int32_t replicas = 2;

  std::map<std::string, api::Quantity> requests = {{"cpu", "10m"}, {"memory", "32Mi"}};
  std::map<std::string, api::Quantity> limits = {{"memory", "128Mi"}};

  // The ports that the program listens on; 0: it does not.
  std::int32_t health_port = 8081;  // /healthz and /readyz
  std::int32_t metrics_port = 8080;
  std::int32_t webhook_port = 0;
  std::int32_t termination_grace_seconds = 30;

  api::Labels labels = {};  // besides app.kubernetes.io/name
};

// app.kubernetes.io/name and what the options add: on every object.
api::Labels labels_of(const DeployOptions& options);

// With the label that lets only pods of the "restricted" security standard in.
api::corev1::Namespace namespace_of(const DeployOptions& options);
api::corev1::ServiceAccount service_account(const DeployOptions& options);
// Pods on different nodes where that is possible; not root, no capabilities, no writable root, the runtime's seccomp
// profile; probes on the health port.
api::appsv1::Deployment deployment(const DeployOptions& options);
// One replica at a time may be away: only with two and more.
api::policyv1::PodDisruptionBudget disruption_budget(const DeployOptions& options);
// <name>-webhook, port 443: where the API server finds the webhooks.
std::string webhook_service_name(const DeployOptions& options);
api::corev1::Service webhook_service(const DeployOptions& options);
// <name>-metrics, for who scrapes services.
api::corev1::Service metrics_service(const DeployOptions& options);

// ServiceAccount, Services, Deployment and, for more than one replica, the PodDisruptionBudget: all but the Namespace,
// the CRDs and the roles.
Documents& add_deployment(Documents& to, const DeployOptions& options);
std::string deployment_yaml(const DeployOptions& options);  // the Namespace first, then add_deployment()

}  // namespace kopper::app
