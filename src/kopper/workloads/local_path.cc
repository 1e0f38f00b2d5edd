#include "kopper/workloads/local_path.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "kopper/workloads/volume_binding.h"

namespace kopper::workloads {

using api::corev1::Namespace;
using api::corev1::PersistentVolume;
using api::corev1::PersistentVolumeClaim;
using api::corev1::Pod;
using api::storagev1::StorageClass;
using runtime::Next;

namespace {

using Claim = runtime::Context<PersistentVolumeClaim>;
using Volume = runtime::Context<PersistentVolume>;
using Directory = std::filesystem::path;

// Of what a change of something that is watched ends before.
constexpr auto kLong = std::chrono::hours(1);

bool is_bound(const PersistentVolumeClaim& claim) {
  return claim.metadata.annotations.contains(std::string(kBindCompleted));
}

void check(const std::error_code& error, const Directory& path) {
  if (!error) return;
  Error failed(Code::Internal, fmt::format("{}: {}", path.string(), error.message()));
  failed.reason = "ProvisioningFailed";
  throw std::move(failed);
}

// Programs in a sandbox may be of another user than we are.
void make_directory(const Directory& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  check(error, path);
  std::filesystem::permissions(path, std::filesystem::perms::all, error);
  check(error, path);
}

void remove_directory(const Directory& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  check(error, path);
}

// With the version that was seen: another claim may be after the same volume.
Task<> reserve(Claim claim, VolumeRef volume) {
  if (is_held_by(*volume, *claim)) co_return;
  json::Value patch = json::Object{};
  patch["metadata"]["resourceVersion"] = volume->metadata.resourceVersion;
  if (!volume->spec.claimRef) patch["metadata"]["annotations"][kBoundByController] = "yes";
  auto& whom = patch["spec"]["claimRef"];
  whom["apiVersion"] = "v1";
  whom["kind"] = "PersistentVolumeClaim";
  whom["namespace"] = claim->metadata.namespace_;
  whom["name"] = claim->metadata.name;
  whom["uid"] = claim->metadata.uid;
  co_await claim.patch(*volume, std::move(patch));
}

Task<> bind(Claim claim, VolumeRef volume) {
  co_await reserve(claim, volume);
  json::Value patch = json::Object{};
  patch["metadata"]["annotations"][kBindCompleted] = "yes";
  if (claim->spec.volumeName.empty()) patch["metadata"]["annotations"][kBoundByController] = "yes";
  patch["spec"]["volumeName"] = volume->metadata.name;
  co_await claim.patch(*claim, std::move(patch));
  co_await claim.set_status(bound_status(*claim, *volume));
}

Task<> provision(Claim claim, StorageClassRef by, Directory directory) {
  make_directory(directory / volume_name(*claim));
  runtime::ChildOptions options;
  options.owned = false;  // what is in no namespace belongs to nobody in one
  auto made = co_await claim.create(new_volume(*claim, *by, directory), options);
  claim.event("ProvisioningSucceeded", "Successfully provisioned volume {}", made.metadata.name);
  co_await bind(claim, std::make_shared<const PersistentVolume>(std::move(made)));
}

bool is_used(const Claim& claim, bool also_unscheduled) {
  cache::Filter filter;
  filter.namespace_ = claim.key().namespace_;
  return std::ranges::any_of(claim.list<Pod>(filter), [&](const auto& pod) {
    if (pod->spec.nodeName.empty() && !also_unscheduled) return false;
    return std::ranges::count(claims_of(*pod), claim.key().name) > 0;
  });
}

// No volume fits: where a new one may come from.
Task<> without_volume(Claim claim, Directory directory) {
  if (!claim->spec.volumeName.empty()) {
    claim.warning("FailedBinding", "volume \"{}\" is not there, does not fit, or is bound to a different claim",
                  claim->spec.volumeName);
    co_return;
  }
  if (!claim->spec.storageClassName) {
    if (const auto by = default_class(claim.list<StorageClass>(cache::Filter()))) {
      json::Value patch = json::Object{};
      patch["spec"]["storageClassName"] = by->metadata.name;
      co_await claim.patch(*claim, std::move(patch));
      co_return;  // it comes again, with the class
    }
  }
  const auto name = claim->spec.storageClassName.value_or("");
  if (name.empty()) {
    claim.event("FailedBinding", "no persistent volumes available for this claim and no storage class is set");
    co_return;
  }
  const auto by = claim.find<StorageClass>(name);
  if (!by) {
    claim.warning("ProvisioningFailed", "storageclass.storage.k8s.io \"{}\" not found", name);
  } else if (by->provisioner != kLocalPathProvisioner) {
    claim.event("ExternalProvisioning", "Waiting for a volume to be created by the external provisioner '{}'",
                by->provisioner);
  } else if (claim->spec.selector) {
    claim.warning("ProvisioningFailed", "claims with a selector get no new volumes");
  } else if (by->volumeBindingMode == "WaitForFirstConsumer" && !is_used(claim, true)) {
    claim.event("WaitForFirstConsumer", "waiting for first consumer to be created before binding");
  } else {
    co_await provision(claim, by, std::move(directory));
  }
}

Task<> keep_bound(Claim claim) {
  const auto volume = claim.find<PersistentVolume>(claim->spec.volumeName);
  if (volume && is_held_by(*volume, *claim)) {
    co_await claim.set_status(bound_status(*claim, *volume));
    co_return;
  }
  if (claim->status.phase != "Lost") {
    claim.warning("ClaimLost", "Bound claim has lost its PersistentVolume. Data on the volume is lost!");
  }
  auto status = claim->status;
  status.phase = "Lost";
  status.capacity.clear();
  status.accessModes.clear();
  co_await claim.set_status(std::move(status));
}

Task<Next> reconcile_claim(Claim claim, Directory directory) {
  if (is_bound(*claim)) {
    co_await keep_bound(claim);
    co_return Next::wait();
  }
  const auto volume = choose_volume(*claim, claim.list<PersistentVolume>(cache::Filter()));
  if (volume) {
    co_await bind(claim, volume);
  } else {
    co_await without_volume(claim, std::move(directory));
  }
  co_return Next::wait();
}

// A pod that is on no node yet cannot start with a claim that is about to go.
Task<Next> finalize_claim(Claim claim) { co_return is_used(claim, false) ? Next::in(kLong) : Next::wait(); }

bool concerns_claim(const PersistentVolumeClaim& claim, const PersistentVolume& volume) {
  return claim.spec.volumeName == volume.metadata.name || is_reserved_for(volume, claim) ||
         (!is_bound(claim) && !volume.spec.claimRef);
}

bool class_concerns(const PersistentVolumeClaim& claim, const StorageClass&) { return !is_bound(claim); }

std::vector<Key> claims_of_pod(const Pod& pod) {
  std::vector<Key> keys;
  for (auto& name : claims_of(pod)) keys.emplace_back(pod.metadata.namespace_, std::move(name));
  return keys;
}

// Data goes only when the server itself says that nobody has it.
Task<std::optional<PersistentVolumeClaim>> holder_of(Volume volume) {
  const auto& whom = volume->spec.claimRef;
  if (!whom) co_return std::nullopt;
  const Key key(whom->namespace_, whom->name);
  const auto cached = volume.find<PersistentVolumeClaim>(key);
  if (cached && is_held_by(*volume, *cached)) co_return *cached;
  auto live = co_await volume.live<PersistentVolumeClaim>().find(key);
  if (live && !is_held_by(*volume, *live)) live.reset();
  co_return std::move(live);
}

Task<Next> reconcile_volume(Volume volume) {
  const auto holder = co_await holder_of(volume);
  const auto status = observed(*volume, holder ? &*holder : nullptr, volume.run().now());
  co_await volume.set_status(status);
  if (status.phase == "Released" && volume->spec.persistentVolumeReclaimPolicy == "Delete" && is_local_path(*volume)) {
    co_await volume.remove(*volume);
  }
  co_return Next::wait();
}

Task<Next> finalize_volume(Volume volume, Directory directory) {
  const auto holder = co_await holder_of(volume);
  if (holder) co_return Next::in(kLong);
  // By its name, not by the path that it says: nothing of others is ever removed.
  if (volume->spec.persistentVolumeReclaimPolicy == "Delete" && is_local_path(*volume)) {
    remove_directory(directory / volume->metadata.name);
  }
  co_return Next::wait();
}

std::vector<Key> volumes_of_claim(const PersistentVolumeClaim& claim) {
  std::vector<Key> keys{{"", volume_name(claim)}};
  if (!claim.spec.volumeName.empty()) keys.emplace_back("", claim.spec.volumeName);
  return keys;
}

// The class is made when we start and there is none: kube-system is there always, and seen then.
Task<Next> ensure_class(runtime::Context<Namespace> space) {
  if (space.key().name == "kube-system" && !space.find<StorageClass>(std::string(kLocalPath))) {
    runtime::ChildOptions options;
    options.owned = false;
    co_await space.create(local_path_class(), options);
  }
  co_return Next::wait();
}

}  // namespace

std::vector<runtime::ControllerSpec> local_path(std::filesystem::path directory) {
  return {
      runtime::controller<Namespace>()
          .name("local-path-class")
          .watches<StorageClass>([](const StorageClass&) { return std::vector<Key>(); })
          .may<StorageClass>({"create"})
          .reconcile(ensure_class),
      runtime::controller<PersistentVolumeClaim>()
          .name("local-path-claim")
          .watches<PersistentVolume>(concerns_claim)
          .watches<StorageClass>(class_concerns)
          .watches<Pod>(claims_of_pod)
          .may<PersistentVolume>({"create", "get", "patch"})
          .may<PersistentVolumeClaim>({"patch"})
          .finalize(finalize_claim, "kubernetes.io/pvc-protection")
          .reconcile([directory](Claim claim) { return reconcile_claim(std::move(claim), directory); }),
      runtime::controller<PersistentVolume>()
          .name("local-path-volume")
          .watches<PersistentVolumeClaim>(volumes_of_claim)
          .may<PersistentVolume>({"delete"})
          .may<PersistentVolumeClaim>({"get"})
          .finalize([directory](Volume volume) { return finalize_volume(std::move(volume), directory); },
                    "kubernetes.io/pv-protection")
          .reconcile(reconcile_volume),
  };
}

}  // namespace kopper::workloads
