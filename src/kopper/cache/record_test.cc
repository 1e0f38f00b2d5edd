#include "kopper/cache/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/json/value.h"

namespace kopper::cache {
namespace {

using testing::HasSubstr;

RecordRef make(std::string_view json) {
  auto record = Record::make(json);
  if (!record) throw Error(Code::Invalid, record.error().str());
  return *record;
}
std::string why(std::string_view json) {
  const auto record = Record::make(json);
  return record ? "(fine)" : record.error().str();
}

constexpr std::string_view kPod = R"({
  "kind": "Pod", "apiVersion": "v1",
  "metadata": {"name": "web-1", "namespace": "shop", "uid": "u-1", "resourceVersion": "18446744073709551615",
    "generation": 7, "deletionTimestamp": "2026-01-01T00:00:00Z",
    "labels": {"app": "web", "tier": "a\"b"}, "annotations": {"note": "x"},
    "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "o-0"},
                        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "o-1", "controller": true}],
    "managedFields": [{"manager": "m", "fieldsV1": {"f:spec": {}}}]},
  "spec": {"nodeName": "n-1", "replicas": 3}})";

TEST(Record, KnowsWhatIsAskedForMostWithoutTheText) {
  const auto pod = make(kPod);
  EXPECT_EQ(pod->key(), Key("shop", "web-1"));
  EXPECT_EQ(pod->uid(), "u-1");
  EXPECT_EQ(pod->resource_version(), UINT64_MAX);
  EXPECT_EQ(pod->generation(), 7);
  EXPECT_TRUE(pod->deleting());
  EXPECT_EQ(pod->controller(), (OwnerView{"apps/v1", "ReplicaSet", "web", "o-1"}));
  EXPECT_EQ(pod->controller()->group(), "apps");
  EXPECT_EQ(pod->labels(), (api::Labels{{"app", "web"}, {"tier", "a\"b"}}));
  EXPECT_EQ(pod->label("tier"), "a\"b");
  EXPECT_EQ(pod->label("none"), std::nullopt);
  EXPECT_EQ(pod->annotations(), (api::Labels{{"note", "x"}}));
  EXPECT_TRUE(pod->matches(*api::Selector::parse("app in (web,api),!none")));
  EXPECT_FALSE(pod->matches(*api::Selector::parse("app!=web")));
}

TEST(Record, KeepsTheTextButForManagedFields) {
  const auto text = make(kPod)->json();
  auto expected = *json::parse(kPod);
  expected["metadata"].as_object()->erase("managedFields");
  EXPECT_EQ(*json::parse(text), expected);
  EXPECT_FALSE(text.contains("managedFields"));
}

TEST(Record, CutsManagedFieldsWhereverTheyStand) {
  const std::string expected = R"({"metadata":{"name":"a"},"spec":{}})";
  for (const auto* text : {R"({"metadata":{"name":"a","managedFields":[{"x":"]}"}]},"spec":{}})",
                           R"({"metadata":{"managedFields":[],"name":"a"},"spec":{}})",
                           R"({"metadata":{"name":"a" , "managedFields" : [ 1, [2] ]},"spec":{}})"}) {
    EXPECT_EQ(*json::parse(make(text)->json()), *json::parse(expected)) << text;
  }
  EXPECT_EQ(make(R"({"metadata":{"name":"a","uid":"u","managedFields":[]},"managedFields":[1]})")->json(),
            R"({"metadata":{"name":"a","uid":"u"},"managedFields":[1]})");
}

TEST(Record, TellsLabelsAndAnnotationsApartWithoutTheText) {
  const auto a = make(R"({"metadata":{"name":"a","labels":{"x":"1"},"annotations":{"n":"1"}}})");
  const auto b = make(R"({"metadata":{"name":"a","labels":{"x":"1"},"annotations":{"n":"2"}},"spec":1})");
  const auto c = make(R"({"metadata":{"name":"a","labels":{"x":"2"}}})");
  EXPECT_TRUE(a->same_labels(*b));
  EXPECT_FALSE(a->same_annotations(*b));
  EXPECT_FALSE(a->same_labels(*c));
  EXPECT_FALSE(a->same_annotations(*c));
}

TEST(Record, FindsFields) {
  const auto pod = make(kPod);
  EXPECT_EQ(pod->field("spec.nodeName"), "n-1");
  EXPECT_EQ(pod->field("spec.replicas"), "3");
  EXPECT_EQ(pod->field("metadata.name"), "web-1");
  EXPECT_EQ(pod->field("spec"), std::nullopt);
  EXPECT_EQ(pod->field("spec.none.deeper"), std::nullopt);
  EXPECT_TRUE(pod->matches(*api::FieldSelector::parse("spec.nodeName=n-1,spec.replicas!=4")));
}

TEST(Record, RefusesWhatIsNoObject) {
  EXPECT_THAT(why(R"({"metadata":{}})"), HasSubstr("metadata.name"));
  EXPECT_THAT(why(R"({"metadata":{"name":3}})"), HasSubstr("metadata.name"));
  EXPECT_THAT(why(R"({"metadata":{"name":"a","labels":[]}})"), HasSubstr("metadata.labels"));
  EXPECT_NE(why(""), "(fine)");
  EXPECT_NE(why("[]"), "(fine)");
  EXPECT_NE(why(R"({"metadata":{"name":"a")"), "(fine)");
  EXPECT_NE(why(R"({"metadata":{"name":")" + std::string(70'000, 'x') + R"("}})"), "(fine)");
}

TEST(Record, AClusterScopedOneWithNothingIsFine) {
  const auto node =
      make(R"({"metadata":{"name":"n","namespace":null,"resourceVersion":"x","generation":1.5,"labels":null}})");
  EXPECT_EQ(node->key(), Key("", "n"));
  EXPECT_EQ(node->resource_version(), 0);
  EXPECT_EQ(node->controller(), std::nullopt);
  EXPECT_FALSE(node->deleting());
}

TEST(RecordRef, SharesAndLetsGo) {
  auto a = make(kPod);
  const auto b = a;
  EXPECT_EQ(a, b);
  a = nullptr;
  EXPECT_EQ(b->name(), "web-1");
  const auto c = RecordRef::share(*b);
  EXPECT_EQ(c, b);
}

TEST(Record, ManagedFieldsThatDoNotEndAreRefused) {
  const auto record = Record::make(R"({"metadata":{"name":"a","managedFields":[{"manager":"m"}},"spec":{"a":1}}})");
  ASSERT_FALSE(record);
  EXPECT_EQ(record.error().path, "metadata.managedFields");
}

}  // namespace
}  // namespace kopper::cache
