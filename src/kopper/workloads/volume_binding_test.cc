#include "kopper/workloads/volume_binding.h"

#include <chrono>

#include <gtest/gtest.h>

namespace kopper::workloads {
namespace {

using api::corev1::PersistentVolume;
using api::corev1::PersistentVolumeClaim;
using api::storagev1::StorageClass;

api::Time at(int seconds) {
  return api::Time(std::chrono::sys_seconds(std::chrono::sys_days(std::chrono::January / 1 / 2026)) +
                   std::chrono::seconds(seconds));
}

PersistentVolumeClaim claim(std::string_view size = "1Gi") {
  PersistentVolumeClaim it;
  it.metadata.namespace_ = "default";
  it.metadata.name = "data";
  it.metadata.uid = "u1";
  it.spec.accessModes = {"ReadWriteOnce"};
  it.spec.storageClassName = "fast";
  it.spec.resources.requests["storage"] = api::Quantity(std::string(size));
  return it;
}

PersistentVolume volume(std::string name, std::string_view size = "1Gi") {
  PersistentVolume it;
  it.metadata.name = std::move(name);
  it.spec.accessModes = {"ReadWriteOnce", "ReadOnlyMany"};
  it.spec.storageClassName = "fast";
  it.spec.capacity["storage"] = api::Quantity(std::string(size));
  return it;
}

void reserve(PersistentVolume& it, std::string name, std::string uid = "") {
  auto& whom = it.spec.claimRef.emplace();
  whom.namespace_ = "default";
  whom.name = std::move(name);
  whom.uid = std::move(uid);
}

std::string chosen(const PersistentVolumeClaim& it, std::vector<PersistentVolume> volumes) {
  std::vector<VolumeRef> all;
  for (auto& one : volumes) all.push_back(std::make_shared<const PersistentVolume>(std::move(one)));
  const auto found = choose_volume(it, all);
  return found ? found->metadata.name : "";
}

TEST(VolumeBinding, TheSmallestThatFits) {
  EXPECT_EQ(chosen(claim(), {volume("small", "500Mi"), volume("large", "9Gi"), volume("right", "2Gi")}), "right");
  auto other_class = volume("slow");
  other_class.spec.storageClassName = "slow";
  auto other_modes = volume("read-only");
  other_modes.spec.accessModes = {"ReadOnlyMany"};
  auto block = volume("block");
  block.spec.volumeMode = "Block";
  auto going = volume("going");
  going.metadata.deletionTimestamp = at(0);
  EXPECT_EQ(chosen(claim(), {other_class, other_modes, block, going}), "");
}

TEST(VolumeBinding, ReservedOnesAreForTheirClaimOnly) {
  auto mine = volume("mine", "9Gi");
  reserve(mine, "data");
  auto theirs = volume("theirs");
  reserve(theirs, "other");
  auto earlier = volume("earlier");
  reserve(earlier, "data", "u0");
  EXPECT_EQ(chosen(claim(), {volume("free"), theirs, earlier, mine}), "mine");
  EXPECT_EQ(chosen(claim(), {theirs, earlier}), "");
}

TEST(VolumeBinding, ByNameAndBySelector) {
  auto named = claim();
  named.spec.volumeName = "b";
  EXPECT_EQ(chosen(named, {volume("a"), volume("b", "9Gi")}), "b");
  EXPECT_EQ(chosen(named, {volume("a"), volume("b", "1Mi")}), "");
  auto taken = volume("b");
  reserve(taken, "other", "u9");
  EXPECT_EQ(chosen(named, {taken}), "");

  auto selecting = claim();
  selecting.spec.selector.emplace().matchLabels["disk"] = "ssd";
  auto ssd = volume("ssd");
  ssd.metadata.labels["disk"] = "ssd";
  EXPECT_EQ(chosen(selecting, {volume("a"), ssd}), "ssd");
}

TEST(VolumeBinding, TheDefaultClassIsTheNewestThatSaysSo) {
  const auto a_class = [](std::string name, int created, bool marked) {
    auto it = std::make_shared<StorageClass>(local_path_class());
    it->metadata.name = std::move(name);
    it->metadata.creationTimestamp = at(created);
    if (!marked) it->metadata.annotations.clear();
    return it;
  };
  EXPECT_EQ(default_class({a_class("a", 1, true), a_class("b", 2, true), a_class("c", 3, false)})->metadata.name, "b");
  EXPECT_EQ(default_class({a_class("c", 3, false)}), nullptr);
}

TEST(VolumeBinding, ANewVolumeIsForItsClaim) {
  const auto made = new_volume(claim("3Gi"), local_path_class(), "/data");
  EXPECT_EQ(made.metadata.name, "pvc-u1");
  EXPECT_EQ(made.spec.hostPath->path, "/data/pvc-u1");
  EXPECT_EQ(made.spec.capacity.at("storage").str(), "3Gi");
  EXPECT_TRUE(is_local_path(made));
  EXPECT_TRUE(is_held_by(made, claim()));
}

TEST(VolumeBinding, PhasesOfAVolume) {
  auto it = volume("a");
  EXPECT_EQ(observed(it, nullptr, at(1)).phase, "Available");
  reserve(it, "data");
  EXPECT_EQ(observed(it, nullptr, at(1)).phase, "Available") << "nobody took it yet";
  reserve(it, "data", "u1");
  EXPECT_EQ(observed(it, nullptr, at(1)).phase, "Released");
  auto holder = claim();
  EXPECT_EQ(observed(it, &holder, at(1)).phase, "Pending");
  holder.spec.volumeName = "a";
  it.status = observed(it, &holder, at(1));
  EXPECT_EQ(it.status.phase, "Bound");
  EXPECT_EQ(observed(it, &holder, at(2)), it.status) << "the time is that of the change";
  EXPECT_EQ(observed(it, nullptr, at(3)).lastPhaseTransitionTime, at(3));
}

}  // namespace
}  // namespace kopper::workloads
