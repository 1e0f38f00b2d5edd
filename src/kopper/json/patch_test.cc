#include "kopper/json/patch.h"

#include <gtest/gtest.h>

namespace kopper::json {
namespace {

std::string patched(std::string_view doc, std::string_view patch) {
  auto result = apply_patch(*parse(doc), *parse(patch));
  return result ? dump(*result) : "error: " + result.error().path + ": " + result.error().what;
}

// Appendix A of RFC 6902.
TEST(Patch, ExamplesOfTheStandard) {
  EXPECT_EQ(patched(R"({"foo":"bar"})", R"([{"op":"add","path":"/baz","value":"qux"}])"),
            R"({"foo":"bar","baz":"qux"})");
  EXPECT_EQ(patched(R"({"foo":["bar","baz"]})", R"([{"op":"add","path":"/foo/1","value":"qux"}])"),
            R"({"foo":["bar","qux","baz"]})");
  EXPECT_EQ(patched(R"({"baz":"qux","foo":"bar"})", R"([{"op":"remove","path":"/baz"}])"), R"({"foo":"bar"})");
  EXPECT_EQ(patched(R"({"foo":["bar","qux","baz"]})", R"([{"op":"remove","path":"/foo/1"}])"),
            R"({"foo":["bar","baz"]})");
  EXPECT_EQ(patched(R"({"baz":"qux","foo":"bar"})", R"([{"op":"replace","path":"/baz","value":"boo"}])"),
            R"({"baz":"boo","foo":"bar"})");
  EXPECT_EQ(patched(R"({"foo":{"bar":"baz","waldo":"fred"},"qux":{"corge":"grault"}})",
                    R"([{"op":"move","from":"/foo/waldo","path":"/qux/thud"}])"),
            R"({"foo":{"bar":"baz"},"qux":{"corge":"grault","thud":"fred"}})");
  EXPECT_EQ(patched(R"({"foo":["all","grass","cows","eat"]})", R"([{"op":"move","from":"/foo/1","path":"/foo/3"}])"),
            R"({"foo":["all","cows","eat","grass"]})");
  EXPECT_EQ(patched(R"({"baz":"qux","foo":["a",2,"c"]})",
                    R"([{"op":"test","path":"/baz","value":"qux"},{"op":"test","path":"/foo/1","value":2.0}])"),
            R"({"baz":"qux","foo":["a",2,"c"]})");
  EXPECT_EQ(patched(R"({"foo":["bar"]})", R"([{"op":"add","path":"/foo/-","value":["abc","def"]}])"),
            R"({"foo":["bar",["abc","def"]]})");
  EXPECT_EQ(patched(R"({"/":9,"~1":10})", R"([{"op":"test","path":"/~01","value":10}])"), R"({"/":9,"~1":10})");
  EXPECT_EQ(
      patched(R"({"foo":null})", R"([{"op":"copy","from":"/foo","path":"/bar"},{"op":"add","path":"","value":[1]}])"),
      "[1]");
  EXPECT_EQ(patched(R"({"foo":"bar"})", R"([{"op":"add","path":"/child","value":{},"xyz":1}])"),
            R"({"foo":"bar","child":{}})");
}

TEST(Patch, FailuresNameTheOperationAndThePath) {
  EXPECT_EQ(patched(R"({"baz":"qux"})", R"([{"op":"test","path":"/baz","value":"bar"}])"),
            "error: /baz: operation 0 (test): the value is another");
  EXPECT_EQ(patched("{}", R"([{"op":"test","path":"","value":{}},{"op":"replace","path":"/a","value":1}])"),
            "error: /a: operation 1 (replace): nothing there");
  EXPECT_EQ(patched("{}", R"([{"op":"add","path":"/a/b","value":1}])"),
            "error: /a/b: operation 0 (add): its parent is not there");
  EXPECT_EQ(patched("[1]", R"([{"op":"add","path":"/2","value":1}])"),
            "error: /2: operation 0 (add): not a position in the array");
  EXPECT_EQ(patched("{}", R"([{"op":"remove","path":"/a"}])"), "error: /a: operation 0 (remove): nothing there");
  EXPECT_EQ(patched("{}", R"([{"op":"remove","path":""}])"),
            "error: : operation 0 (remove): the whole document cannot be removed");
  EXPECT_EQ(patched(R"({"a":{}})", R"([{"op":"move","from":"/a","path":"/a/b"}])"),
            "error: /a/b: operation 0 (move): a value cannot be moved into itself");
  EXPECT_EQ(patched("{}", R"([{"op":"copy","from":"/x","path":"/y"}])"),
            "error: /x: operation 0 (copy): nothing there");
  EXPECT_EQ(patched("{}", R"([{"op":"spam","path":"/a"}])"), "error: /a: operation 0 (spam): unknown operation");
  EXPECT_EQ(patched("{}", R"([{"op":"add","path":"/a"}])"), "error: /a: operation 0 (add): \"value\" is missing");
  EXPECT_EQ(patched("{}", R"([{"op":"add","value":1}])"),
            "error: : operation 0 (add): \"path\" is missing or not a string");
  EXPECT_EQ(patched("{}", R"([{"path":"/a"}])"), "error: /a: operation 0 (): \"op\" is missing");
  EXPECT_EQ(patched("{}", R"([7])"), "error: : operation 0 (): not an object");
  EXPECT_EQ(patched("{}", R"({})"), "error: : a JSON patch is an array, not an object");
}

TEST(Patch, CopiesCannotBlowUpTheDocument) {
  Array operations;
  for (int i = 0; i < 100; ++i) operations.push_back(Object{{"op", "copy"}, {"from", "/a"}, {"path", "/a/-"}});
  const Value doc = Object{{"a", Array{"some text"}}};
  const auto result = apply_patch(doc, operations);
  ASSERT_FALSE(result.has_value());
  EXPECT_NE(result.error().what.find("copies more than"), std::string::npos);
}

TEST(Patch, CannotNestWithoutEnd) {
  Array operations;
  std::string path;
  for (int i = 0; i < 1000; ++i) {
    path += "/a";
    operations.push_back(Object{{"op", "add"}, {"path", path}, {"value", Object{}}});
  }
  const auto result = apply_patch(Object{}, operations);
  ASSERT_FALSE(result.has_value());
  EXPECT_NE(result.error().what.find("nested too deep"), std::string::npos);
}

TEST(Patch, RefusesTooManyOperations) {
  const Array operations(3, Object{{"op", "test"}, {"path", ""}, {"value", Object{}}});
  EXPECT_FALSE(apply_patch(Object{}, operations, {.operations = 2}).has_value());
  EXPECT_TRUE(apply_patch(Object{}, operations, {.operations = 3}).has_value());
}

TEST(Patch, ReplaceMayAddWhenAsked) {
  const Value object = *parse(R"({"a":{},"list":[1]})");
  PatchLimits limits;
  limits.replace_adds = true;
  const Value patch = *parse(R"([{"op":"replace","path":"/a/b","value":2}])");
  EXPECT_FALSE(apply_patch(object, patch));
  EXPECT_EQ(dump(*apply_patch(object, patch, limits)), R"({"a":{"b":2},"list":[1]})");
  EXPECT_FALSE(apply_patch(object, *parse(R"([{"op":"replace","path":"/none/b","value":2}])"), limits));
  EXPECT_FALSE(apply_patch(object, *parse(R"([{"op":"replace","path":"/list/5","value":2}])"), limits));
}

}  // namespace
}  // namespace kopper::json
