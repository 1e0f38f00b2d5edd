#include "kopper/meta/schema.h"

#include <gtest/gtest.h>

namespace kopper::meta {
namespace {

json::Value j(std::string_view text) { return *json::parse(text); }

enum class Mode { Fast, Slow };

struct Port {
  std::string name;
  int32_t number = 8080;
  std::string protocol;
};

struct Tree {
  std::vector<Tree> children;
};

struct Shapes {
  bool b = false;
  int32_t i32 = 0;
  int64_t i64 = 0;
  uint32_t u32 = 0;
  uint64_t u64 = 0;
  double real = 0;
  std::string text;
  Bytes bytes;
  Mode mode{};
  json::Value any;
  std::optional<std::string> maybe;
  std::vector<int32_t> list;
  std::map<std::string, bool> map;
  Tree tree;
};

TEST(Schema, KnowsEveryShape) {
  EXPECT_EQ(schema<Shapes>(), j(R"({"type":"object","properties":{
    "b":{"type":"boolean"},"i32":{"type":"integer","format":"int32"},"i64":{"type":"integer","format":"int64"},
    "u32":{"type":"integer","format":"int64","minimum":0,"maximum":4294967295},"u64":{"type":"integer","minimum":0},
    "real":{"type":"number","format":"double"},"text":{"type":"string"},"bytes":{"type":"string","format":"byte"},
    "mode":{"type":"string","enum":["Fast","Slow"],"default":"Fast"},"any":{"x-kubernetes-preserve-unknown-fields":true},
    "maybe":{"type":"string"},"list":{"type":"array","items":{"type":"integer","format":"int32"}},
    "map":{"type":"object","additionalProperties":{"type":"boolean"}},
    "tree":{"type":"object","properties":{"children":{"type":"array",
            "items":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}}}})"));
}

struct Defaults {
  int32_t size = 3;
  std::optional<int32_t> maybe = 4;
  std::vector<std::string> list{"a"};
  Port port{.number = 9};  // says otherwise than Port itself
  std::vector<Port> ports;
  std::optional<Port> unset;
  int32_t needed = 5;
  int32_t without = 6;
  std::map<std::string, std::string> empty;
  static constexpr auto rules =
      kopper::rules(field<&Defaults::needed>.required(), field<&Defaults::without>.no_default(),
                    field<&Defaults::empty>.default_json(R"({"k":"v"})"));
};

TEST(Schema, TakesDefaultsFromInitialisers) {
  const auto s = schema<Defaults>();
  const auto& p = s["properties"];
  EXPECT_EQ(p["size"]["default"], json::Value(3));
  EXPECT_EQ(p["maybe"]["default"], json::Value(4));
  EXPECT_EQ(p["list"]["default"], j(R"(["a"])"));
  EXPECT_EQ(p["port"]["properties"]["number"]["default"], json::Value(9));
  EXPECT_TRUE(p["port"]["default"].is_null());
  EXPECT_EQ(p["ports"]["items"]["properties"]["number"]["default"], json::Value(8080));
  EXPECT_EQ(p["unset"]["properties"]["number"]["default"], json::Value(8080));
  EXPECT_TRUE(p["needed"]["default"].is_null());
  EXPECT_TRUE(p["without"]["default"].is_null());
  EXPECT_EQ(p["empty"]["default"], j(R"({"k":"v"})"));
  EXPECT_EQ(s["required"], j(R"(["needed"])"));
}

struct Ruled {
  int32_t size = 1;
  double ratio = 0;
  std::string host;
  std::string zone;
  std::vector<std::string> hosts;
  std::vector<Port> ports;
  std::vector<std::string> tags;
  std::map<std::string, std::string> labels;
  json::Value port_or_name;
  json::Value raw;
  Port sub;
  static constexpr auto rules = kopper::rules(
      field<&Ruled::size>.min(1).max(5).multiple_of(1).doc("How many."), field<&Ruled::ratio>.above(0.5).below(2),
      field<&Ruled::host>.min_length(1).max_length(9).pattern("^[a-z]+$").format("hostname").immutable().nullable(),
      field<&Ruled::zone>.one_of({"a", "b"}), items<&Ruled::hosts>.pattern("^h"),
      field<&Ruled::hosts>.min_items(1).max_items(2).atomic(), field<&Ruled::ports>.list_map({"name", "number"}),
      field<&Ruled::tags>.list_set(), field<&Ruled::labels>.min_properties(1).max_properties(3).atomic(),
      items<&Ruled::labels>.max_length(63), field<&Ruled::port_or_name>.int_or_string(),
      field<&Ruled::raw>.embedded_resource(), field<&Ruled::sub>.preserve_unknown(),
      object.cel("self.size > 1", "too small").cel("true"));
};

TEST(Schema, AppliesRules) {
  EXPECT_EQ(schema<Ruled>(), j(R"({"type":"object","properties":{
    "size":{"type":"integer","format":"int32","description":"How many.","minimum":1,"maximum":5,"multipleOf":1,"default":1},
    "ratio":{"type":"number","format":"double","minimum":0.5,"exclusiveMinimum":true,"maximum":2,"exclusiveMaximum":true},
    "host":{"type":"string","format":"hostname","pattern":"^[a-z]+$","minLength":1,"maxLength":9,"nullable":true,
            "x-kubernetes-validations":[{"rule":"self == oldSelf","message":"is immutable"}]},
    "zone":{"type":"string","enum":["a","b"]},
    "hosts":{"type":"array","items":{"type":"string","pattern":"^h"},"minItems":1,"maxItems":2,
             "x-kubernetes-list-type":"atomic"},
    "ports":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name","number"],
             "items":{"type":"object","required":["name"],"properties":{"name":{"type":"string"},
                      "number":{"type":"integer","format":"int32","default":8080},"protocol":{"type":"string"}}}},
    "tags":{"type":"array","items":{"type":"string"},"x-kubernetes-list-type":"set"},
    "labels":{"type":"object","additionalProperties":{"type":"string","maxLength":63},"minProperties":1,"maxProperties":3,
              "x-kubernetes-map-type":"atomic"},
    "port_or_name":{"anyOf":[{"type":"integer"},{"type":"string"}],"x-kubernetes-int-or-string":true},
    "raw":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"x-kubernetes-embedded-resource":true},
    "sub":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"name":{"type":"string"},
           "number":{"type":"integer","format":"int32","default":8080},"protocol":{"type":"string"}}}},
    "x-kubernetes-validations":[{"rule":"self.size > 1","message":"too small"},{"rule":"true"}]})"));
}

}  // namespace
}  // namespace kopper::meta
