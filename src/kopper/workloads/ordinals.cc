#include "kopper/workloads/ordinals.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "kopper/api/owner.h"
#include "kopper/workloads/pod_template.h"
#include "kopper/workloads/revisions.h"

namespace kopper::workloads {

using api::PodRef;
using api::appsv1::StatefulSet;
using api::appsv1::StatefulSetStatus;
using api::corev1::PersistentVolumeClaim;
using api::corev1::Pod;
using What = OrdinalStep::What;

namespace {

std::int32_t first_of(const StatefulSet& set) { return set.spec.ordinals ? set.spec.ordinals->start : 0; }
std::int32_t wanted(const StatefulSet& set) { return set.spec.replicas.value_or(1); }
bool is_condemned(const StatefulSet& set, std::int32_t ordinal) {
  return ordinal < first_of(set) || ordinal - first_of(set) >= wanted(set);
}

std::int32_t partition_of(const StatefulSet& set) {
  const auto& rolling = set.spec.updateStrategy.rollingUpdate;
  return rolling ? rolling->partition.value_or(0) : 0;
}

bool has_ended(const Pod& pod) { return pod.status.phase == "Failed" || pod.status.phase == "Succeeded"; }
bool is_going(const Pod& pod) { return pod.metadata.deletionTimestamp.is_set(); }
bool runs_and_is_ready(const Pod& pod) { return pod.status.phase == "Running" && api::is_ready(pod); }

std::string revision_of(const Pod& pod) {
  const auto found = pod.metadata.labels.find(std::string(kRevisionLabel));
  return found == pod.metadata.labels.end() ? "" : found->second;
}

// The pods in their places: those that are to be there, and those that are to go, the highest number first.
struct Places {
  Places(const StatefulSet& set, const std::vector<PodRef>& pods, api::Time at)
      : replicas(static_cast<std::size_t>(wanted(set))), min_ready(set.spec.minReadySeconds.value_or(0)), now(at) {
    for (const auto& pod : pods) {
      const auto ordinal = ordinal_of(set.metadata.name, pod->metadata.name);
      if (!ordinal) continue;
      if (is_condemned(set, *ordinal)) {
        condemned.emplace_back(*ordinal, pod);
      } else {
        replicas[static_cast<std::size_t>(*ordinal - first_of(set))] = pod;
      }
    }
    std::ranges::sort(condemned, std::greater(), &std::pair<std::int32_t, PodRef>::first);
  }

  bool serves(const PodRef& pod) const {
    return pod && !is_going(*pod) && runs_and_is_ready(*pod) && api::is_available(*pod, min_ready, now);
  }
  // The first that does not serve is in the way of nobody before it.
  const Pod* first_unavailable() const {
    for (const auto& pod : replicas) {
      if (!serves(pod)) return pod.get();
    }
    for (auto at = condemned.rbegin(); at != condemned.rend(); ++at) {
      if (!serves(at->second)) return at->second.get();
    }
    return nullptr;
  }

  std::vector<PodRef> replicas;
  std::vector<std::pair<std::int32_t, PodRef>> condemned;
  std::int32_t min_ready;
  api::Time now;
};

// Adds what brings pods into place; false when all else must wait.
bool fill(const StatefulSet& set, const Places& places, bool ordered, std::vector<OrdinalStep>& steps) {
  for (std::size_t i = 0; i < places.replicas.size(); ++i) {
    const auto& pod = places.replicas[i];
    const auto ordinal = first_of(set) + static_cast<std::int32_t>(i);
    if (!pod) {
      steps.push_back({What::Create, ordinal});
    } else if (has_ended(*pod)) {
      if (!is_going(*pod)) steps.push_back({What::Remove, ordinal, pod});
    } else {
      if (ordered && !places.serves(pod)) return false;
      if (!is_going(*pod) && !has_identity(*pod, ordinal)) steps.push_back({What::Identify, ordinal, pod});
      continue;
    }
    if (ordered) return false;
  }
  return true;
}

bool shrink(const Places& places, bool ordered, std::vector<OrdinalStep>& steps) {
  const auto* first_unavailable = places.first_unavailable();
  for (const auto& [ordinal, pod] : places.condemned) {
    if (!is_going(*pod)) {
      if (ordered && !places.serves(pod) && pod.get() != first_unavailable) return false;
      steps.push_back({What::Remove, ordinal, pod});
    }
    if (ordered) return false;
  }
  return true;
}

void update(const StatefulSet& set, const Places& places, const std::string& revision,
            std::vector<OrdinalStep>& steps) {
  for (auto i = wanted(set); i-- > partition_of(set);) {
    const auto& pod = places.replicas[static_cast<std::size_t>(i)];
    if (!pod) return;
    if (!is_going(*pod) && !has_ended(*pod) && revision_of(*pod) != revision) {
      steps.push_back({What::Remove, first_of(set) + i, pod});
      return;
    }
    if (!places.serves(pod)) return;
  }
}

}  // namespace

std::optional<std::int32_t> ordinal_of(std::string_view set, std::string_view pod) {
  if (!pod.starts_with(set) || pod.size() < set.size() + 2 || pod[set.size()] != '-') return std::nullopt;
  const auto digits = pod.substr(set.size() + 1);
  if (digits.front() < '0' || digits.front() > '9' || (digits.size() > 1 && digits.front() == '0')) return std::nullopt;
  std::int32_t ordinal = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), ordinal);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return ordinal;
}

