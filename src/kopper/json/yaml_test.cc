#include "kopper/json/yaml.h"

#include <array>

#include <gtest/gtest.h>

namespace kopper::json {
namespace {

Value yaml(std::string_view text) {
  auto documents = parse_yaml(text);
  EXPECT_TRUE(documents.has_value()) << text << ": " << documents.error().str();
  if (!documents || documents->size() != 1) {
    ADD_FAILURE() << "not one document: " << text;
    return {};
  }
  return documents->front().value;
}

DecodeError refused(std::string_view text, YamlLimits limits = {}) {
  auto documents = parse_yaml(text, limits);
  EXPECT_FALSE(documents.has_value()) << text;
  return documents ? DecodeError{} : documents.error();
}

TEST(Yaml, AManifest) {
  const Value v = yaml(R"(apiVersion: v1
kind: Pod   # a comment
metadata: {name: web, labels: {app: web}}
spec:
  containers:
  - name: main
    args: ["--port", "80"]
    command:
    - sh
    - -c
    - |
      echo a
      echo b
  tolerations: []
  description: >-
    folded
    text
)");
  EXPECT_EQ(
      dump(v),
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","labels":{"app":"web"}},"spec":{"containers":[{"name":"main","args":["--port","80"],"command":["sh","-c","echo a\necho b\n"]}],"tolerations":[],"description":"folded text"}})");
}

TEST(Yaml, ScalarsAsKubernetesReadsThem) {
  const std::array<std::pair<const char*, const char*>, 60> cases{{
      {"y", "true"},
      {"Y", "true"},
      {"yes", "true"},
      {"On", "true"},
      {"TRUE", "true"},
      {"n", "false"},
      {"no", "false"},
      {"NO", "false"},
      {"off", "false"},
      {"False", "false"},
      {"yEs", "\"yEs\""},
      {"nope", "\"nope\""},
      {"~", "null"},
      {"null", "null"},
      {"Null", "null"},
      {"nUll", "\"nUll\""},
      {"12", "12"},
      {"-12", "-12"},
      {"+12", "12"},
      {"0", "0"},
      {"-0", "0"},
      {"010", "8"},
      {"0o17", "15"},
      {"0O17", "15"},
      {"0x1F", "31"},
      {"-0x1f", "-31"},
      {"0b101", "5"},
      {"1_000", "1000"},
      {"08", "8"},
      {"09.5", "9.5"},
      {"0x", "\"0x\""},
      {"0xg", "\"0xg\""},
      {"1.5", "1.5"},
      {"1.", "1"},
      {".5", "0.5"},
      {"-.5", "-0.5"},
      {"1e3", "1000"},
      {"1e-7", "1e-7"},
      {"+1.5", "1.5"},
      {"1e999", "\"1e999\""},
      {"1e-999", "0"},
      {"9223372036854775807", "9223372036854775807"},
      {"9223372036854775808", "9223372036854775808"},
      {"18446744073709551615", "18446744073709551615"},
      {"18446744073709551616", "18446744073709552000"},
      {"-9223372036854775808", "-9223372036854775808"},
      {"0x10000000000000000", "18446744073709552000"},
      {"2001-01-23", "\"2001-01-23\""},
      {"2001-12-14T21:59:43Z", "\"2001-12-14T21:59:43Z\""},
      {"1:20", "\"1:20\""},
      {"1.2.3", "\"1.2.3\""},
      {"1e", "\"1e\""},
      {".", "\".\""},
      {"-", "[null]"},
      {"_1", "\"_1\""},
      {"100m", "\"100m\""},
      {"\"yes\"", "\"yes\""},
      {"'12'", "\"12\""},
      {"\"\"", "\"\""},
      {"a b", "\"a b\""},
  }};
  for (const auto& [text, json] : cases) {
    const Value v = yaml(std::string("v: ") + (text == std::string("-") ? "\n - " : text));
    const Value expected = *parse(json);
    EXPECT_EQ(v["v"], expected) << text << " gave " << dump(v["v"]);
    EXPECT_EQ(v["v"].is_string(), expected.is_string()) << text;
  }
  EXPECT_EQ(yaml("v:"), Value(Object{{"v", nullptr}}));
  EXPECT_NE(yaml("v: 08")["v"].as_double(), nullptr);
  EXPECT_NE(yaml("v: 1_000")["v"].as_int(), nullptr);
}

TEST(Yaml, Tags) {
  EXPECT_EQ(yaml("!!str 12"), Value("12"));
  EXPECT_EQ(yaml("!!str"), Value(""));
  EXPECT_EQ(yaml("!!int \"12\""), Value(12));
  EXPECT_NE(yaml("!!float 3").as_double(), nullptr);
  EXPECT_EQ(yaml("!!bool yes"), Value(true));
  EXPECT_EQ(yaml("!!binary aGVsbG8="), Value("hello"));
  EXPECT_EQ(yaml("!!binary |\n  aGVs\n  bG8h\n"), Value("hello!"));
  EXPECT_EQ(yaml("!custom 12"), Value("12"));
  EXPECT_EQ(yaml("!!timestamp 2001-01-01"), Value("2001-01-01"));
  EXPECT_EQ(yaml("!mine {a: 1}"), Value(Object{{"a", 1}}));
  EXPECT_EQ(refused("a: !!int x").what, "line 1, column 4: \"x\" is no !!int");
  refused("!!null x");
  refused("!!bool 1");
  refused("!!binary a");
  refused("!!binary a===");
  refused("!!binary '/w=='");  // a byte that is no text
}

TEST(Yaml, KeysThatAreNotStrings) {
  EXPECT_EQ(dump(yaml("{1: a, true: b, 1.5: c, 0x10: e, 1e6: f}")),
            R"({"1":"a","true":"b","1.5":"c","16":"e","1e+06":"f"})");
  EXPECT_EQ(dump(yaml("on: push")), R"({"true":"push"})");
  EXPECT_EQ(dump(yaml(".inf: 1\n0.00001: 2\n0.1: 3\n123456.0: 4\n0.0: 5")),
            R"({".inf":1,"1e-05":2,"0.1":3,"123456":4,"0":5})");
  EXPECT_EQ(refused("~: 1").what, "line 1, column 1: null cannot be a key");
  refused("[a]: 1");
  refused("{a: 1}: 1");
  refused("{1: a, \"1\": b}");
}

TEST(Yaml, ManyDocumentsWithTheirLines) {
  const auto documents = parse_yaml("# first\na: 1\n---\n---\n# only a comment\n---\n\nb: 2\n...\n---\n- c\n--- ~\n");
  ASSERT_TRUE(documents.has_value());
  ASSERT_EQ(documents->size(), 4U);
  EXPECT_EQ((*documents)[0].line, 2U);
  EXPECT_EQ((*documents)[1].line, 8U);
  EXPECT_EQ((*documents)[2].value, Value(Array{"c"}));
  EXPECT_TRUE((*documents)[3].value.is_null());
  EXPECT_TRUE(parse_yaml("")->empty());
  EXPECT_TRUE(parse_yaml("---\n")->empty());
  EXPECT_TRUE(parse_yaml("# nothing\n")->empty());
}

TEST(Yaml, AnchorsAndMerges) {
  EXPECT_EQ(dump(yaml("a: &x {k: [1]}\nb: *x\nc: &y s\nd: *y\n")), R"({"a":{"k":[1]},"b":{"k":[1]},"c":"s","d":"s"})");
  EXPECT_EQ(dump(yaml("base: &b {x: 1, w: 2}\nall:\n  w: 3\n  <<: *b\n  z: 4\n")),
            R"({"base":{"x":1,"w":2},"all":{"w":3,"z":4,"x":1}})");
  EXPECT_EQ(dump(yaml("- &a {x: 1}\n- &b {x: 2, w: 2}\n- <<: [*a, *b]\n  z: 3\n")),
            R"([{"x":1},{"x":2,"w":2},{"z":3,"x":1,"w":2}])");
  EXPECT_EQ(dump(yaml("\"<<\": 1")), R"({"<<":1})");
  EXPECT_EQ(refused("a: *nope").what, "line 1, column 4: no anchor &nope before this");
  EXPECT_EQ(refused("a: &a [*a]").what, "line 1, column 8: &a contains itself");
  EXPECT_EQ(refused("a: {<<: 1}").path, "a[<<]");
  refused("--- &a x\n--- *a\n");  // anchors end with their document
}

TEST(Yaml, BillionLaughs) {
  std::string text = "a0: &a0 [lol,lol,lol,lol,lol,lol,lol,lol,lol]\n";
  for (int i = 1; i < 12; ++i) {
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 9; ++j) text += (j == 0 ? "*a" : ",*a") + std::to_string(i - 1);
    text += "]\n";
  }
  EXPECT_NE(refused(text).what.find("anchors and aliases make more than"), std::string::npos);
  std::string deep = "- &a0 [x]\n";
  for (int i = 1; i < 300; ++i) deep += "- &a" + std::to_string(i) + " [*a" + std::to_string(i - 1) + "]\n";
  EXPECT_NE(refused(deep).what.find("nested deeper"), std::string::npos);
  std::string nested;
  for (int i = 0; i < 200; ++i) nested += "&n" + std::to_string(i) + " [";
  refused(nested + "\"" + std::string(100'000, 'x') + "\"" + std::string(200, ']'));
}

TEST(Yaml, ErrorsSayWhere) {
  auto error = refused("a: 1\nb:\n  c: [1, {d: 1, d: 2}]\n");
  EXPECT_EQ(error.what, "line 3, column 17: duplicate key");
  EXPECT_EQ(error.path, "b.c[1].d");
  EXPECT_EQ(error.offset, 24U);

  error = refused("é: 1\nb: [1\nc: 2\n");
  EXPECT_NE(error.what.find("line 3"), std::string::npos) << error.what;
  EXPECT_GT(error.offset, 6U);

  error = refused("a: .inf");
  EXPECT_EQ(error.str(), "a: line 1, column 4: .inf has no JSON form (offset 3)");

  refused(".NaN");
  refused("[-.inf]");

  error = refused("a: 1\nb: \xFF\n");
  EXPECT_EQ(error.offset, 8U);
  EXPECT_NE(error.what.find("line 2, column 4"), std::string::npos) << error.what;
  refused("a: b: c");
  refused("\tx");
  refused("a: 1\n b: 2\n");
  refused("{a: 1");
  refused("'x");
  refused("a: @x");
  refused(std::string_view("a: \0", 4));
}

TEST(Yaml, LimitsDepthAndSize) {
  EXPECT_NE(refused(std::string(100'000, '[')).what.find("nested deeper than 256 levels"), std::string::npos);
  std::string blocks;
  for (std::size_t i = 0; i < 1000; ++i) blocks += std::string(i, ' ') + "a:\n";
  refused(blocks);
  EXPECT_EQ(refused("aaaa", {.bytes = 3}).what, "larger than 3 bytes");
}

TEST(Yaml, JsonIsReadAsJson) {
  EXPECT_EQ(yaml("\n {\"a\":\t\"\\ud83d\\ude00\"}\n"), Value(Object{{"a", "😀"}}));
  EXPECT_EQ(yaml("{a: b}"), Value(Object{{"a", "b"}}));
  EXPECT_EQ(parse_yaml("\n\n{\"a\":1}")->front().line, 3U);
}

TEST(ToYaml, LooksLikeKubectl) {
  const Value v = *parse(
      R"({"apiVersion":"v1","metadata":{"creationTimestamp":"2024-01-02T03:04:05Z","labels":{"a":"true","on":"x"},"empty":{}},"spec":{"args":["-c","echo\nhi\n"],"none":[],"cpu":"100m","port":"80","count":80,"f":0.5,"nothing":null,"text":"","nested":[[1,2],{"a":1,"b":2}]}})");
  EXPECT_EQ(to_yaml(v), R"(apiVersion: v1
metadata:
  creationTimestamp: "2024-01-02T03:04:05Z"
  labels:
    a: "true"
    "on": x
  empty: {}
spec:
  args:
  - -c
  - |
    echo
    hi
  none: []
  cpu: 100m
  port: "80"
  count: 80
  f: 0.5
  nothing: null
  text: ""
  nested:
  - - 1
    - 2
  - a: 1
    b: 2
)");
}

TEST(ToYaml, ComesBackAsItWas) {
  for (const char* text : {"",
                           " ",
                           "a ",
                           " a",
                           "a\n",
                           "\na",
                           "\n",
                           "\n\n",
                           "a\n\n",
                           " a\nb",
                           "a \nb",
                           "a\n b\n",
                           "\ta\n",
                           "a\tb",
                           "#x",
                           "a #b",
                           "a: b",
                           "- a",
                           "-",
                           "?",
                           ":",
                           "a:",
                           "{",
                           "}",
                           "[a]",
                           ",",
                           "&a",
                           "*a",
                           "!a",
                           "|",
                           ">",
                           "%a",
                           "@a",
                           "`a",
                           "'",
                           "\"",
                           "\\",
                           "a'b",
                           "---",
                           "...",
                           "--- a",
                           "<<",
                           "=",
                           "null",
                           "~",
                           "yes",
                           "y",
                           "0x1",
                           "1_0",
                           "0o7",
                           ".inf",
                           "1e3",
                           "1:20",
                           "2001-01-01",
                           "a\rb",
                           "a\r\nb",
                           "\xC2\x85",
                           "a\xE2\x80\xA8"
                           "b\n",
                           "\xEF\xBB\xBF"
                           "a",
                           "😀",
                           "é\nè\n",
                           "\x01",
                           "\x7F",
                           "a\n...\nb\n",
                           "a\n---\n",
                           "\n a\nb\n",
                           "  \n a\n",
                           "a\n \n",
                           "\"\n",
                           "trailing\n\n\n"}) {
    const Value v = Object{{"k", text}, {text, Array{text}}};
    EXPECT_EQ(yaml(to_yaml(v)), v) << to_yaml(v);
    EXPECT_EQ(yaml(to_yaml(text)), Value(text)) << to_yaml(text);
  }
  for (const Value& v : {Value(), Value(true), Value(-1), Value(1.5), Value(1e21), Value(1e-7),
                         Value(~std::uint64_t{0}), Value(Array{}), Value(Object{})}) {
    EXPECT_EQ(yaml(to_yaml(v)), v) << to_yaml(v);
  }
  const Value long_key = Object{{std::string(2000, 'k'), Object{{"a", 1}}}};
  EXPECT_EQ(yaml(to_yaml(long_key)), long_key);
  const Value long_text = std::string(5000, 'x') + " " + std::string(5000, 'y');
  EXPECT_EQ(yaml(to_yaml(long_text)), long_text);
}

TEST(ToYaml, RepairsBytesThatAreNotUtf8) { EXPECT_EQ(yaml(to_yaml("a\xFF\xC3")), Value("a\xEF\xBF\xBD\xEF\xBF\xBD")); }

}  // namespace
}  // namespace kopper::json
