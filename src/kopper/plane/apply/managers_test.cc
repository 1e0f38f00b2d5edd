#include "kopper/plane/apply/managers.h"

#include <gtest/gtest.h>

#include "kopper/api/gen/apps_v1.h"

namespace kopper::plane {
namespace {

json::Value parsed(std::string_view text) {
  auto value = json::parse(text);
  if (!value) throw_error(value.error());
  return std::move(*value);
}

api::Time at(int seconds) { return api::Time(std::chrono::sys_seconds(std::chrono::seconds(1'800'000'000 + seconds))); }

std::string fields_of_manager(const json::Value& object, std::string_view manager) {
  const json::Array* entries = object["metadata"]["managedFields"].as_array();
  if (entries == nullptr) return "";
  for (const json::Value& entry : *entries) {
    if (entry.text("manager") == manager) return json::dump(entry["fieldsV1"]);
  }
  return "";
}

class ManagersTest : public testing::Test {
 protected:
  FieldWrite by(std::string_view manager, int seconds = 0) {
    return {.schema = schema_, .manager = manager, .api_version = "apps/v1", .now = at(seconds)};
  }

  BuiltinSchemas schemas_;
  const Schema& schema_ = schemas_.of(meta::type_of<api::appsv1::Deployment>());
};

constexpr std::string_view kConfig =
    R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a","labels":{"app":"a"}},"spec":{"replicas":1}})";

TEST_F(ManagersTest, ASecondApplierConflicts) {
  const Applied first = apply_config({}, parsed(kConfig), by("one"), false);
  ASSERT_TRUE(first.conflicts.empty());
  EXPECT_EQ(fields_of_manager(first.object, "one"),
            R"({"f:metadata":{"f:labels":{"f:app":{}}},"f:spec":{"f:replicas":{}}})");
  json::Value other = parsed(kConfig);
  other["spec"]["replicas"] = 2;
  const Applied second = apply_config(first.object, other, by("two"), false);
  ASSERT_EQ(second.conflicts.size(), 1U);
  EXPECT_EQ(apply_conflict(second.conflicts).message,
            R"(Apply failed with 1 conflict: conflict with "one": .spec.replicas)");
  const Applied forced = apply_config(first.object, other, by("two", 1), true);
  EXPECT_EQ(fields_of_manager(forced.object, "one"), R"({"f:metadata":{"f:labels":{"f:app":{}}}})");
  EXPECT_EQ(forced.object["spec"]["replicas"], 2);
}

TEST_F(ManagersTest, WhoUpdatesOwnsWhatChanged) {
  json::Value object = parsed(kConfig);
  update_managers({}, object, by("creator"));
  EXPECT_EQ(fields_of_manager(object, "creator"),
            R"({"f:metadata":{"f:labels":{".":{},"f:app":{}}},"f:spec":{"f:replicas":{}}})");
  json::Value after = object;
  after["spec"]["replicas"] = 3;
  update_managers(object, after, by("scaler", 5));
  EXPECT_EQ(fields_of_manager(after, "creator"), R"({"f:metadata":{"f:labels":{".":{},"f:app":{}}}})");
  EXPECT_EQ(fields_of_manager(after, "scaler"), R"({"f:spec":{"f:replicas":{}}})");
}

}  // namespace
}  // namespace kopper::plane
