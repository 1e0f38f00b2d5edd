// Claims and volumes on a whole cluster in this process.
#include "kopper/workloads/local_path.h"

#include <chrono>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/api/gen/storage_v1.h"
#include "kopper/api/names.h"
#include "kopper/testing/cluster.h"

namespace kopper::testing {
namespace {

using namespace std::chrono_literals;
using api::corev1::PersistentVolume;
using api::storagev1::StorageClass;

struct TemporaryDirectory {
  TemporaryDirectory() {
    std::string name = std::filesystem::temp_directory_path() / "kopper-local-path-XXXXXX";
    path = ::mkdtemp(name.data());
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path); }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  std::filesystem::path path;
};

struct Claims : ::testing::Test {
  void apply(const std::string& name, std::string_view spec = "", std::string_view size = "1Gi") {
    cluster.apply(
        fmt::format("{{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {{name: {}}}, spec: {{{} accessModes: "
                    "[ReadWriteOnce], resources: {{requests: {{storage: {}}}}}}}}}",
                    name, spec, size));
  }
  void add_volume(const std::string& name, std::string_view size, std::string_view spec = "") {
    cluster.apply(
        fmt::format("{{apiVersion: v1, kind: PersistentVolume, metadata: {{name: {}}}, spec: {{{} accessModes: "
                    "[ReadWriteOnce], capacity: {{storage: {}}}, hostPath: {{path: /nowhere}}}}}}",
                    name, spec, size));
  }
  void add_pod(const std::string& name, const std::string& claim) {
    cluster.apply(
        fmt::format("{{apiVersion: v1, kind: Pod, metadata: {{name: {}}}, spec: {{nodeName: here, containers: [{{name: "
                    "main, image: "
                    "x}}], volumes: [{{name: data, persistentVolumeClaim: {{claimName: {}}}}}]}}}}",
                    name, claim));
  }
  PersistentVolumeClaim until_bound(std::string_view name) {
    return cluster.until<PersistentVolumeClaim>(
        name, [](const PersistentVolumeClaim& it) { return it.status.phase == "Bound"; });
  }
  void until_phase(std::string_view volume, std::string_view phase) {
    cluster.until<PersistentVolume>(volume, [&](const PersistentVolume& it) { return it.status.phase == phase; });
  }

