#include "kopper/workloads/volumes.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/base/error.h"
#include "kopper/rt/file.h"
#include "kopper/rt/loop.h"
#include "kopper/workloads/test_folder.h"

namespace kopper::workloads {
namespace {

namespace fs = std::filesystem;
using api::corev1::ConfigMap;
using api::corev1::Container;
using api::corev1::Pod;
using api::corev1::Secret;
using api::corev1::Volume;
using api::corev1::VolumeMount;
using ::testing::HasSubstr;

api::Time at(int seconds) { return api::Time(std::chrono::sys_seconds(std::chrono::seconds(1'800'000'000 + seconds))); }

struct VolumesTest : ::testing::Test {
  VolumesTest() {
    pod.metadata = {.name = "web", .namespace_ = "shop", .uid = "u-1"};
    pod.metadata.labels = {{"app", "web"}};
    pod.spec.containers.push_back({.name = "main"});
    config.data = {{"a.conf", "one"}, {"b.conf", "two"}};
    secret.data = {{"password", {"s3cret"}}};
  }

  VolumeSources sources() {
    VolumeSources all;
    all.objects.config_map = [this](std::string_view name) {
      return name == "settings" ? std::make_shared<const ConfigMap>(config) : nullptr;
    };
    all.objects.secret = [this](std::string_view name) {
      return name == "login" ? std::make_shared<const Secret>(secret) : nullptr;
    };
    all.claim = [this](std::string_view name) { return name == "data" ? bound : std::nullopt; };
    all.token = [this](TokenAsked asked) { return give(std::move(asked)); };
    all.host_paths = {(folder.path() / "allowed").native()};
    return all;
  }
  Task<AccountToken> give(TokenAsked asked) {
    ++tokens;
    co_return AccountToken{.token = asked.audience + std::to_string(tokens),
                           .expires = api::Time(now.point() + std::chrono::seconds(asked.expiration_seconds))};
  }

  Volume& add(std::string name) {
    pod.spec.volumes.push_back({.name = name});
    pod.spec.containers[0].volumeMounts.push_back({.name = name, .mountPath = "/" + name});
    return pod.spec.volumes.back();
  }
  std::optional<api::Time> update() {
    return loop.run(volumes.update(std::make_shared<const Pod>(pod), {.ip = "127.64.0.1"}, now));
  }
  std::string error() {
    try {
      update();
    } catch (const Error& failed) {
      code = failed.code;
      return failed.what();
    }
    return "none";
  }
  Mount mount(VolumeMount how, const Environment& env = {}) {
    Container container;
    container.volumeMounts.push_back(std::move(how));
    return volumes.mounts(container, env).at(0);
  }
  std::string mount_error(VolumeMount how, const Environment& env = {}) {
    try {
      mount(std::move(how), env);
    } catch (const Error& failed) {
      return failed.what();
    }
    return "none";
  }
  fs::path volume(std::string_view name) const { return folder.path() / "pods/u-1/volumes" / name; }

  rt::Loop loop{rt::ClockMode::Manual};
  TestFolder folder;
  Pod pod;
  ConfigMap config;
  Secret secret;
  std::optional<std::string> bound;
  int tokens = 0;
  api::Time now = at(0);
  Code code = Code::Internal;
  PodVolumes volumes{folder.path() / "pods", sources()};
};

TEST_F(VolumesTest, EmptyDirectoriesStayWithThePod) {
  add("scratch").emptyDir.emplace();
  add("memory").emptyDir.emplace().medium = "Memory";
  update();
  rt::write_file_in_place(volume("scratch") / "x", "kept");
  update();
  EXPECT_EQ(rt::read_file(volume("scratch") / "x"), "kept");
  EXPECT_EQ(fs::status(folder.path() / "pods/u-1").permissions(), fs::perms::owner_all);

  const auto seen = volumes.mounts(pod.spec.containers[0], {});
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0].host, volume("scratch").native());
  EXPECT_EQ(seen[0].path, "/scratch");
  EXPECT_FALSE(seen[0].read_only);
  EXPECT_TRUE(mount({.name = "memory", .readOnly = true, .mountPath = "/m"}).read_only);

  remove_pod_files(folder.path() / "pods", "u-1");
  EXPECT_FALSE(fs::exists(folder.path() / "pods/u-1"));
  EXPECT_THROW(remove_pod_files(folder.path() / "pods", ".."), Error);
}

TEST_F(VolumesTest, APodWithoutVolumesHasAHomeToo) {
  update();
  EXPECT_EQ(fs::status(folder.path() / "pods/u-1").permissions(), fs::perms::owner_all);
}

TEST_F(VolumesTest, FilesFollowTheirObjects) {
  add("all").configMap.emplace().name = "settings";
  auto& some = add("some").configMap.emplace();
  some.name = "settings";
  some.items.push_back({.key = "a.conf", .path = "etc/main.conf", .mode = 0640});
  auto& login = add("login").secret.emplace();
  login.secretName = "login";
  login.defaultMode = 0440;
  update();
  EXPECT_EQ(rt::read_file(volume("all") / "a.conf"), "one");
  EXPECT_EQ(rt::read_file(volume("some") / "etc/main.conf"), "one");
  EXPECT_FALSE(fs::exists(volume("some") / "b.conf"));
  EXPECT_EQ(static_cast<unsigned>(fs::status(volume("some") / "etc/main.conf").permissions()), 0640U);
  EXPECT_EQ(rt::read_file(volume("login") / "password"), "s3cret");
  EXPECT_EQ(static_cast<unsigned>(fs::status(volume("login") / "password").permissions()), 0440U);
  EXPECT_TRUE(mount({.name = "all", .mountPath = "/x"}).read_only);

  config.data = {{"a.conf", "new"}};
  config.binaryData = {{"blob", {std::string("\0\1", 2)}}};
  update();
  EXPECT_EQ(rt::read_file(volume("all") / "a.conf"), "new");
  EXPECT_EQ(rt::read_file(volume("all") / "blob"), std::string("\0\1", 2));
  EXPECT_FALSE(fs::exists(volume("all") / "b.conf"));
}

TEST_F(VolumesTest, SaysWhatIsMissing) {
  add("conf").configMap.emplace().name = "none";
  EXPECT_EQ(error(), "MountVolume.SetUp failed for volume \"conf\" : configmap \"none\" not found");
  EXPECT_EQ(code, Code::NotFound);

  pod.spec.volumes[0].configMap->optional = true;
  EXPECT_EQ(error(), "none");

  auto& keys = add("keys").secret.emplace();
  keys.secretName = "login";
  keys.items.push_back({.key = "user", .path = "user"});
  EXPECT_THAT(error(), HasSubstr("references non-existent secret key: user"));
  pod.spec.volumes[1].secret->optional = true;
  EXPECT_EQ(error(), "none");

  add("share").nfs.emplace();
  EXPECT_EQ(error(), "volume \"share\": nfs is not supported here");
  EXPECT_EQ(code, Code::Unsupported);
}

TEST_F(VolumesTest, ProjectsAndRenewsTokens) {
  auto& sources = add("api").projected.emplace().sources;
  auto& token = sources.emplace_back().serviceAccountToken.emplace();
  token.path = "token";
  token.audience = "vault";
  token.expirationSeconds = 1000;
  sources.emplace_back().configMap = {{.name = "settings", .items = {{.key = "a.conf", .path = "ca.crt"}}}};
  auto& file = sources.emplace_back().downwardAPI.emplace().items.emplace_back();
  file.path = "namespace";
  file.fieldRef.emplace().fieldPath = "metadata.namespace";
  EXPECT_EQ(update(), at(800));
  EXPECT_EQ(rt::read_file(volume("api") / "token"), "vault1");
  EXPECT_EQ(rt::read_file(volume("api") / "ca.crt"), "one");
  EXPECT_EQ(rt::read_file(volume("api") / "namespace"), "shop");

  now = at(799);
  EXPECT_EQ(update(), at(800));
  EXPECT_EQ(tokens, 1);
  now = at(800);
  EXPECT_EQ(update(), at(1600));
  EXPECT_EQ(rt::read_file(volume("api") / "token"), "vault2");

  sources.emplace_back().clusterTrustBundle.emplace();
  EXPECT_THAT(error(), HasSubstr("clusterTrustBundle is not supported here"));
}

TEST_F(VolumesTest, FollowsThePodsOwnLabels) {
  auto& file = add("me").downwardAPI.emplace().items.emplace_back();
  file.path = "labels";
  file.fieldRef.emplace().fieldPath = "metadata.labels";
  update();
  EXPECT_EQ(rt::read_file(volume("me") / "labels"), "app=\"web\"");
  pod.metadata.labels["x"] = "y";
  update();
  EXPECT_EQ(rt::read_file(volume("me") / "labels"), "app=\"web\"\nx=\"y\"");
}

TEST_F(VolumesTest, WaitsForClaims) {
  add("disk").persistentVolumeClaim.emplace().claimName = "data";
  EXPECT_THAT(error(), HasSubstr("persistentvolumeclaim \"data\" is not bound yet"));
  EXPECT_EQ(code, Code::Unavailable);
  bound = (folder.path() / "pv").native();
  fs::create_directory(*bound);
  update();
  EXPECT_EQ(mount({.name = "disk", .mountPath = "/d"}).host, *bound);
  EXPECT_EQ(mount({.name = "disk", .mountPath = "/d", .subPath = "a/b"}).host, *bound + "/a/b");
}

TEST_F(VolumesTest, ShowsOnlyListedPathsOfTheMachine) {
  fs::create_directories(folder.path() / "allowed/in");
  fs::create_directories(folder.path() / "secret");
  fs::create_directory_symlink(folder.path() / "secret", folder.path() / "allowed/out");
  auto& source = add("host").hostPath.emplace();
  source.path = (folder.path() / "allowed/in").native();
  update();
  EXPECT_TRUE(mount({.name = "host", .mountPath = "/h"}).read_only);
  EXPECT_EQ(mount_error({.name = "host", .mountPath = "/h", .subPath = "x"}),
            "subPath \"x\" is not in volume \"host\"");

  source.type = "File";
  EXPECT_THAT(error(), HasSubstr("is not a file"));
  source.type.reset();
  for (const auto* path : {"secret", "allowed/out", "allowed/../secret"}) {
    source.path = (folder.path() / path).native();
    EXPECT_THAT(error(), HasSubstr("is not on the list of allowed paths")) << path;
    EXPECT_EQ(code, Code::Forbidden);
  }
}

TEST_F(VolumesTest, PathsBelowVolumesStayInThem) {
  add("scratch").emptyDir.emplace();
  add("conf").configMap.emplace().name = "settings";
  update();
  EXPECT_EQ(mount({.name = "scratch", .mountPath = "/s", .subPathExpr = "$(POD)/logs"}, {{"POD", "web"}}).host,
            (volume("scratch") / "web/logs").native());
  EXPECT_EQ(mount_error({.name = "scratch", .mountPath = "/s", .subPathExpr = "$(NO)"}), "missing value for \"NO\"");
  const auto file = mount({.name = "conf", .mountPath = "/etc/a.conf", .subPath = "a.conf"});
  EXPECT_EQ(rt::read_file(file.host), "one");
  EXPECT_EQ(mount_error({.name = "conf", .mountPath = "/x", .subPath = "no"}),
            "subPath \"no\" is not in volume \"conf\"");

  fs::create_directory_symlink(folder.path(), volume("scratch") / "out");
  for (const auto* path : {"..", "a/../../x", "/etc", "out", "out/pods"}) {
    EXPECT_THAT(mount_error({.name = "scratch", .mountPath = "/s", .subPath = path}), HasSubstr("leads out of"))
        << path;
  }
  EXPECT_EQ(mount_error({.name = "other", .mountPath = "/o"}), "volume \"other\" not found");
}

}  // namespace
}  // namespace kopper::workloads
