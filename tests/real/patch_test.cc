// The four kinds of patch, and who owns which field.
#include "kopper/client/status.h"

#include "real/connect.h"

namespace kopper::testing {
namespace {

using client::PatchType;
using ::testing::AllOf;
using ::testing::HasSubstr;

struct Patches : Real {
  json::Value parse(std::string_view text) { return *json::parse(text); }
  json::Value deployment(std::string_view image, int replicas) {
    auto made = parse(R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{
      "selector":{"matchLabels":{"app":"web"}},
      "template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"main","image":"x"}]}}}})");
    made["metadata"]["namespace"] = ns;
    made["spec"]["replicas"] = replicas;
    made["spec"]["template"]["spec"]["containers"].as_array()->at(0)["image"] = image;
    return made;
  }
  client::Api<json::Value> deployments() { return client.of(client::resource_of<Deployment>()); }
};

TEST_F(Patches, Json) {
  const auto maps = client.of<ConfigMap>();
  run(maps.create(config_map("a")));
  const auto patch = parse(
      R"([{"op":"test","path":"/data/key","value":"v"},{"op":"add","path":"/data/b","value":"2"},{"op":"remove","path":"/data/key"}])");
  const auto patched = run(maps.patch(key("a"), PatchType::Json, patch));
  EXPECT_EQ(patched.data, (std::map<std::string, std::string>{{"b", "2"}}));
  EXPECT_EQ(error_of(maps.patch(key("a"), PatchType::Json, patch)).code, Code::Invalid);  // the test fails now
}

TEST_F(Patches, Merge) {
  const auto maps = client.of<ConfigMap>();
  run(maps.create(config_map("a")));
  const auto patched = run(maps.patch(key("a"), PatchType::Merge, parse(R"({"data":{"key":null,"b":"2"}})")));
  EXPECT_EQ(patched.data, (std::map<std::string, std::string>{{"b", "2"}}));
}

TEST_F(Patches, StrategicMergesListsByKey) {
  run(deployments().create(deployment("busybox", 1)));
  const auto patch = parse(R"({"spec":{"template":{"spec":{"containers":[{"name":"side","image":"nginx"}]}}}})");
  run(deployments().patch(key("web"), PatchType::Strategic, patch));
  const auto web = run(client.of<Deployment>().get(key("web")));
  EXPECT_EQ(web.spec.template_.spec.containers.size(), 2U);
}

TEST_F(Patches, ApplyCreatesThenChanges) {
  EXPECT_EQ(run(deployments().apply(deployment("a", 1)))["spec"]["replicas"], json::Value(1));
  const auto before = run(deployments().get(key("web")));
  EXPECT_EQ(run(deployments().apply(deployment("a", 2)))["spec"]["replicas"], json::Value(2));
  // The same once more changes nothing, not even the version.
  const auto once = run(deployments().get(key("web")));
  EXPECT_EQ(run(deployments().apply(deployment("a", 2)))["metadata"]["resourceVersion"],
            once["metadata"]["resourceVersion"]);
  EXPECT_NE(before["metadata"]["resourceVersion"], once["metadata"]["resourceVersion"]);
}

TEST_F(Patches, AConflictNamesFieldAndManager) {
  run(deployments().apply(deployment("a", 1), {.field_manager = "alice"}));
  const auto conflict = error_of(deployments().apply(deployment("a", 3), {.field_manager = "bob"}));
  EXPECT_EQ(conflict.code, Code::Conflict);
  EXPECT_EQ(conflict.http_status, 409);
  ASSERT_EQ(conflict.causes.size(), 1U);
  EXPECT_EQ(conflict.causes[0].field, ".spec.replicas");
  EXPECT_EQ(client::manager_of(conflict.causes[0]), "alice");
  EXPECT_THAT(conflict.what(), AllOf(HasSubstr("alice"), HasSubstr(".spec.replicas")));
  EXPECT_EQ(run(deployments().apply(deployment("a", 3), {.field_manager = "bob", .force = true}))["spec"]["replicas"],
            json::Value(3));
}

TEST_F(Patches, ApplyTypedAndToStatus) {
  run(deployments().apply(deployment("a", 1)));
  const auto status = [&] {
    auto made =
        parse(R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"status":{"replicas":7}})");
    made["metadata"]["namespace"] = ns;
    return made;
  }();
  EXPECT_EQ(run(deployments().apply(status, {.subresource = "status"}))["status"]["replicas"], json::Value(7));

  auto typed = config_map("typed");
  EXPECT_EQ(run(client.of<ConfigMap>().apply(typed)).data.at("key"), "v");
  typed.data = {{"other", "w"}};
  EXPECT_EQ(run(client.of<ConfigMap>().apply(typed)).data, typed.data);  // what is no longer applied is removed
}

TEST_F(Patches, WhatWasReadCanBeApplied) {
  run(deployments().apply(deployment("a", 1)));
  auto live = run(deployments().get(key("web")));
  live["spec"]["replicas"] = 4;
  EXPECT_EQ(run(deployments().apply(live, {.force = true}))["spec"]["replicas"], json::Value(4));
}

TEST_F(Patches, ApplyDryRun) {
  run(deployments().apply(deployment("a", 1), {.dry_run = true}));
  EXPECT_FALSE(run(deployments().find(key("web"))));
}

}  // namespace
}  // namespace kopper::testing
