#include <cstdlib>

#include <gtest/gtest.h>

#include "kopper/json/writer.h"
#include "kopper/meta/decode.h"
#include "kopper/meta/encode.h"

namespace kopper::meta {
namespace {

enum class Mode { Fast, Slow, default_ };
enum class Tiny : std::uint8_t { A, B = 7 };

struct Celsius {
  double degrees = 0;
  friend bool operator==(const Celsius&, const Celsius&) = default;
};
struct Pair {
  std::string left, right;
  friend bool operator==(const Pair&, const Pair&) = default;
};

}  // namespace

// "21.5C", or a plain number.
template <>
struct Codec<Celsius> {
  static bool read(Token token, Celsius& out) {
    if (token.quoted && !token.text.ends_with('C')) return false;
    out.degrees = std::strtod(std::string(token.text).c_str(), nullptr);
    return true;
  }
  static void write(const Celsius& v, json::Writer& out) {
    out.value(std::to_string(static_cast<int>(v.degrees)) + "C");
  }
  static json::Value schema() { return json::Object{{"x-kubernetes-int-or-string", true}}; }
};

// ["left", "right"]
template <>
struct Codec<Pair> {
  static std::expected<Pair, std::string> from_value(const json::Value& v) {
    if (!v[0].is_string() || !v[1].is_string()) return std::unexpected("expected two strings");
    return Pair{*v[0].as_string(), *v[1].as_string()};
  }
  static json::Value to_value(const Pair& v) { return json::Array{v.left, v.right}; }
  static json::Value schema() { return json::Object{{"type", "array"}, {"items", json::Object{{"type", "string"}}}}; }
  static bool empty(const Pair& v) { return v.left.empty() && v.right.empty(); }
};

namespace {

struct Port {
  std::string name;
  int32_t containerPort = 0;
};

struct Everything {
  bool flag = true;
  int32_t i32 = -1;
  int64_t i64 = 2;
  uint32_t u32 = 3;
  uint64_t u64 = 4;
  double real = 0.5;
  std::string text = "initial";
  Bytes bytes;
  Mode mode = Mode::Slow;
  Tiny tiny{};
  Celsius temperature;
  Pair pair;
  json::Value any;
  std::optional<int32_t> maybe;
  std::optional<Port> maybe_port;
  std::vector<Port> ports;
  std::vector<std::string> list{"one", "two"};
  std::map<std::string, std::string> labels;
  std::map<std::string, Port> named;
  Port port;
  Box<Everything> self;
  std::string namespace_;
};

struct Thing {
  static constexpr Kind kind{"example.com", "v1", "Thing"};
  Port port;
};

template <class T>
T ok(std::string_view json) {
  auto result = decode<T>(json);
  EXPECT_TRUE(result) << result.error().str();
  return result ? std::move(*result) : T{};
}

template <class T = Everything>
std::string error(std::string_view json, DecodeOptions options = {}) {
  const auto result = decode<T>(json, options);
  return result ? "decoded" : result.error().str();
}

TEST(Decode, ReadsLongFloatsExactly) {
  for (const char* digits :
       {"0.12345678901234567890123", "9007199254740993.00000000000000001", "-1.0000000000000000000001e-7"}) {
    EXPECT_EQ(ok<Everything>(std::string(R"({"real":)") + digits + "}").real, std::strtod(digits, nullptr)) << digits;
  }
}

TEST(Decode, KeepsInitialisersOfWhatIsAbsentOrNull) {
  for (const char* json :
       {"{}", R"({"flag":null,"i32":null,"text":null,"list":null,"port":null,"mode":null,"labels":null,
                                    "temperature":null,"pair":null,"bytes":null,"maybe":null,"self":null})"}) {
    const auto e = ok<Everything>(json);
    EXPECT_TRUE(e.flag);
    EXPECT_EQ(e.i32, -1);
    EXPECT_EQ(e.text, "initial");
    EXPECT_EQ(e.mode, Mode::Slow);
    EXPECT_EQ(e.list.size(), 2U);
    EXPECT_FALSE(e.maybe);
    EXPECT_TRUE(e.any.is_null());
  }
}

TEST(Decode, ReadsEveryShapeInAnyOrder) {
  const auto e = ok<Everything>(R"( {"namespace":"ns","self":{"i32":9},"port":{"containerPort":80,"name":"web"},
    "named":{"a":{"name":"x"},"b":{}},"labels":{"k":"v","a.b/c":""},"list":["three"],"ports":[{"name":"p"},{}, null],
    "maybe_port":{},"maybe":0,"any":{"deep":[1,2.5,"x",null]},"pair":["l","r"],"temperature":"21C","tiny":"B",
    "mode":"default","bytes":"Zm9v","text":"a\n\u00e9\ud83d\ude00","real":3,"u64":18446744073709551615,"u32":4294967295,
    "i64":-9223372036854775808,"i32":2147483647,"flag":false} )");
  EXPECT_EQ(e.namespace_, "ns");
  EXPECT_EQ(e.self->i32, 9);
  EXPECT_EQ(e.port.containerPort, 80);
  EXPECT_EQ(e.named.at("a").name, "x");
  EXPECT_EQ(e.labels.size(), 2U);
  EXPECT_EQ(e.list, std::vector<std::string>{"three"});
  EXPECT_EQ(e.ports.size(), 3U);
  EXPECT_TRUE(e.maybe_port);
  EXPECT_EQ(e.maybe, 0);
  EXPECT_EQ(*e.any["deep"][2].as_string(), "x");
  EXPECT_EQ(e.pair, (Pair{"l", "r"}));
  EXPECT_EQ(e.temperature.degrees, 21);
  EXPECT_EQ(e.tiny, Tiny::B);
  EXPECT_EQ(e.mode, Mode::default_);
  EXPECT_EQ(e.bytes.data, "foo");
  EXPECT_EQ(e.text, "a\né😀");
  EXPECT_EQ(e.real, 3);
  EXPECT_EQ(e.u64, 18446744073709551615U);
  EXPECT_EQ(e.i64, std::numeric_limits<int64_t>::min());
  EXPECT_FALSE(e.flag);
  EXPECT_EQ(ok<Everything>(R"({"temperature": 21.5 })").temperature.degrees, 21.5);
}