Pod new_pod(const StatefulSet& set, const api::corev1::PodTemplateSpec& template_, std::int32_t ordinal,
            const std::string& revision) {
  auto pod = pod_of(template_);
  pod.metadata.name = fmt::format("{}-{}", set.metadata.name, ordinal);
  pod.metadata.generateName = set.metadata.name + "-";
  pod.metadata.labels[std::string(kPodName)] = pod.metadata.name;
  pod.metadata.labels[std::string(kPodIndex)] = fmt::format("{}", ordinal);
  pod.metadata.labels[std::string(kRevisionLabel)] = revision;
  pod.spec.hostname = pod.metadata.name;
  pod.spec.subdomain = set.spec.serviceName;
  for (const auto& one : set.spec.volumeClaimTemplates) {
    std::erase_if(pod.spec.volumes, [&](const auto& volume) { return volume.name == one.metadata.name; });
    api::corev1::Volume volume;
    volume.name = one.metadata.name;
    volume.persistentVolumeClaim.emplace().claimName = claim_name(one, set, ordinal);
    pod.spec.volumes.push_back(std::move(volume));
  }
  return pod;
}

bool is_updated(const StatefulSet& set, std::int32_t ordinal) {
  return set.spec.updateStrategy.type == "OnDelete" || ordinal - first_of(set) >= partition_of(set);
}

bool has_identity(const Pod& pod, std::int32_t ordinal) {
  const auto has = [&](std::string_view label, std::string_view value) {
    const auto found = pod.metadata.labels.find(std::string(label));
    return found != pod.metadata.labels.end() && found->second == value;
  };
  return has(kPodName, pod.metadata.name) && has(kPodIndex, fmt::format("{}", ordinal));
}

std::string claim_name(const PersistentVolumeClaim& claim_template, const StatefulSet& set, std::int32_t ordinal) {
  return fmt::format("{}-{}-{}", claim_template.metadata.name, set.metadata.name, ordinal);
}

std::vector<PersistentVolumeClaim> new_claims(const StatefulSet& set, std::int32_t ordinal) {
  std::vector<PersistentVolumeClaim> claims;
  for (const auto& one : set.spec.volumeClaimTemplates) {
    PersistentVolumeClaim claim;
    claim.metadata.name = claim_name(one, set, ordinal);
    claim.metadata.namespace_ = set.metadata.namespace_;
    claim.metadata.labels = one.metadata.labels;
    claim.metadata.annotations = one.metadata.annotations;
    for (const auto& [key, value] : set.spec.selector.matchLabels) claim.metadata.labels[key] = value;
    claim.spec = one.spec;
    claims.push_back(std::move(claim));
  }
  return claims;
}

std::vector<api::metav1::OwnerReference> claim_owners(const StatefulSet& set, const PersistentVolumeClaim& claim,
                                                      std::int32_t ordinal, const Pod* pod) {
  const auto& policy = set.spec.persistentVolumeClaimRetentionPolicy;
  const bool goes_with_set = policy && policy->whenDeleted == "Delete";
  const bool goes_with_pod = policy && policy->whenScaled == "Delete" && is_condemned(set, ordinal);
  auto owners = claim.metadata.ownerReferences;
  std::erase_if(owners, [&](const auto& owner) {
    return owner.uid == set.metadata.uid || (pod != nullptr && owner.uid == pod->metadata.uid);
  });
  if (goes_with_pod) {
    if (pod != nullptr) owners.push_back(api::owner_reference(Pod::kind, pod->metadata));
  } else if (goes_with_set) {
    owners.push_back(api::owner_reference(StatefulSet::kind, set.metadata));
  }
  return owners;
}

bool is_stale(const PersistentVolumeClaim& claim, std::string_view pod_name, const Pod* pod) {
  if (claim.metadata.deletionTimestamp.is_set()) return true;
  return std::ranges::any_of(claim.metadata.ownerReferences, [&](const auto& owner) {
    return owner.kind == "Pod" && owner.name == pod_name && (pod == nullptr || owner.uid != pod->metadata.uid);
  });
}

std::vector<OrdinalStep> next_steps(const StatefulSet& set, const RevisionNames& revisions,
                                    const std::vector<PodRef>& pods, api::Time now) {
  const Places places(set, pods, now);
  const bool ordered = set.spec.podManagementPolicy != "Parallel";
  std::vector<OrdinalStep> steps;
  if (!fill(set, places, ordered, steps)) return steps;
  if (!shrink(places, ordered, steps)) return steps;
  if (set.spec.updateStrategy.type != "OnDelete") update(set, places, revisions.update, steps);
  return steps;
}

StatefulSetStatus observed(const StatefulSet& set, const RevisionNames& revisions, const std::vector<PodRef>& pods,
                           api::Time now) {
  StatefulSetStatus status;
  status.observedGeneration = set.metadata.generation;
  status.collisionCount = set.status.collisionCount.value_or(0);
  status.currentRevision = revisions.current;
  status.updateRevision = revisions.update;
  for (const auto& pod : pods) {
    if (!ordinal_of(set.metadata.name, pod->metadata.name)) continue;
    ++status.replicas;
    if (runs_and_is_ready(*pod)) {
      ++status.readyReplicas;
      if (api::is_available(*pod, set.spec.minReadySeconds.value_or(0), now)) ++status.availableReplicas;
    }
    if (is_going(*pod)) continue;
    if (revision_of(*pod) == revisions.current) ++status.currentReplicas;
    if (revision_of(*pod) == revisions.update) ++status.updatedReplicas;
  }
  const bool complete = set.spec.updateStrategy.type != "OnDelete" && status.updatedReplicas == wanted(set) &&
                        status.readyReplicas == wanted(set) && status.replicas == wanted(set);
  if (complete) {
    status.currentRevision = revisions.update;
    status.currentReplicas = status.updatedReplicas;
  }
  return status;
}

}  // namespace kopper::workloads