  TemporaryDirectory directory;
  Cluster cluster{workloads::local_path(directory.path)};
};

TEST_F(Claims, GetADirectoryOfTheDefaultClass) {
  apply("data");
  const auto claim = until_bound("data");
  EXPECT_EQ(claim.spec.storageClassName, "local-path");
  EXPECT_EQ(claim.spec.volumeName, "pvc-" + claim.metadata.uid);
  EXPECT_EQ(claim.status.capacity.at("storage").str(), "1Gi");
  until_phase(claim.spec.volumeName, "Bound");
  const auto volume = cluster.get<PersistentVolume>(claim.spec.volumeName);
  EXPECT_EQ(volume.spec.hostPath->path, (directory.path / claim.spec.volumeName).string());
  EXPECT_TRUE(std::filesystem::is_directory(volume.spec.hostPath->path));
  EXPECT_EQ(volume.spec.claimRef->uid, claim.metadata.uid);
  cluster.settle();
  (void)cluster.writes();
  cluster.advance(11h);
  EXPECT_THAT(cluster.writes(), ::testing::IsEmpty());
}

TEST_F(Claims, TakeTheirDataWithThem) {
  apply("data");
  const auto path = directory.path / until_bound("data").spec.volumeName;
  std::ofstream(path / "file") << "text";
  cluster.remove<PersistentVolumeClaim>("data");
  cluster.until("all is gone", [&] {
    return cluster.list<PersistentVolume>().empty() && cluster.list<PersistentVolumeClaim>().empty();
  });
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(Claims, AreKeptAsLongAsAPodUsesThem) {
  apply("data");
  const auto volume = until_bound("data").spec.volumeName;
  add_pod("user", "data");
  cluster.remove<PersistentVolumeClaim>("data");
  cluster.remove<PersistentVolume>(volume);
  cluster.advance(1min);
  ASSERT_TRUE(cluster.find<PersistentVolumeClaim>("data")) << "the pod is there";
  ASSERT_TRUE(cluster.find<PersistentVolume>(volume)) << "the claim is there";
  EXPECT_TRUE(std::filesystem::exists(directory.path / volume));
  client::DeleteOptions now;
  now.grace_period_seconds = 0;
  cluster.remove<Pod>("user", now);
  cluster.until("all is gone", [&] {
    return cluster.list<PersistentVolume>().empty() && cluster.list<PersistentVolumeClaim>().empty();
  });
  EXPECT_FALSE(std::filesystem::exists(directory.path / volume));
}

TEST_F(Claims, TakeVolumesThatAreThereFirst) {
  add_volume("large", "5Gi", "storageClassName: disks,");
  add_volume("small", "2Gi", "storageClassName: disks,");
  add_volume("meant", "9Gi", "storageClassName: disks, claimRef: {namespace: default, name: b},");
  cluster.settle();
  apply("a", "storageClassName: disks,");
  EXPECT_EQ(until_bound("a").spec.volumeName, "small");
  apply("b", "storageClassName: disks,");
  EXPECT_EQ(until_bound("b").spec.volumeName, "meant");
  apply("c", "storageClassName: disks, volumeName: large,");
  EXPECT_EQ(until_bound("c").status.capacity.at("storage").str(), "5Gi");
  for (const auto* name : {"large", "small", "meant"}) until_phase(name, "Bound");
}

TEST_F(Claims, NeverShareAVolume) {
  for (int i = 0; i < 6; ++i) apply(fmt::format("claim-{}", i), "storageClassName: '',");
  for (int i = 0; i < 4; ++i) add_volume(fmt::format("volume-{}", i), "1Gi");
  const auto bound = [&] {
    std::set<std::string> names;
    for (const auto& claim : cluster.list<PersistentVolumeClaim>()) {
      if (claim.status.phase != "Bound") continue;
      EXPECT_TRUE(names.insert(claim.spec.volumeName).second);
    }
    return names.size();
  };
  cluster.until("four are bound", [&] { return bound() == 4; });
  cluster.advance(1min);
  EXPECT_EQ(bound(), 4U);
}

TEST_F(Claims, LeaveVolumesThatAreToBeKept) {
  add_volume("kept", "1Gi");
  apply("data", "storageClassName: '',");
  until_bound("data");
  cluster.remove<PersistentVolumeClaim>("data");
  until_phase("kept", "Released");
  apply("data", "storageClassName: '',");
  cluster.advance(1min);
  EXPECT_EQ(cluster.get<PersistentVolumeClaim>("data").status.phase, "Pending") << "that one held another's data";
}

TEST_F(Claims, WaitForAPodWhenTheClassSaysSo) {
  cluster.apply(
      "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: later}, provisioner: "
      "kopper.dev/local-path, "
      "volumeBindingMode: WaitForFirstConsumer, reclaimPolicy: Retain}");
  apply("data", "storageClassName: later,");
  cluster.advance(1min);
  EXPECT_EQ(cluster.get<PersistentVolumeClaim>("data").status.phase, "Pending");
  add_pod("user", "data");
  const auto volume = until_bound("data").spec.volumeName;
  client::DeleteOptions now;
  now.grace_period_seconds = 0;
  cluster.remove<Pod>("user", now);
  cluster.remove<PersistentVolumeClaim>("data");
  until_phase(volume, "Released");
  EXPECT_TRUE(std::filesystem::exists(directory.path / volume)) << "Retain";
}

TEST_F(Claims, AreLostWithoutTheirVolume) {
  apply("data");
  const auto volume = until_bound("data").spec.volumeName;
  cluster.modify<PersistentVolume>(volume, [](PersistentVolume& it) { it.metadata.finalizers.clear(); });
  cluster.remove<PersistentVolume>(volume);
  cluster.modify<PersistentVolume>(volume, [](PersistentVolume& it) { it.metadata.finalizers.clear(); });
  cluster.until<PersistentVolumeClaim>("data",
                                       [](const PersistentVolumeClaim& it) { return it.status.phase == "Lost"; });
}

TEST_F(Claims, TheSameAfterARestartInTheMiddle) {
  for (int i = 0; i < 5; ++i) {
    apply(fmt::format("claim-{}", i));
    cluster.restart();
  }
  for (int i = 0; i < 5; ++i) until_bound(fmt::format("claim-{}", i));
  EXPECT_EQ(cluster.list<PersistentVolume>().size(), 5U);
  EXPECT_EQ(cluster.list<StorageClass>().size(), 1U);
}

}  // namespace
}  // namespace kopper::testing
