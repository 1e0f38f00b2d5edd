#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kopper/api/gen/apps_v1.h"
#include "kopper/api/time.h"

// How a Deployment goes from one template to the next. Pure.
namespace kopper::workloads {

using ReplicaSetRef = std::shared_ptr<const api::appsv1::ReplicaSet>;

inline constexpr std::string_view kTemplateHash = "pod-template-hash";
inline constexpr std::string_view kRevision = "deployment.kubernetes.io/revision";
inline constexpr std::string_view kDesiredReplicas = "deployment.kubernetes.io/desired-replicas";
inline constexpr std::string_view kMaxReplicas = "deployment.kubernetes.io/max-replicas";

// In letters of names, the same for the same template and number of collisions.
std::string template_hash(const api::corev1::PodTemplateSpec& template_, std::int32_t collisions);
// But for the hash's label.
bool same_template(const api::corev1::PodTemplateSpec& a, const api::corev1::PodTemplateSpec& b);

// The limits of a rolling update in numbers.
struct RollingLimits {
  std::int32_t surge = 0;
  std::int32_t unavailable = 0;
};
RollingLimits limits_of(const api::appsv1::Deployment& deployment);

// A Deployment's sets: the one of its template, if there is one, and the others, the oldest first.
struct Sets {
  ReplicaSetRef current;
  std::vector<ReplicaSetRef> old;
};
Sets sort_sets(const api::appsv1::Deployment& deployment, std::vector<ReplicaSetRef> all);
std::int64_t revision_of(const api::appsv1::ReplicaSet& set);

// The set of the template, as it is to be made. Its replicas are what may be started at once.
api::appsv1::ReplicaSet new_set(const api::appsv1::Deployment& deployment, const Sets& sets);

// What a set's replicas are to be.
struct Resize {
  ReplicaSetRef set;
  std::int32_t replicas = 0;
};
// The next steps; none when all is as it should be or has to wait for pods. With a current set.
std::vector<Resize> rolling_steps(const api::appsv1::Deployment& deployment, const Sets& sets);
// Old sets to 0, and when no pod of theirs is left, the current one to all.
std::vector<Resize> recreate_steps(const api::appsv1::Deployment& deployment, const Sets& sets);
// When the Deployment was scaled, or is paused: each set gets its share.
std::vector<Resize> scale_steps(const api::appsv1::Deployment& deployment, const Sets& sets);
// The Deployment's size differs from what its sets were made for.
bool was_scaled(const api::appsv1::Deployment& deployment, const Sets& sets);

// Old sets beyond the history that is to be kept.
std::vector<ReplicaSetRef> surplus_history(const api::appsv1::Deployment& deployment, const Sets& sets);

api::appsv1::DeploymentStatus observed(const api::appsv1::Deployment& deployment, const Sets& sets, api::Time now);
bool is_complete(const api::appsv1::Deployment& deployment, const api::appsv1::DeploymentStatus& status);
// When the progress deadline passes, if something is still to come.
std::optional<api::Time> deadline_of(const api::appsv1::Deployment& deployment,
                                     const api::appsv1::DeploymentStatus& status);

}  // namespace kopper::workloads
