#include "kopper/plane/go_syntax.h"

#include <gtest/gtest.h>

namespace kopper::plane {
namespace {

TEST(GoSyntax, SaysNothingOfJson) {
  for (const char* text : {R"({"a":[1,-0.5e+3,true,false,null,"x\u00e9\n",{}],"b":{"c":[]}})", " 1 ", "[]", "\"\""})
    EXPECT_EQ(go_json_error(text), "") << text;
}

TEST(GoSyntax, NamesTheCharacterAndThePlace) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "unexpected end of JSON input"},
      {"{\"a\":1", "unexpected end of JSON input"},
      {"\"a", "unexpected end of JSON input"},
      {"x", "invalid character 'x' looking for beginning of value"},
      {"{nope", "invalid character 'n' looking for beginning of object key string"},
      {"{\"a\" 1}", "invalid character '1' after object key"},
      {"{\"a\":1 \"b\"}", "invalid character '\"' after object key:value pair"},
      {"{\"a\":1,}", "invalid character '}' looking for beginning of object key string"},
      {"[1 2]", "invalid character '2' after array element"},
      {"[1,]", "invalid character ']' looking for beginning of value"},
      {"this", "invalid character 'h' in literal true (expecting 'r')"},
      {"1.x", "invalid character 'x' after decimal point in numeric literal"},
      {"-x", "invalid character 'x' in numeric literal"},
      {"1ex", "invalid character 'x' in exponent of numeric literal"},
      {"01", "invalid character '1' after top-level value"},
      {"{} {}", "invalid character '{' after top-level value"},
      {"\"\\q\"", "invalid character 'q' in string escape code"},
      {"\"\\u12g4\"", "invalid character 'g' in \\u hexadecimal character escape"},
      {"\"\n\"", "invalid character '\\n' in string literal"},
      {"\x9e", "invalid character '\\u009e' looking for beginning of value"},
      {"'", "invalid character '\\'' looking for beginning of value"},
  };
  for (const auto& [text, error] : cases) EXPECT_EQ(go_json_error(text), error) << text;
}

TEST(GoSyntax, TakesAnyDepth) { EXPECT_EQ(go_json_error(std::string(100'000, '[')), "unexpected end of JSON input"); }

TEST(GoSyntax, NamesTheLineOfYaml) {
  EXPECT_EQ(go_yaml_error("line 1, column 5: no"), "yaml: no");
  EXPECT_EQ(go_yaml_error("line 12, column 5: no: really"), "yaml: line 12: no: really");
  EXPECT_EQ(go_yaml_error("odd"), "yaml: odd");
}

}  // namespace
}  // namespace kopper::plane
