#include "kopper/meta/encode_over.h"

#include <gtest/gtest.h>

#include "kopper/meta/decode.h"

namespace kopper::meta {
namespace {

struct Port {
  std::string name;
  std::optional<int32_t> number;
};
struct Limits {
  std::optional<int32_t> cpu;
};
struct Thing {
  static constexpr Kind kind{"example.com", "v1", "Thing"};
  std::string image;
  std::vector<Port> ports;  // by name
  std::vector<Port> list;   // by position
  std::map<std::string, Port> named;
  std::map<std::string, std::string> labels;
  Limits limits;
  std::optional<Limits> maybe;
  static constexpr auto rules = kopper::rules(field<&Thing::ports>.list_map({"name"}));
};

json::Value over(std::string_view raw, const Thing& thing) {
  const auto out = encode_over(raw, thing);
  EXPECT_TRUE(out) << out.error().str();
  return *json::parse(out ? *out : "null");
}

json::Value j(std::string_view text) { return *json::parse(text); }

constexpr std::string_view kRaw = R"({"apiVersion":"example.com/v1","kind":"Thing","new":{"a":1},"image":"old",
  "ports":[{"name":"a","x":1},{"name":"b","number":2,"x":2},{"name":"c","x":3}],
  "list":[{"name":"p","x":1},{"name":"q","x":2}],
  "named":{"k":{"name":"n","x":1},"gone":{"x":2}}, "labels":{"old":"1"},
  "limits":{"gpu":1}, "maybe":{"cpu":1,"gpu":2}})";

TEST(EncodeOver, KeepsWhatTheTypeDoesNotKnow) {
  auto thing = *decode<Thing>(kRaw);
  EXPECT_EQ(over(kRaw, thing), j(kRaw));

  thing.image = "new";
  thing.ports = {{"c", 3}, {"b"}, {"z"}};
  thing.list.resize(1);
  thing.named.erase("gone");
  thing.labels = {{"fresh", "2"}};
  thing.maybe.reset();
  EXPECT_EQ(over(kRaw, thing), j(R"({"apiVersion":"example.com/v1","kind":"Thing","new":{"a":1},"image":"new",
    "ports":[{"name":"c","number":3,"x":3},{"name":"b","x":2},{"name":"z"}],
    "list":[{"name":"p","x":1}],
    "named":{"k":{"name":"n","x":1}}, "labels":{"fresh":"2"},
    "limits":{"gpu":1}})"));
}

TEST(EncodeOver, ReplacesWhatHasAnotherShape) {
  EXPECT_EQ(over(R"({"ports":{"a":1},"limits":[]})", {.ports = {{"a"}}}),
            j(R"({"apiVersion":"example.com/v1","kind":"Thing","ports":[{"name":"a"}]})"));
}

TEST(EncodeOver, RefusesWhatIsNotJson) { EXPECT_FALSE(encode_over("{", Thing{})); }

TEST(EncodeOver, EmptyStaysEmptyAndAbsentStaysAbsent) {
  const auto* raw = R"({"apiVersion":"example.com/v1","kind":"Thing","image":"","ports":[],"labels":{}})";
  EXPECT_EQ(over(raw, *decode<Thing>(raw)), j(raw));
  EXPECT_EQ(over(kRaw, Thing())["image"], json::Value()) << "what was cleared is gone";
}

}  // namespace
}  // namespace kopper::meta
