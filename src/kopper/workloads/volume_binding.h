#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kopper/api/gen/core_v1.h"
#include "kopper/api/gen/storage_v1.h"
#include "kopper/api/time.h"

// Which volume a claim gets, and what both say of it. Pure.
namespace kopper::workloads {

using VolumeRef = std::shared_ptr<const api::corev1::PersistentVolume>;
using StorageClassRef = std::shared_ptr<const api::storagev1::StorageClass>;

inline constexpr std::string_view kLocalPath = "local-path";
inline constexpr std::string_view kLocalPathProvisioner = "kopper.dev/local-path";
inline constexpr std::string_view kProvisionedBy = "pv.kubernetes.io/provisioned-by";
inline constexpr std::string_view kBindCompleted = "pv.kubernetes.io/bind-completed";
inline constexpr std::string_view kBoundByController = "pv.kubernetes.io/bound-by-controller";

// The class of claims that name none: directories of this machine.
api::storagev1::StorageClass local_path_class();
// The one that is marked as default; of several the newest. Null when there is none.
StorageClassRef default_class(const std::vector<StorageClassRef>& classes);

// The volume is reserved for this claim, by name at least, and for no other of that name.
bool is_reserved_for(const api::corev1::PersistentVolume& volume, const api::corev1::PersistentVolumeClaim& claim);
// This very claim has it.
bool is_held_by(const api::corev1::PersistentVolume& volume, const api::corev1::PersistentVolumeClaim& claim);
// For an unbound claim: the volume that it names, one that is reserved for it, or the smallest free one that does.
// Null when there is none.
VolumeRef choose_volume(const api::corev1::PersistentVolumeClaim& claim, const std::vector<VolumeRef>& volumes);

// A directory for the claim, and the volume that stands for it. Its name follows from the claim, so that there is never
// a second one.
std::string volume_name(const api::corev1::PersistentVolumeClaim& claim);
api::corev1::PersistentVolume new_volume(const api::corev1::PersistentVolumeClaim& claim,
                                         const api::storagev1::StorageClass& storage_class,
                                         const std::filesystem::path& directory);
// It was made by new_volume().
bool is_local_path(const api::corev1::PersistentVolume& volume);

// The names of the claims that the pod's volumes are.
std::vector<std::string> claims_of(const api::corev1::Pod& pod);

api::corev1::PersistentVolumeClaimStatus bound_status(const api::corev1::PersistentVolumeClaim& claim,
                                                      const api::corev1::PersistentVolume& volume);
// `claim`: the one that the volume is reserved for, if it is there.
api::corev1::PersistentVolumeStatus observed(const api::corev1::PersistentVolume& volume,
                                             const api::corev1::PersistentVolumeClaim* claim, api::Time now);

}  // namespace kopper::workloads
