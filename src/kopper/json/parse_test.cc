#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "kopper/json/lenient.h"
#include "kopper/json/value.h"

namespace kopper::json {
namespace {

Value parsed(std::string_view text) {
  auto value = parse(text);
  EXPECT_TRUE(value.has_value()) << text << ": " << value.error().str();
  return value ? *value : Value();
}

DecodeError refused(std::string_view text, Limits limits = {}) {
  auto value = parse(text, limits);
  EXPECT_FALSE(value.has_value()) << text << " gave " << dump(*value);
  return value ? DecodeError{} : value.error();
}

TEST(Parse, EveryKindOfValue) {
  const Value v =
      parsed(R"( {"n":null,"t":true,"f":false,"i":-5,"d":1.5,"s":"a\"\u00e9\ud83d\ude00","a":[1,[],{}],"o":{"":0}} )");
  EXPECT_EQ(dump(v),
            "{\"n\":null,\"t\":true,\"f\":false,\"i\":-5,\"d\":1.5,\"s\":\"a\\\"é😀\",\"a\":[1,[],{}],\"o\":{\"\":0}}");
}

TEST(Parse, ScalarsAtTheTop) {
  EXPECT_EQ(parsed("null"), Value());
  EXPECT_EQ(parsed(" true "), Value(true));
  EXPECT_EQ(parsed("-12\n"), Value(-12));
  EXPECT_EQ(parsed("1.25"), Value(1.25));
  EXPECT_EQ(parsed("\"x\""), Value("x"));
}

TEST(Parse, NumbersKeepTheirKind) {
  EXPECT_NE(parsed("[9223372036854775807]")[0].as_int(), nullptr);
  EXPECT_NE(parsed("[-9223372036854775808]")[0].as_int(), nullptr);
  EXPECT_EQ(parsed("[9223372036854775808]")[0], Value(std::uint64_t{1} << 63U));
  EXPECT_EQ(parsed("[18446744073709551615]")[0], Value(~std::uint64_t{0}));
  EXPECT_EQ(*parsed("[18446744073709551616]")[0].as_double(), 0x1p64);
  EXPECT_EQ(*parsed("18446744073709551616").as_double(), 0x1p64);
  EXPECT_EQ(*parsed("[-9223372036854775809]")[0].as_double(), -0x1p63);
  EXPECT_NE(parsed("[1.0]")[0].as_double(), nullptr);
  EXPECT_EQ(parsed("[1e2]")[0], Value(100));
  EXPECT_EQ(*parsed("[0.1]")[0].as_double(), 0.1);
  EXPECT_EQ(*parsed("[305666.6666666666648]")[0].as_double(), 305666.6666666666648);
  EXPECT_EQ(*parsed("[0.1000000000000000055511151231257827]")[0].as_double(), 0.1);
  EXPECT_EQ(*parsed("[5e-324]")[0].as_double(), 5e-324);
}

// A document beside a text that is not ASCII is read by simdjson, alone it may be read without it.
TEST(Parse, PlainDocumentsAreReadAlike) {
  for (const std::string_view text :
       {R"({})", R"([])", R"( { "a" : [ 1 , -2,0, 18446744073709551615, 999999999999999999, 1e3, 1.5, -0 ] } )",
        R"({"a":"\"\\\/\b\f\n\r\t","long enough for words":"exactly8","k:{\"name\":\"web\"}":{".":{}}})",
        R"({"a":"\u0041","b":"\ud83d\ude00"})", R"([true,false,null,[[[{"a":{"b":[]}}]]]])", "[\t1\r,\n2 ]",
        "{\"a\":1\t}", R"({"":""})", "[\"\x7f\"]"}) {
    const auto alone = parse(text);
    const auto beside = parse("[" + std::string(text) + ",\"\xC3\xA9\"]");
    ASSERT_TRUE(alone && beside) << text;
    EXPECT_EQ(dump(*alone), dump((*beside)[0])) << text;
  }
  for (const std::string_view text :
       {R"({"a":1,})", R"({"a" 1})", R"({"a":1 "b":2})", R"([1 2])", R"([1,])",   R"([,1])",     R"({a:1})", R"([01])",
        R"([-])",      R"([tru])",   R"([truex])",       R"(["a)",   R"(["\x"])", R"({"a":1}})", R"([1]x)",  "[\"\n\"]",
        "[1.]",        "{",          R"({"a":1,"a":2})", R"([1)"})
    EXPECT_FALSE(parse(text)) << text;
}

