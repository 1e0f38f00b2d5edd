#include "kopper/plane/apply/field_set.h"

#include <gtest/gtest.h>

namespace kopper::plane {
namespace {

json::Value parsed(std::string_view text) {
  auto value = json::parse(text);
  if (!value) throw_error(value.error());
  return std::move(*value);
}

FieldSet set(std::string_view text) {
  auto fields = FieldSet::decode(parsed(text));
  if (!fields) throw_error(fields.error());
  return std::move(*fields);
}

std::string text(const FieldSet& fields) { return json::dump(fields.encode()); }

TEST(FieldSet, WritesWhatItReads) {
  constexpr std::string_view kFields =
      R"({"f:metadata":{"f:finalizers":{".":{},"v:\"a.b/c\"":{}},"f:labels":{".":{},"f:app":{}}},)"
      R"("f:spec":{"f:ports":{".":{},"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:port":{}}}}})";
  EXPECT_EQ(text(set(kFields)), kFields);
}

TEST(FieldSet, SortsNumbersAsNumbersAndFieldsBeforeItems) {
  EXPECT_EQ(
      text(set(R"({"v:10":{},"v:9":{},"v:\"a\"":{},"k:{\"p\":10}":{},"k:{\"p\":9}":{},"i:1":{},"f:b":{},"f:a":{}})")),
      R"({"f:a":{},"f:b":{},"k:{\"p\":9}":{},"k:{\"p\":10}":{},"v:9":{},"v:10":{},"v:\"a\"":{},"i:1":{}})");
}

TEST(FieldSet, KeysComeSorted) {
  EXPECT_EQ(text(set(R"({"k:{\"protocol\":\"TCP\",\"port\":80}":{}})")),
            R"({"k:{\"port\":80,\"protocol\":\"TCP\"}":{}})");
}

TEST(FieldSet, PassesOverWhatANewerServerWrote) {
  EXPECT_EQ(text(set(R"({"z:future":{"f:a":{}},"f:b":{"y:c":{}}})")), R"({"f:b":{}})");
}

TEST(FieldSet, RefusesGarbage) {
  for (const char* bad : {R"({"f":{}})", R"({"spec":{}})", R"({"f:a":1})", R"({"k:[]":{}})", R"({"v:{":{}})", R"([])",
                          R"({"i:x":{}})", R"({"k:{\"a\":1} ":{"f:a":[]}})"})
    EXPECT_FALSE(FieldSet::decode(parsed(bad))) << bad;
}

TEST(FieldSet, BoundsDepth) {
  json::Value deep = json::Object();
  for (int i = 0; i < 50; ++i) deep = json::Object{{"f:a", std::move(deep)}};
  EXPECT_TRUE(FieldSet::decode(deep, 50));
  const auto refused = FieldSet::decode(deep, 10);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().what, "nested too deeply");
}

TEST(FieldSet, InsertAndContains) {
  FieldSet fields;
  const std::vector<PathElement> image{PathElement::field("containers"), PathElement::key({{"name", "web"}}),
                                       PathElement::field("image")};
  fields.insert(image);
  EXPECT_TRUE(fields.contains(image));
  EXPECT_FALSE(fields.contains(FieldPath(image).first(2)));
  EXPECT_EQ(fields.str(), R"(.containers[name="web"].image)");
  fields.insert({});
  EXPECT_EQ(fields.size(), 1U);
}

TEST(FieldSet, Algebra) {
  const FieldSet a = set(R"({"f:a":{".":{},"f:b":{}},"f:c":{}})");
  const FieldSet b = set(R"({"f:a":{"f:b":{},"f:d":{}},"f:e":{}})");
  EXPECT_EQ(text(a | b), R"({"f:a":{".":{},"f:b":{},"f:d":{}},"f:c":{},"f:e":{}})");
  EXPECT_EQ(text(a & b), R"({"f:a":{"f:b":{}}})");
  EXPECT_EQ(text(a - b), R"({"f:a":{},"f:c":{}})");
  EXPECT_TRUE((a - a).empty());
  FieldSet rest = a;
  rest.exclude(set(R"({"f:a":{}})"));
  EXPECT_EQ(text(rest), R"({"f:c":{}})");
}

TEST(FieldSet, OnlyTakesPatterns) {
  FieldSet fields = set(
      R"({"f:metadata":{"f:labels":{}},"f:spec":{"f:containers":{"k:{\"name\":\"a\"}":{"f:image":{},"f:resources":{"f:limits":{}}}}}})");
  fields.only(FieldSet::of({{"spec", "containers", "*", "resources"}}));
  EXPECT_EQ(text(fields), R"({"f:spec":{"f:containers":{"k:{\"name\":\"a\"}":{"f:resources":{"f:limits":{}}}}}})");
}

TEST(FieldSet, NamesMembersBeforeWhatIsBelow) { EXPECT_EQ(set(R"({"f:a":{"f:b":{}},"f:z":{}})").str(), ".z\n.a.b"); }

TEST(FieldSet, NumbersAreComparedExactly) {
  EXPECT_EQ(set(R"({"v:1":{},"v:1.0":{}})").size(), 1U);
  EXPECT_EQ(set(R"({"v:9007199254740993":{},"v:9007199254740992.0":{},"v:9007199254740991":{}})").size(), 3U);
  EXPECT_EQ(set(R"({"v:18446744073709551615":{},"v:-1":{},"v:1.5":{}})").size(), 3U);
}

}  // namespace
}  // namespace kopper::plane