TEST(Decode, ReadsEscapedNames) { EXPECT_EQ(ok<Port>(R"({"n\u0061me":"x"})").name, "x"); }

TEST(Decode, ReadsLoneValues) {
  EXPECT_EQ(ok<std::string>(R"( "x" )"), "x");
  EXPECT_EQ(ok<int32_t>("5"), 5);
  EXPECT_EQ(ok<std::vector<int32_t>>("[1,2]").size(), 2U);
  EXPECT_EQ(error<int32_t>("1,2"), "not one JSON value (offset 0)");
  EXPECT_EQ(error<int32_t>("1]"), "unexpected text after the document (offset 2)");
}

TEST(Decode, SaysWhereAndWhat) {
  EXPECT_EQ(error(R"({"i32":"x"})"), "i32: expected an integer, found a string (offset 7)");
  EXPECT_EQ(error(R"({"i32":1.5})"), "i32: expected an integer from -2147483648 to 2147483647, found 1.5 (offset 7)");
  EXPECT_EQ(error(R"({"i32":2147483648})").substr(0, 4), "i32:");
  EXPECT_EQ(error(R"({"u32":-1})").substr(0, 4), "u32:");
  EXPECT_EQ(error(R"({"ports":[{},{"name":7}]})"), "ports[1].name: expected a string, found a number (offset 21)");
  EXPECT_EQ(error(R"({"labels":{"a.b/c":[]}})"), "labels[a.b/c]: expected a string, found an array (offset 19)");
  EXPECT_EQ(error(R"({"mode":"fast"})"), "mode: expected one of Fast, Slow, default, found \"fast\" (offset 8)");
  EXPECT_EQ(error(R"({"temperature":"warm"})").substr(0, 30), "temperature: not valid: \"warm\"");
  EXPECT_EQ(error(R"({"pair":{"a":1}})").substr(0, 26), "pair: expected two strings");
  EXPECT_EQ(error(R"({"any":{"a":[1,{"b":tru}]}})").substr(0, 11), "any.a[1].b:");
  EXPECT_EQ(error("[]"), "expected an object, found an array (offset 0)");
  EXPECT_EQ(error("null"), "expected an object, found null (offset 0)");
  EXPECT_EQ(error(""), "empty document (offset 0)");
  EXPECT_NE(error(R"({"i32":1} x)"), "decoded");
  EXPECT_NE(error(R"({"i32":1)"), "decoded");
}

TEST(Decode, BoundsDepth) {
  std::string json = "1", self = "{}";
  for (int i = 0; i < 300; ++i) json = "[" + json + "]", self = R"({"self":)" + self + "}";
  EXPECT_NE(error(R"({"any":)" + json + "}").find("deeper than"), std::string::npos);
  EXPECT_NE(error(self).find("nested deeper than 256 levels"), std::string::npos);
  EXPECT_EQ(error(self, {.depth = 400}), "decoded");
}

TEST(Decode, TellsUnknownMembers) {
  std::vector<std::string> unknown;
  ASSERT_TRUE(
      decode<Thing>(R"({"apiVersion":"example.com/v1","kind":"Thing","port":{"nme":1,"name":"x"},"a.b":{"c":1}})",
                    {.unknown = &unknown}));
  EXPECT_EQ(unknown, (std::vector<std::string>{"port.nme", "[a.b]"}));
}

TEST(Decode, ChecksApiVersionAndKindWhereGiven) {
  EXPECT_EQ(ok<Thing>(R"({"port":{"name":"x"}})").port.name, "x");
  EXPECT_EQ(ok<Thing>(R"({"kind":"Thing","apiVersion":"example.com/v1","port":{"name":"x"}})").port.name, "x");
  EXPECT_EQ(error<Thing>(R"({"kind":"Pod"})"), "kind: expected Thing, found \"Pod\" (offset 8)");
  EXPECT_EQ(error<Thing>(R"({"apiVersion":"v1"})").substr(0, 52),
            "apiVersion: expected example.com/v1, found \"v1\" (off");
}

