#include "kopper/json/value.h"

#include <limits>

#include <gtest/gtest.h>

namespace kopper::json {
namespace {

TEST(Value, ReadsPathsThatMayNotBeThere) {
  const Value v = Object{{"spec", Object{{"replicas", 3}, {"args", Array{"a", "b"}}}}, {"kind", "Deployment"}};
  ASSERT_NE(v["spec"]["replicas"].as_int(), nullptr);
  EXPECT_EQ(*v["spec"]["replicas"].as_int(), 3);
  EXPECT_EQ(*v["spec"]["args"][1].as_string(), "b");
  EXPECT_TRUE(v["spec"]["args"][2].is_null());
  EXPECT_TRUE(v["status"]["phase"][0]["x"].is_null());
  EXPECT_EQ(v.text("kind"), "Deployment");
  EXPECT_EQ(v.text("spec"), "");
}

TEST(Value, WritingMakesObjectsOnTheWay) {
  Value v;
  v["metadata"]["labels"]["app"] = "web";
  v["metadata"]["name"] = "x";
  EXPECT_EQ(dump(v), R"({"metadata":{"labels":{"app":"web"},"name":"x"}})");
  EXPECT_TRUE(v[0].is_null());
}

TEST(Value, IntegersStayIntegersWhateverTheirWidth) {
  EXPECT_NE(Value(std::uint8_t{7}).as_int(), nullptr);
  EXPECT_NE(Value(7LL).as_int(), nullptr);
  EXPECT_NE(Value(std::size_t{7}).as_int(), nullptr);
  const Value big = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(big.as_int(), nullptr);
  EXPECT_TRUE(big.is_number());
  EXPECT_EQ(dump(big), "18446744073709551615");
  EXPECT_NE(Value(true).as_bool(), nullptr);
}

TEST(Value, NumbersCompareByWhatTheyAre) {
  EXPECT_EQ(Value(1), Value(1.0));
  EXPECT_EQ(Value(0), Value(-0.0));
  EXPECT_NE(Value(1), Value(1.5));
  EXPECT_NE(Value(std::numeric_limits<std::int64_t>::max()), Value(0x1p63));
  EXPECT_EQ(Value(std::uint64_t{1} << 63U), Value(0x1p63));
  EXPECT_NE(Value(std::numeric_limits<std::uint64_t>::max()), Value(0x1p64));
  EXPECT_NE(Value(1), Value(true));
  EXPECT_NE(Value(0), Value());
  EXPECT_EQ(Value(2).number(), 2.0);
  EXPECT_EQ(Value("2").number(), std::nullopt);
}

TEST(Object, EqualityIgnoresOrder) {
  EXPECT_EQ((Object{{"a", 1}, {"b", 2}, {"c", 3}}), (Object{{"a", 1}, {"c", 3}, {"b", 2}}));
  EXPECT_NE((Object{{"a", 1}, {"b", 2}}), (Object{{"a", 1}, {"c", 2}}));
  EXPECT_NE((Object{{"a", 1}}), (Object{{"a", 1}, {"b", 2}}));
  Object forward;
  Object backward;
  for (int i = 0; i < 1000; ++i) forward[std::to_string(i)] = i;
  for (int i = 999; i >= 0; --i) backward[std::to_string(i)] = i;
  EXPECT_EQ(forward, backward);
}

TEST(Object, KeepsInsertionOrderAndOneMemberAKey) {
  Object o{{"b", 1}, {"a", 2}, {"b", 3}};
  EXPECT_EQ(dump(o), R"({"b":3,"a":2})");
  EXPECT_TRUE(o.erase("b"));
  EXPECT_FALSE(o.erase("b"));
  EXPECT_EQ(o.size(), 1U);
}

}  // namespace
}  // namespace kopper::json
