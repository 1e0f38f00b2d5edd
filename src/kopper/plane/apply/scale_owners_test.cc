#include "kopper/plane/apply/scale_owners.h"

#include <gtest/gtest.h>

namespace kopper::plane {
namespace {

json::Value parsed(const char* text) { return json::parse(text).value(); }

const std::vector<PathElement> kReplicas{PathElement::field("spec"), PathElement::field("replicas")};

const char* const kOwners = R"([
  {"manager":"one","operation":"Apply","apiVersion":"apps/v1","fieldsType":"FieldsV1",
   "fieldsV1":{"f:spec":{"f:paused":{},"f:replicas":{}}}},
  {"manager":"two","operation":"Update","apiVersion":"apps/v1","fieldsType":"FieldsV1",
   "fieldsV1":{"f:spec":{"f:paused":{}}}}])";

TEST(ScaleOwners, AreThoseOfTheReplicas) {
  EXPECT_EQ(scale_owners(parsed(kOwners), kReplicas), parsed(R"([
    {"manager":"one","operation":"Apply","apiVersion":"autoscaling/v1","fieldsType":"FieldsV1",
     "fieldsV1":{"f:spec":{"f:replicas":{}}}}])"));
  EXPECT_TRUE(scale_owners(json::Value(), kReplicas).is_null());
}

TEST(ScaleOwners, TakeTheReplicasFromTheOwnersOfTheObject) {
  const json::Value scaler = parsed(R"([
    {"manager":"scaler","operation":"Apply","apiVersion":"autoscaling/v1","fieldsType":"FieldsV1",
     "fieldsV1":{"f:spec":{"f:replicas":{}}},"subresource":"scale"}])");
  EXPECT_EQ(with_scale_owners(parsed(kOwners), scaler, kReplicas, "apps/v1"), parsed(R"([
    {"manager":"one","operation":"Apply","apiVersion":"apps/v1","fieldsType":"FieldsV1",
     "fieldsV1":{"f:spec":{"f:paused":{}}}},
    {"manager":"scaler","operation":"Apply","apiVersion":"apps/v1","fieldsType":"FieldsV1",
     "fieldsV1":{"f:spec":{"f:replicas":{}}},"subresource":"scale"},
    {"manager":"two","operation":"Update","apiVersion":"apps/v1","fieldsType":"FieldsV1",
     "fieldsV1":{"f:spec":{"f:paused":{}}}}])"));
}

TEST(ScaleOwners, KeepWhoAgrees) {
  const json::Value both = parsed(R"([
    {"manager":"one","operation":"Apply","apiVersion":"autoscaling/v1","fieldsType":"FieldsV1",
     "fieldsV1":{"f:spec":{"f:replicas":{}}}}])");
  EXPECT_EQ(with_scale_owners(parsed(kOwners), both, kReplicas, "apps/v1"), parsed(kOwners));
}

}  // namespace
}  // namespace kopper::plane