TEST(Parse, RefusesWhatIsNotJson) {
  for (const char* text : {"",
                           " ",
                           "{",
                           "}",
                           "[",
                           "]",
                           "[[",
                           "[1",
                           "[1,",
                           "[1,]",
                           "[,1]",
                           "[1 2]",
                           "{\"a\"}",
                           "{\"a\":}",
                           "{\"a\":1,}",
                           "{\"a\" 1}",
                           "{a:1}",
                           "{1:1}",
                           "{]",
                           "[}",
                           "[1}",
                           "{\"a\":1]",
                           "nul",
                           "nulll",
                           "falsep",
                           "truex",
                           "1,2",
                           "1],[2",
                           "[nul]",
                           "[nulll]",
                           "[truee]",
                           "[tru]",
                           "[falsee]",
                           "[fals]",
                           "truefalse",
                           "[+1]",
                           "[01]",
                           "[1.]",
                           "[.5]",
                           "[1e]",
                           "[-]",
                           "[0x1]",
                           "[1_0]",
                           "[NaN]",
                           "[Infinity]",
                           "[1e999]",
                           "'a'",
                           "[\"\\x\"]",
                           "[\"\\u12\"]",
                           "\"",
                           "\"a",
                           "[\"a]",
                           "[\"\\ud800\"]",
                           "[\"\\udc00x\"]",
                           "1 2",
                           "[] []",
                           "{} x",
                           "null null",
                           "\"a\" \"b\"",
                           "[1]]",
                           "{\"a\":1}}",
                           "// c\n1",
                           "[1]//",
                           "\xEF\xBB\xBF{}x",
                           "[\"a\nb\"]",
                           "[\"\x01\"]",
                           "tru",
                           "1x",
                           "[1x]"}) {
    refused(text);
  }
  refused(std::string_view("[1]\0", 4));
  refused(std::string_view("\0", 1));
  refused(std::string_view("[\"\0\"]", 5));
}

TEST(Parse, RefusesInvalidUtf8AndSaysWhere) {
  const auto error = refused("{\"a\":\"b\xC3\xA9 \xC3\x28\"}");
  EXPECT_EQ(error.what, "not valid UTF-8");
  EXPECT_EQ(error.offset, 10U);
  refused("[\"\xED\xA0\x80\"]");  // a surrogate
  refused("[\"\xC0\x80\"]");      // overlong
  refused("[\"\xE2\x82");
  EXPECT_EQ(refused("[\"ok\",\"a\tb\"]").offset, 8U);
}

TEST(Parse, ErrorsNameThePath) {
  auto error = refused(R"({"spec":{"containers":[{"name":"a"},{"image":tru}]}})");
  EXPECT_EQ(error.path, "spec.containers[1].image");
  EXPECT_EQ(error.what, "expected a value");
  EXPECT_EQ(error.offset, 45U);

  error = refused(R"({"metadata":{"annotations":{"example.com/a":01}}})");
  EXPECT_EQ(error.path, "metadata.annotations[example.com/a]");
  EXPECT_EQ(error.str(), "metadata.annotations[example.com/a]: invalid number (offset 44)");

  error = refused(R"({"a":[1,2)");
  EXPECT_LE(error.offset, 9U);
  EXPECT_EQ(refused("[1] [2]").offset, 4U);
}

TEST(Parse, LenientKeepsTheLastOfDuplicateKeys) {
  std::vector<std::string> duplicates;
  auto value = parse_lenient(R"({"a":1,"b":[{"x":1,"y":2,"x":3}],"a":{"k":1,"k":2},"c":0})", duplicates);
  ASSERT_TRUE(value.has_value());
  EXPECT_EQ(dump(*value), R"({"a":{"k":2},"b":[{"x":3,"y":2}],"c":0})");
  EXPECT_EQ(duplicates, (std::vector<std::string>{"b[0].x", "a.k", "a"}));
  duplicates.clear();
  EXPECT_FALSE(parse_lenient(R"({"a":)", duplicates).has_value());
  EXPECT_TRUE(parse_lenient(R"({"a":1})", duplicates).has_value());
  EXPECT_TRUE(duplicates.empty());
}

TEST(Parse, RefusesDuplicateKeysInSmallAndLargeObjects) {
  auto error = refused(R"({"a":{"x":1,"y":2,"x":3}})");
  EXPECT_EQ(error.path, "a.x");
  EXPECT_EQ(error.what, "duplicate key");
  refused(R"({"a":1,"\u0061":2})");
  std::string many = "{";
  for (int i = 0; i < 1000; ++i) many += "\"k" + std::to_string(i) + "\":0,";
  parsed(many + "\"last\":0}");
  EXPECT_EQ(refused(many + "\"k500\":0}").path, "k500");
}

TEST(Parse, LimitsDepthAndSize) {
  const auto nested = [](std::size_t n) { return std::string(n, '[') + std::string(n, ']'); };
  parsed(nested(256));
  EXPECT_EQ(refused(nested(257)).what, "nested deeper than 256 levels");
  refused(std::string(1'000'000, '['));
  std::string objects;
  for (int i = 0; i < 5000; ++i) objects += "{\"a\":";
  refused(objects);
  EXPECT_TRUE(parse(nested(500), {.depth = 500}).has_value());
  EXPECT_EQ(refused("[1,2,3]", {.bytes = 6}).what, "larger than 6 bytes");
}

TEST(Parse, StateOfAFailedParseDoesNotLeakIntoTheNext) {
  refused(R"({"a":[1,2,{"b":x}]})");
  EXPECT_EQ(parsed("[{\"a\":1}]"), Value(Array{Object{{"a", 1}}}));
}

TEST(Parse, LargeDocumentsDoNotKeepTheirScratch) {
  const std::string big = "[\"" + std::string(std::size_t{6} << 20U, 'x') + "\"]";
  EXPECT_EQ(parsed(big)[0].as_string()->size(), std::size_t{6} << 20U);
  EXPECT_EQ(parsed("[1]"), Value(Array{1}));
}

}  // namespace
}  // namespace kopper::json
