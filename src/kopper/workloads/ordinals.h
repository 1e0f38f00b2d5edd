#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kopper/api/gen/apps_v1.h"
#include "kopper/api/pods.h"
#include "kopper/api/time.h"

// How a StatefulSet's pods come, go and are brought up to date, in the order of their numbers. Pure.
namespace kopper::workloads {

inline constexpr std::string_view kPodName = "statefulset.kubernetes.io/pod-name";
inline constexpr std::string_view kPodIndex = "apps.kubernetes.io/pod-index";

// The number in the name of a pod of this set; nothing when it is none of them.
std::optional<std::int32_t> ordinal_of(std::string_view set, std::string_view pod);

// The names of the revisions that pods are of: that of the template, and the one before, until all are of the new one.
struct RevisionNames {
  std::string current;
  std::string update;
};

// The pod of this number as it is to be made, of the template of `revision`.
api::corev1::Pod new_pod(const api::appsv1::StatefulSet& set, const api::corev1::PodTemplateSpec& template_,
                         std::int32_t ordinal, const std::string& revision);
// A new pod of this number is of the update revision, not of the current one.
bool is_updated(const api::appsv1::StatefulSet& set, std::int32_t ordinal);
// It has the labels that tell pods apart.
bool has_identity(const api::corev1::Pod& pod, std::int32_t ordinal);

std::string claim_name(const api::corev1::PersistentVolumeClaim& claim_template, const api::appsv1::StatefulSet& set,
                       std::int32_t ordinal);
// The claims of the pod of this number, without owners.
std::vector<api::corev1::PersistentVolumeClaim> new_claims(const api::appsv1::StatefulSet& set, std::int32_t ordinal);
// Who owns the claim, by the retention policy: the set when it goes with the set, the pod when it goes with a pod that
// goes because the set got smaller. Owners that are neither stay. `pod` may be null.
std::vector<api::metav1::OwnerReference> claim_owners(const api::appsv1::StatefulSet& set,
                                                      const api::corev1::PersistentVolumeClaim& claim,
                                                      std::int32_t ordinal, const api::corev1::Pod* pod);
// The claim is about to go, or was a pod's that has gone: a new pod must wait for a new one.
bool is_stale(const api::corev1::PersistentVolumeClaim& claim, std::string_view pod_name, const api::corev1::Pod* pod);

struct OrdinalStep {
  enum class What : std::uint8_t { Create, Remove, Identify };
  What what = What::Create;
  std::int32_t ordinal = 0;
  api::PodRef pod{};  // not of Create
};
// What is to be done now; nothing when all is as it should be, or has to wait for pods. One step at a time, unless the
// set is Parallel. As on a real cluster, a pod that does not get ready keeps an ordered set from everything else, also
// from going on to a template that would mend it: somebody has to delete that pod.
std::vector<OrdinalStep> next_steps(const api::appsv1::StatefulSet& set, const RevisionNames& revisions,
                                    const std::vector<api::PodRef>& pods, api::Time now);

// When all pods are of the update revision, and ready, that becomes the current one.
api::appsv1::StatefulSetStatus observed(const api::appsv1::StatefulSet& set, const RevisionNames& revisions,
                                        const std::vector<api::PodRef>& pods, api::Time now);

}  // namespace kopper::workloads