struct Inner {
  std::string a;
  std::optional<int32_t> b;
};

struct Outer {
  Inner plain;
  std::optional<Inner> set;
  std::vector<Inner> list;
  std::map<std::string, Inner> map;
  Inner needed;
  std::string text;
  static constexpr auto rules = kopper::rules(field<&Outer::needed>.required(), field<&Outer::text>.required());
};

TEST(Encode, LeavesOutWhatSaysNothing) {
  EXPECT_EQ(encode(Port{}), R"({"containerPort":0})");
  EXPECT_EQ(encode(Thing{}), R"({"apiVersion":"example.com/v1","kind":"Thing","port":{"containerPort":0}})");
  EXPECT_EQ(encode(Outer{}), R"({"needed":{},"text":""})");
  EXPECT_EQ(encode(Outer{.plain = {.b = 0}, .set = Inner{}, .list = {{}}, .map = {{"k", {}}}}),
            R"({"plain":{"b":0},"set":{},"list":[{}],"map":{"k":{}},"needed":{},"text":""})");
}

struct Initialised {
  std::string text = "initial";
  std::vector<int32_t> list{1};
  std::optional<int32_t> maybe = 2;
  json::Value any = 3;
  Port port{.name = "web"};
  std::vector<Port> ports;
};

TEST(Encode, WritesEmptyOverAnInitialiser) {
  const Initialised none{.text = "", .list = {}, .maybe = {}, .any = {}, .port = {}, .ports = {{}}};
  const std::string json = encode(none);
  EXPECT_EQ(json, R"({"text":"","list":[],"maybe":null,"any":null,"port":{"name":"","containerPort":0},)"
                  R"("ports":[{"containerPort":0}]})");
  const auto back = ok<Initialised>(json);
  EXPECT_EQ(back.text, "");
  EXPECT_TRUE(back.list.empty());
  EXPECT_FALSE(back.maybe);
  EXPECT_TRUE(back.any.is_null());
  EXPECT_EQ(back.port.name, "");
}

TEST(Encode, OmitsZeroWhereTheTableSaysSo) {
  struct Status {
    int32_t ready;
    bool ok;
  };
  static constexpr Field fields[] = {
      {.name = "ready", .offset = offsetof(Status, ready), .type = &type_of<int32_t>(), .omit_zero = true},
      {.name = "ok", .offset = offsetof(Status, ok), .type = &type_of<bool>(), .omit_zero = true}};
  static constexpr Type type = record<Status>(fields);
  const Status none{}, some{3, true};
  std::string out;
  encode_to(out, type, &none);
  encode_to(out, type, &some);
  EXPECT_EQ(out, R"({}{"ready":3,"ok":true})");
}

TEST(Encode, OmitsAZeroStructWhereTheTableSaysSo) {
  struct Status {
    int32_t replicas;
    std::string phase;
  };
  struct Object {
    Status status;
  };
  static constexpr Field status_fields[] = {
      {.name = "replicas", .offset = offsetof(Status, replicas), .type = &type_of<int32_t>(), .required = true},
      {.name = "phase", .offset = offsetof(Status, phase), .type = &type_of<std::string>(), .required = true}};
  static constexpr Type status_type = record<Status>(status_fields);
  static constexpr Field fields[] = {
      {.name = "status", .offset = offsetof(Object, status), .type = &status_type, .omit_zero = true}};
  static constexpr Type type = record<Object>(fields);
  const Object none{}, some{{0, "Pending"}};
  std::string out;
  encode_to(out, type, &none);
  encode_to(out, type, &some);
  EXPECT_EQ(out, R"({}{"status":{"replicas":0,"phase":"Pending"}})");
}

TEST(Encode, RoundTripsEveryShape) {
  Everything e{.bytes = {"\x01\xff"},
               .mode = Mode::Fast,
               .tiny = Tiny::B,
               .temperature = {-4},
               .pair = {"a", "b"},
               .any = json::Array{1, "x"},
               .maybe = 0,
               .maybe_port = Port{},
               .ports = {{"p", 1}},
               .labels = {{"b", "2"}, {"a\"", "1"}},
               .named = {{"n", {"x", 2}}},
               .port = {.name = "y"},
               .namespace_ = "ns"};
  e.self = Everything{.i32 = 5};
  const std::string json = encode(e);
  const auto back = ok<Everything>(json);
  EXPECT_EQ(encode(back), json);
  EXPECT_EQ(back.self->i32, 5);
  EXPECT_EQ(to_value(e), *json::parse(json));
  EXPECT_EQ(encode(*from_value<Everything>(to_value(e))), json);
  std::string out;
  json::Writer w(out);
  w.begin_array();
  encode(Port{}, w);
  encode(Port{"a"}, w);
  w.end_array();
  EXPECT_EQ(out, R"([{"containerPort":0},{"name":"a","containerPort":0}])");
}

}  // namespace
}  // namespace kopper::meta
