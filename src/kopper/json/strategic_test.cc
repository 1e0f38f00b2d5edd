#include "kopper/json/strategic.h"

#include <map>

#include <gtest/gtest.h>

namespace kopper::json {
namespace {

using Table = std::map<std::string_view, MergeField>;

MergeField lookup(const void* type, std::string_view name) {
  const auto& table = *static_cast<const Table*>(type);
  const auto found = table.find(name);
  return found == table.end() ? MergeField{} : found->second;
}

using enum MergeField::Strategy;

// As much of a Pod as the cases need.
const Table kContainer{{"ports", {Merge, "containerPort", {}}}, {"env", {Merge, "name", {}}}};
const Table kMeta{{"finalizers", {Merge, "", {}}}};
const Table kSpec{{"containers", {Merge, "name", {&kContainer, lookup}}},
                  {"tolerations", {}},
                  {"strategy", {Replace, "", {}}},
                  {"volumes", {Merge, "name", {}}}};
const Table kPod{{"metadata", {Default, "", {&kMeta, lookup}}}, {"spec", {Default, "", {&kSpec, lookup}}}};

std::string patched(std::string_view target, std::string_view patch) {
  const auto t = parse(target);
  const auto p = parse(patch);
  EXPECT_TRUE(t && p) << target << patch;
  auto result = apply_strategic_patch(*t, *p, {&kPod, lookup});
  return result ? dump(*result) : "error: " + result.error().path + ": " + result.error().what;
}

std::string spec(std::string_view target, std::string_view patch) {
  const std::string result =
      patched(std::string(R"({"spec":)").append(target) + "}", std::string(R"({"spec":)").append(patch) + "}");
  return result.starts_with(R"({"spec":)") ? result.substr(8, result.size() - 9) : result;
}

TEST(Strategic, ListsOfObjectsMergeByKey) {
  EXPECT_EQ(
      spec(R"({"containers":[{"name":"a","image":"a:1","env":[{"name":"X","value":"1"}]},{"name":"b","image":"b:1"}]})",
           R"({"containers":[{"name":"b","image":"b:2"},{"name":"a","env":[{"name":"Y","value":"2"}]}]})"),
      R"({"containers":[{"name":"b","image":"b:2"},{"name":"a","image":"a:1","env":[{"name":"Y","value":"2"},{"name":"X","value":"1"}]}]})");
}

TEST(Strategic, ItemsOfThePatchGoFirstUnlessTheLiveOrderSaysOtherwise) {
  EXPECT_EQ(spec(R"({"volumes":[{"name":"a"},{"name":"b"}]})", R"({"volumes":[{"name":"c"}]})"),
            R"({"volumes":[{"name":"c"},{"name":"a"},{"name":"b"}]})");
  EXPECT_EQ(spec(R"({"volumes":[{"name":"a"},{"name":"b"},{"name":"c"}]})", R"({"volumes":[{"name":"b","x":1}]})"),
            R"({"volumes":[{"name":"a"},{"name":"b","x":1},{"name":"c"}]})");
}

TEST(Strategic, DeletesAnItem) {
  EXPECT_EQ(spec(R"({"containers":[{"name":"a"},{"name":"b"}]})", R"({"containers":[{"$patch":"delete","name":"a"}]})"),
            R"({"containers":[{"name":"b"}]})");
  EXPECT_EQ(spec(R"({"containers":[{"name":"a"}]})", R"({"containers":[{"$patch":"delete","name":"zz"}]})"),
            R"({"containers":[{"name":"a"}]})");
  EXPECT_EQ(spec(R"({})", R"({"containers":[{"$patch":"delete","name":"a"},{"name":"b","x":null}]})"),
            R"({"containers":[{"name":"b"}]})");
}

TEST(Strategic, ReplacesAList) {
  EXPECT_EQ(spec(R"({"containers":[{"name":"a","image":"x"},{"name":"b"}]})",
                 R"({"containers":[{"name":"c"},{"name":"a"},{"$patch":"replace"}]})"),
            R"({"containers":[{"name":"c"},{"name":"a"}]})");
}

TEST(Strategic, ReplacesOrEmptiesAnObject) {
  EXPECT_EQ(spec(R"({"x":{"a":1,"b":2}})", R"({"x":{"$patch":"replace","c":3}})"), R"({"x":{"c":3}})");
  EXPECT_EQ(spec(R"({"x":{"a":1,"b":2}})", R"({"x":{"$patch":"delete"}})"), R"({"x":{}})");
  EXPECT_EQ(spec(R"({"y":1})", R"({"x":{"$patch":"delete"}})"), R"({"y":1})");
  EXPECT_EQ(spec(R"({"x":1})", R"({"x":{"$patch":"delete"}})"), R"({})");
  EXPECT_EQ(patched(R"({"a":1})", R"({"$patch":"replace","b":{"c":null}})"), R"({"b":{}})");
  EXPECT_EQ(spec(R"({"strategy":{"type":"RollingUpdate","rollingUpdate":{}}})", R"({"strategy":{"type":"Recreate"}})"),
            R"({"strategy":{"type":"Recreate"}})");
}

TEST(Strategic, MergesMapsAndRemovesByNull) {
  EXPECT_EQ(
      patched(R"({"metadata":{"labels":{"a":"1","b":"2"}}})", R"({"metadata":{"labels":{"a":null,"c":"3"},"x":null}})"),
      R"({"metadata":{"labels":{"b":"2","c":"3"}}})");
  EXPECT_EQ(patched("null", R"({"metadata":{"labels":{"a":null,"c":"3"}}})"), R"({"metadata":{"labels":{"c":"3"}}})");
}

TEST(Strategic, OtherListsAreReplaced) {
  EXPECT_EQ(spec(R"({"tolerations":[{"key":"a"}],"args":["x"]})", R"({"tolerations":[{"key":"b"}],"args":["y","z"]})"),
            R"({"tolerations":[{"key":"b"}],"args":["y","z"]})");
}

TEST(Strategic, ListsOfScalarsMergeAsSets) {
  EXPECT_EQ(patched(R"({"metadata":{"finalizers":["a","b"]}})", R"({"metadata":{"finalizers":["c","b"]}})"),
            R"({"metadata":{"finalizers":["c","a","b"]}})");
  EXPECT_EQ(patched(R"({"metadata":{"finalizers":["a","b","c"]}})",
                    R"({"metadata":{"$deleteFromPrimitiveList/finalizers":["b","x"]}})"),
            R"({"metadata":{"finalizers":["a","c"]}})");
  EXPECT_EQ(patched(R"({"metadata":{}})", R"({"metadata":{"$deleteFromPrimitiveList/finalizers":["b"]}})"),
            R"({"metadata":{}})");
}

TEST(Strategic, SetsTheOrderOfElements) {
  EXPECT_EQ(
      spec(
          R"({"containers":[{"name":"a"},{"name":"b"},{"name":"live"}]})",
          R"({"$setElementOrder/containers":[{"name":"c"},{"name":"b"},{"name":"a"}],"containers":[{"name":"c","image":"c:1"}]})"),
      R"({"containers":[{"name":"c","image":"c:1"},{"name":"b"},{"name":"a"},{"name":"live"}]})");
  EXPECT_EQ(
      patched(
          R"({"metadata":{"finalizers":["a","b","c"]}})",
          R"({"metadata":{"$setElementOrder/finalizers":["d","c","a"],"finalizers":["d"],"$deleteFromPrimitiveList/finalizers":["b"]}})"),
      R"({"metadata":{"finalizers":["d","c","a"]}})");
  EXPECT_EQ(spec(R"({"containers":[{"name":"a"},{"name":"b"}]})",
                 R"({"$setElementOrder/containers":[{"name":"b"},{"name":"a"}]})"),
            R"({"containers":[{"name":"b"},{"name":"a"}]})");
  EXPECT_EQ(spec(R"({})", R"({"$setElementOrder/containers":[{"name":"b"}]})"), R"({})");
  EXPECT_EQ(
      spec(R"({"containers":[]})", R"({"$setElementOrder/containers":[{"name":"a"}],"containers":[{"name":"zz"}]})"),
      "error: spec.containers: the patch's list and its $setElementOrder do not have the same order");
}

TEST(Strategic, RetainsOnlyNamedKeys) {
  EXPECT_EQ(spec(R"({"volumes":[{"name":"v","emptyDir":{}}]})",
                 R"({"volumes":[{"name":"v","$retainKeys":["name","hostPath"],"hostPath":{"path":"/x"}}]})"),
            R"({"volumes":[{"name":"v","hostPath":{"path":"/x"}}]})");
  EXPECT_EQ(spec(R"({"x":{"a":1,"b":2}})", R"({"x":{"$retainKeys":["a"],"a":3}})"), R"({"x":{"a":3}})");
  EXPECT_EQ(spec(R"({"x":{"a":1}})", R"({"x":{"$retainKeys":["a"],"b":3}})"),
            "error: spec.x.$retainKeys: does not name \"b\", which the patch sets");
}

TEST(Strategic, RefusesWhatKubernetesRefuses) {
  EXPECT_EQ(spec(R"({"containers":[{"name":"a"}]})", R"({"containers":[{"image":"x"}]})"),
            "error: spec.containers: the merge key \"name\" is missing");
  EXPECT_EQ(spec(R"({"containers":[{"name":"a"}]})", R"({"containers":["x"]})"),
            "error: spec.containers: expected an object with \"name\", found a string");
  EXPECT_EQ(spec(R"({"x":{}})", R"({"x":{"$patch":"merge"}})"),
            "error: spec.x: $patch must be \"replace\" or \"delete\", not \"merge\"");
  EXPECT_EQ(patched("[]", "{}"), "error: : cannot patch an array");
  EXPECT_EQ(patched("{}", "[]"), "error: : a strategic merge patch is an object, not an array");
}

TEST(Strategic, KeepsElementsThatShareAMergeKey) {
  EXPECT_EQ(
      spec(
          R"({"containers":[{"name":"a","ports":[{"containerPort":53,"protocol":"TCP"},{"containerPort":53,"protocol":"UDP"}]}]})",
          R"({"containers":[{"name":"a","ports":[{"containerPort":80}]}]})"),
      R"({"containers":[{"name":"a","ports":[{"containerPort":80},{"containerPort":53,"protocol":"TCP"},{"containerPort":53,"protocol":"UDP"}]}]})");
}

}  // namespace
}  // namespace kopper::json
