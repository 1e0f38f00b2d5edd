#include "kopper/json/pointer.h"

#include <gtest/gtest.h>

namespace kopper::json {
namespace {

Pointer pointer(std::string_view text) {
  auto parsed = Pointer::parse(text);
  EXPECT_TRUE(parsed.has_value()) << text;
  return parsed ? *parsed : Pointer();
}

// The document and answers of RFC 6901, section 5.
TEST(Pointer, ExamplesOfTheStandard) {
  const Value doc =
      *parse(R"({"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\j":5,"k\"l":6," ":7,"m~n":8})");
  EXPECT_EQ(*pointer("").find(doc), doc);
  EXPECT_EQ(*pointer("/foo").find(doc), Value(Array{"bar", "baz"}));
  EXPECT_EQ(*pointer("/foo/0").find(doc), Value("bar"));
  EXPECT_EQ(*pointer("/").find(doc), Value(0));
  EXPECT_EQ(*pointer("/a~1b").find(doc), Value(1));
  EXPECT_EQ(*pointer("/c%d").find(doc), Value(2));
  EXPECT_EQ(*pointer("/i\\j").find(doc), Value(5));
  EXPECT_EQ(*pointer("/ ").find(doc), Value(7));
  EXPECT_EQ(*pointer("/m~0n").find(doc), Value(8));
}

TEST(Pointer, FindsNothingQuietly) {
  const Value doc = *parse(R"({"a":[1,2],"s":"x"})");
  for (const char* text : {"/b", "/a/2", "/a/-", "/a/01", "/a/x", "/a/-1", "/a/ 1", "/a/", "/s/0", "/a/0/0",
                           "/a/99999999999999999999999"}) {
    EXPECT_EQ(pointer(text).find(doc), nullptr) << text;
  }
}

TEST(Pointer, ParsesAndPrints) {
  for (const char* text : {"", "/", "/a/b", "/a~1b/m~0n", "/~01", "//"}) EXPECT_EQ(pointer(text).str(), text);
  EXPECT_EQ(pointer("/~01").tokens(), std::vector<std::string>{"~1"});
  EXPECT_FALSE(Pointer::parse("a").has_value());
  EXPECT_FALSE(Pointer::parse("/a~").has_value());
  EXPECT_EQ(Pointer::parse("/a~2").error().offset, 2U);
}

}  // namespace
}  // namespace kopper::json
