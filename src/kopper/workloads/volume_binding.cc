#include "kopper/workloads/volume_binding.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "kopper/api/selector.h"

namespace kopper::workloads {

using api::Quantity;
using api::corev1::PersistentVolume;
using api::corev1::PersistentVolumeClaim;
using api::corev1::PersistentVolumeClaimStatus;
using api::corev1::PersistentVolumeStatus;
using api::corev1::Pod;
using api::storagev1::StorageClass;

namespace {

constexpr std::string_view kDefaultClass = "storageclass.kubernetes.io/is-default-class";

bool says_yes(const api::metav1::ObjectMeta& metadata, std::string_view annotation) {
  const auto found = metadata.annotations.find(std::string(annotation));
  return found != metadata.annotations.end() && found->second == "true";
}

Quantity size_of(const std::map<std::string, Quantity>& resources) {
  const auto found = resources.find("storage");
  return found == resources.end() ? Quantity() : found->second;
}

// What must hold of a volume that was meant for the claim, too.
bool is_enough(const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
  const bool modes = std::ranges::all_of(claim.spec.accessModes, [&](const std::string& mode) {
    return std::ranges::find(volume.spec.accessModes, mode) != volume.spec.accessModes.end();
  });
  const auto mode = [](const std::string& text) { return text.empty() ? "Filesystem" : text; };
  return modes && mode(volume.spec.volumeMode) == mode(claim.spec.volumeMode) &&
         !volume.metadata.deletionTimestamp.is_set() &&
         size_of(volume.spec.capacity) >= size_of(claim.spec.resources.requests);
}

bool is_free_for(const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
  if (volume.spec.claimRef || volume.spec.storageClassName != claim.spec.storageClassName.value_or("")) return false;
  if (!claim.spec.selector) return true;
  const auto selector = api::Selector::from(*claim.spec.selector);
  return selector && selector->matches(volume.metadata.labels);
}

}  // namespace

StorageClass local_path_class() {
  StorageClass out;
  out.metadata.name = kLocalPath;
  out.metadata.annotations[std::string(kDefaultClass)] = "true";
  out.provisioner = kLocalPathProvisioner;
  out.reclaimPolicy = "Delete";
  out.volumeBindingMode = "Immediate";
  return out;
}

StorageClassRef default_class(const std::vector<StorageClassRef>& classes) {
  StorageClassRef out;
  for (const auto& one : classes) {
    if (!says_yes(one->metadata, kDefaultClass)) continue;
    if (!out || one->metadata.creationTimestamp > out->metadata.creationTimestamp) out = one;
  }
  return out;
}

bool is_reserved_for(const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
  const auto& whom = volume.spec.claimRef;
  return whom && whom->namespace_ == claim.metadata.namespace_ && whom->name == claim.metadata.name &&
         (whom->uid.empty() || whom->uid == claim.metadata.uid);
}

bool is_held_by(const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
  return is_reserved_for(volume, claim) && volume.spec.claimRef->uid == claim.metadata.uid;
}

VolumeRef choose_volume(const PersistentVolumeClaim& claim, const std::vector<VolumeRef>& volumes) {
  VolumeRef best;
  for (const auto& volume : volumes) {
    if (!claim.spec.volumeName.empty()) {
      const bool may = !volume->spec.claimRef || is_reserved_for(*volume, claim);
      if (volume->metadata.name == claim.spec.volumeName) return may && is_enough(*volume, claim) ? volume : nullptr;
      continue;
    }
    if (!is_enough(*volume, claim)) continue;
    if (is_reserved_for(*volume, claim)) return volume;
    if (!is_free_for(*volume, claim)) continue;
    if (!best || size_of(volume->spec.capacity) < size_of(best->spec.capacity)) best = volume;
  }
  return best;
}

std::string volume_name(const PersistentVolumeClaim& claim) { return fmt::format("pvc-{}", claim.metadata.uid); }

PersistentVolume new_volume(const PersistentVolumeClaim& claim, const StorageClass& storage_class,
                            const std::filesystem::path& directory) {
  PersistentVolume out;
  out.metadata.name = volume_name(claim);
  out.metadata.annotations[std::string(kProvisionedBy)] = kLocalPathProvisioner;
  out.spec.capacity["storage"] = size_of(claim.spec.resources.requests);
  out.spec.accessModes = claim.spec.accessModes;
  out.spec.volumeMode = claim.spec.volumeMode;
  out.spec.storageClassName = storage_class.metadata.name;
  out.spec.mountOptions = storage_class.mountOptions;
  out.spec.persistentVolumeReclaimPolicy = storage_class.reclaimPolicy.empty() ? "Delete" : storage_class.reclaimPolicy;
  auto& path = out.spec.hostPath.emplace();
  path.path = directory / out.metadata.name;
  path.type = "DirectoryOrCreate";
  auto& whom = out.spec.claimRef.emplace();
  whom.apiVersion = "v1";
  whom.kind = "PersistentVolumeClaim";
  whom.namespace_ = claim.metadata.namespace_;
  whom.name = claim.metadata.name;
  whom.uid = claim.metadata.uid;
  return out;
}

bool is_local_path(const PersistentVolume& volume) {
  const auto found = volume.metadata.annotations.find(std::string(kProvisionedBy));
  return found != volume.metadata.annotations.end() && found->second == kLocalPathProvisioner;
}

std::vector<std::string> claims_of(const Pod& pod) {
  std::vector<std::string> names;
  for (const auto& volume : pod.spec.volumes) {
    if (volume.persistentVolumeClaim) names.push_back(volume.persistentVolumeClaim->claimName);
    if (volume.ephemeral) names.push_back(fmt::format("{}-{}", pod.metadata.name, volume.name));
  }
  return names;
}

PersistentVolumeClaimStatus bound_status(const PersistentVolumeClaim& claim, const PersistentVolume& volume) {
  auto status = claim.status;
  status.phase = "Bound";
  status.accessModes = volume.spec.accessModes;
  status.capacity = volume.spec.capacity;
  return status;
}

PersistentVolumeStatus observed(const PersistentVolume& volume, const PersistentVolumeClaim* claim, api::Time now) {
  PersistentVolumeStatus status;
  if (!volume.spec.claimRef || volume.spec.claimRef->uid.empty()) {
    status.phase = "Available";
  } else if (claim == nullptr || !is_held_by(volume, *claim)) {
    status.phase = "Released";
  } else if (claim->spec.volumeName.empty()) {
    status.phase = "Pending";  // the claim is about to hear of it
  } else {
    status.phase = claim->spec.volumeName == volume.metadata.name ? "Bound" : "Released";
  }
  const bool same = status.phase == volume.status.phase && volume.status.lastPhaseTransitionTime.is_set();
  status.lastPhaseTransitionTime = same ? volume.status.lastPhaseTransitionTime : now;
  return status;
}

}  // namespace kopper::workloads
