#include "kopper/plane/apply/merge.h"

#include <gtest/gtest.h>

#include "kopper/plane/apply/fields_of.h"
#include "kopper/plane/apply/test_schema.h"

namespace kopper::plane {
namespace {

json::Value parsed(std::string_view text) {
  auto value = json::parse(text);
  if (!value) throw_error(value.error());
  return std::move(*value);
}

class MergeTest : public testing::Test {
 protected:
  std::string merged(std::string_view live, std::string_view config) {
    const auto out = merge(parsed(live), parsed(config), schema_);
    return out ? json::dump(*out) : out.error();
  }
  std::string fields(std::string_view value) { return json::dump(fields_of(parsed(value), schema_).encode()); }
  std::string check(std::string_view config) { return check_config(parsed(config), schema_); }

  SchemaPool pool_;
  BuiltinSchemas builtin_;
  const Schema& schema_ = test_schema(parsed(R"({"type": "object", "properties": {
        "n": {"type": "integer"},
        "map": {"type": "object", "additionalProperties": {"type": "string"}},
        "whole": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": {"type": "string"}},
        "plain": {"type": "array", "items": {"type": "integer"}},
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "list": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k", "p"],
                 "items": {"type": "object", "properties": {
                   "k": {"type": "integer"}, "p": {"type": "string", "default": "TCP"}, "v": {"type": "string"}}}}}})"),
                                      pool_, builtin_, false);
};

TEST_F(MergeTest, ObjectsMergeAndAtomicOnesAreReplaced) {
  EXPECT_EQ(merged(R"({"map":{"a":"1","b":"1"},"whole":{"a":"1"},"plain":[1,2]})",
                   R"({"map":{"b":"2","c":"2"},"whole":{"b":"2"},"plain":[3]})"),
            R"({"map":{"a":"1","b":"2","c":"2"},"whole":{"b":"2"},"plain":[3]})");
}

TEST_F(MergeTest, ItemsThatAreOnlyLiveKeepTheirPlace) {
  EXPECT_EQ(merged(R"({"set":["a","b","c"]})", R"({"set":["x","c"]})"), R"({"set":["a","b","x","c"]})");
  EXPECT_EQ(merged(R"({"set":["a","b","c"]})", R"({"set":["c","a"]})"), R"({"set":["b","c","a"]})");
  EXPECT_EQ(merged(R"({"set":["a","b"]})", R"({"set":["b","c"]})"), R"({"set":["a","b","c"]})");
}

TEST_F(MergeTest, ItemsAreFoundByTheirKeysWithDefaults) {
  EXPECT_EQ(merged(R"({"list":[{"k":1,"v":"a"},{"k":1,"p":"UDP"}]})", R"({"list":[{"k":1,"p":"TCP","v":"b"}]})"),
            R"({"list":[{"k":1,"v":"b","p":"TCP"},{"k":1,"p":"UDP"}]})");
}

TEST_F(MergeTest, NullTakesNothingAwayFromAnObject) {
  EXPECT_EQ(merged(R"({"map":{"a":"1"},"n":1})", R"({"map":null,"n":null})"), R"({"map":{"a":"1"},"n":null})");
  EXPECT_EQ(merged(R"({})", R"({"map":null})"), R"({"map":null})");
}

TEST_F(MergeTest, WithoutTakesMembersAndItems) {
  const FieldSet gone = fields_of(parsed(R"({"map":{"a":""},"list":[{"k":1}],"set":["a"]})"), schema_);
  EXPECT_EQ(json::dump(without(parsed(R"({"map":{"a":"1","b":"1"},"list":[{"k":2},{"k":1}],"set":["a","b"]})"), gone,
                               schema_)),
            R"({"map":{"b":"1"},"list":[{"k":2}],"set":["b"]})");
}

TEST_F(MergeTest, FieldsAreLeavesItemsAndKeys) {
  EXPECT_EQ(fields(R"({"n":1,"map":{"a":"1"},"whole":{"a":"1"},"plain":[],"set":["b","a"],"list":[{"k":1,"v":"x"}]})"),
            R"({"f:list":{"k:{\"k\":1,\"p\":\"TCP\"}":{".":{},"f:k":{},"f:v":{}}},"f:map":{"f:a":{}},"f:n":{},)"
            R"("f:plain":{},"f:set":{"v:\"a\"":{},"v:\"b\"":{}},"f:whole":{}})");
  EXPECT_EQ(fields(R"({"map":{},"set":[],"n":null})"), R"({"f:map":{},"f:n":{}})");
}

TEST_F(MergeTest, ChangesTellAddedModifiedAndRemoved) {
  const Changes all = changes(parsed(R"({"n":1,"map":{"a":"1"},"set":["a","b"]})"),
                              parsed(R"({"n":2,"set":["b","c"],"list":[{"k":1}]})"), schema_);
  EXPECT_EQ(json::dump(all.modified.encode()), R"({"f:n":{}})");
  EXPECT_EQ(json::dump(all.removed.encode()), R"({"f:map":{".":{},"f:a":{}},"f:set":{"v:\"a\"":{}}})");
  EXPECT_EQ(json::dump(all.added.encode()),
            R"({"f:list":{".":{},"k:{\"k\":1,\"p\":\"TCP\"}":{".":{},"f:k":{}}},"f:set":{"v:\"c\"":{}}})");
}

TEST_F(MergeTest, RefusesInTheWordsOfTheServer) {
  EXPECT_EQ(check(R"({"n":"x"})"), ".n: expected numeric (int or float), got string");
  EXPECT_EQ(check(R"({"nope":1})"), ".nope: field not declared in schema");
  EXPECT_EQ(check(R"({"set":["a","a"]})"), R"(.set: duplicate entries for key [="a"])");
  EXPECT_EQ(check(R"({"list":[{"k":1},{"k":1,"p":"TCP"}]})"), R"(.list: duplicate entries for key [k=1,p="TCP"])");
  EXPECT_EQ(check(R"({"map":{"a":1},"set":{}})"),
            "errors:\n  .map.a: expected string, got &value.valueUnstructured{Value:1}\n"
            "  .set: expected list, got &{map[]}");
}

TEST_F(MergeTest, WhatBecameAtomicIsJoined) {
  auto old = FieldSet::decode(parsed(R"({"f:whole":{".":{},"f:a":{}},"f:plain":{"v:1":{}},"f:map":{"f:a":{}}})"));
  join_atomic(*old, schema_);
  EXPECT_EQ(json::dump(old->encode()), R"({"f:map":{"f:a":{}},"f:plain":{},"f:whole":{}})");
}

}  // namespace
}  // namespace kopper::plane
