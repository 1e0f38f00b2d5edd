#include "kopper/plane/proto/decode.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/meta/base64.h"
#include "kopper/plane/builtin/conform.h"
#include "kopper/plane/proto/table.h"
#include "kopper/plane/resource.h"

namespace kopper::plane::proto {
namespace {

using ::testing::HasSubstr;

// Bytes that Go's own encoder wrote, and the JSON that it writes of the same objects (tools/gen_api/go_proto).
json::Array goldens() {
  std::ifstream file(std::filesystem::path(KOPPER_SOURCE_DIR) / "src/kopper/plane/proto/goldens.json");
  std::stringstream text;
  text << file.rdbuf();
  return *json::parse(text.str()).value().as_array();
}

std::string bytes_of(const json::Value& golden) { return meta::from_base64(golden.text("protobuf")).value(); }

// conform() adds the nulls that Go writes for lists and times that are not there.
json::Value without_nulls(const json::Value& value) {
  if (const json::Array* list = value.as_array()) {
    json::Array out;
    for (const json::Value& item : *list) out.push_back(without_nulls(item));
    return out;
  }
  if (!value.is_object()) return value;
  json::Object out;
  for (const auto& [name, item] : *value.as_object())
    if (!item.is_null()) out[name] = without_nulls(item);
  return out;
}

std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7U) out += static_cast<char>(value | 0x80U);
  return out += static_cast<char>(value);
}
std::string number(unsigned field, std::int64_t value) {
  return varint(field << 3U) + varint(static_cast<std::uint64_t>(value));
}
std::string part(unsigned field, std::string_view bytes) {
  return varint(field << 3U | 2U) + varint(bytes.size()) + std::string(bytes);
}
std::string object(std::string_view version, std::string_view kind, std::string_view raw) {
  return std::string("k8s\0", 4) + part(1, part(1, version) + part(2, kind)) + part(2, raw);
}

std::string decoded(std::string_view version, std::string_view kind, std::string_view raw) {
  const auto value = decode_protobuf(object(version, kind, raw));
  return value ? json::dump(*value) : value.error().what;
}
std::string config_map(std::string_view raw) { return decoded("v1", "ConfigMap", raw); }

TEST(ProtoDecode, ReadsWhatGoWrites) {
  Catalog catalog;
  for (const json::Value& golden : goldens()) {
    const json::Value& expected = golden["object"];
    SCOPED_TRACE(expected.text("kind"));
    auto value = decode_protobuf(bytes_of(golden));
    ASSERT_TRUE(value) << value.error().str();
    const std::string version(expected.text("apiVersion"));
    const std::size_t slash = version.find('/');
    const ResourceRef resource =
        slash == std::string::npos
            ? catalog.find_kind("", version, expected.text("kind"))
            : catalog.find_kind(version.substr(0, slash), version.substr(slash + 1), expected.text("kind"));
    const json::Value said = without_nulls(expected);
    EXPECT_EQ(*value, said) << json::dump(*value) << "\n" << json::dump(said);
    if (!resource) continue;
    const builtin::Findings findings = builtin::conform(*value, *resource->schema);
    EXPECT_EQ(findings.error, "");
    EXPECT_TRUE(findings.strict.empty());
    EXPECT_EQ(json::dump(*value), json::dump(expected));
  }
}

TEST(ProtoDecode, RefusesWhatIsNoEnvelope) {
  EXPECT_EQ(decode_protobuf("").error().what, "empty data");
  EXPECT_THAT(decode_protobuf("{}").error().what, HasSubstr("expected prefix [107 56 115 0]"));
  EXPECT_EQ(decode_protobuf(std::string_view("k8s\0", 4)).error().what, "empty body");
  EXPECT_EQ(decode_protobuf(std::string_view("k8s\0\x0a", 5)).error(), (DecodeError{"unexpected EOF", "", 5}));
  EXPECT_EQ(decoded("v1", "Wombat", ""), R"(no kind "Wombat" is registered for version "v1")");
  EXPECT_EQ(decoded("v9", "Pod", ""), R"(no kind "Pod" is registered for version "v9")");
  EXPECT_EQ(decoded("v1", "PodSpec", ""), R"(no kind "PodSpec" is registered for version "v1")");
  EXPECT_EQ(decoded("v1", "", ""), "Object 'Kind' is missing");
  EXPECT_EQ(decoded("", "Pod", ""), "Object 'apiVersion' is missing");
}

// Each error is what kube-apiserver 1.37.1 says of the same bytes.
TEST(ProtoDecode, RefusesWhatIsMalformed) {
  EXPECT_EQ(config_map(number(2, 5)), "proto: wrong wireType = 0 for field Data");
  EXPECT_EQ(config_map(part(1, part(1, "x")) + varint(2U << 3U | 2U) + varint(100)), "unexpected EOF");
  EXPECT_EQ(config_map(varint(4U << 3U) + std::string(11, '\xff')), "proto: integer overflow");
  EXPECT_EQ(config_map(std::string(2, '\0')), "proto: ConfigMap: illegal tag 0 (wire type 0)");
  EXPECT_EQ(config_map(varint(1U << 3U | 4U)), "proto: ConfigMap: wiretype end group for non-group");
  EXPECT_EQ(config_map(varint(99U << 3U | 7U)), "proto: illegal wireType 7");
  EXPECT_EQ(config_map(varint(1U << 3U | 2U) + std::string(9, '\xff') + "\x01"),
            "proto: negative length found during unmarshaling");
}

TEST(ProtoDecode, StaysInsideBytesThatAreCut) {
  for (const json::Value& golden : goldens()) {
    const std::string bytes = bytes_of(golden);
    Envelope envelope = open(bytes).value();
    const std::string_view whole = envelope.raw;
    std::size_t refused = 0;
    for (std::size_t size = 0; size < whole.size(); ++size) {
      const std::string exact(whole.substr(0, size));  // on its own, so that the sanitizer sees its end
      envelope.raw = exact;
      const auto value = decode(envelope);
      if (value) continue;  // cut between two fields
      ++refused;
      EXPECT_LE(value.error().offset, size);
    }
    EXPECT_GE(refused, whole.size() / 2);
  }
}

TEST(ProtoDecode, SkipsUnknownFields) {
  const std::string group =
      varint(99U << 3U | 3U) + number(1, 3) + varint(1U << 3U | 3U) + varint(1U << 3U | 4U) + varint(99U << 3U | 4U);
  const std::string fixed = varint(98U << 3U | 5U) + "1234" + varint(97U << 3U | 1U) + "12345678";
  EXPECT_EQ(config_map(group + fixed + part(99, "zz") + number(100, 7) + part(1, part(1, "x"))),
            R"({"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x"}})");
  EXPECT_EQ(config_map(varint(99U << 3U | 3U) + number(1, 3)), "unexpected EOF");
}

TEST(ProtoDecode, TakesTheLastOfWhatComesTwice) {
  const auto entry = [](std::string_view key, std::string_view value) {
    return part(2, part(1, key) + part(2, value));
  };
  EXPECT_EQ(config_map(number(4, 1) + entry("b", "1") + entry("a", "2") + number(4, 0) + entry("b", "3")),
            R"({"kind":"ConfigMap","apiVersion":"v1","immutable":false,"data":{"a":"2","b":"3"}})");
  EXPECT_EQ(config_map(part(2, part(1, "k")) + part(2, "")),
            R"({"kind":"ConfigMap","apiVersion":"v1","data":{"":"","k":""}})");
}

TEST(ProtoDecode, RepairsTextAndTakesPackedNumbers) {
  EXPECT_EQ(config_map(part(2, part(1, "k") + part(2,
                                                   "a\xff"
                                                   "b"))),
            "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"data\":{\"k\":\"a\xef\xbf\xbd"
            "b\"}}");
  const std::string groups = part(4, varint(1) + varint(2)) + number(4, -3);
  EXPECT_EQ(decoded("v1", "Pod", part(2, part(14, groups))),
            R"({"kind":"Pod","apiVersion":"v1","spec":{"securityContext":{"supplementalGroups":[1,2,-3]}}})");
}

TEST(ProtoDecode, TimesStayInRange) {
  const auto created = [](std::int64_t seconds) {
    return config_map(part(1, part(8, number(1, seconds) + number(2, 999))));
  };
  EXPECT_EQ(created(0),
            R"({"kind":"ConfigMap","apiVersion":"v1","metadata":{"creationTimestamp":"1970-01-01T00:00:00Z"}})");
  EXPECT_EQ(created(-62135596800), R"({"kind":"ConfigMap","apiVersion":"v1","metadata":{}})");
  EXPECT_EQ(created(std::numeric_limits<std::int64_t>::max()), "Time: year outside of range [0,9999]");
  EXPECT_EQ(created(std::numeric_limits<std::int64_t>::min()), "Time: year outside of range [0,9999]");
}

TEST(ProtoDecode, IsBounded) {
  // spec.versions[].schema.openAPIV3Schema.not.not.not …
  std::string schema;
  for (int i = 0; i < 1000; ++i) schema = part(28, schema);
  const std::string outer = part(2, part(7, part(4, part(1, schema))));
  EXPECT_EQ(decoded("apiextensions.k8s.io/v1", "CustomResourceDefinition", outer), "exceeded max depth");

  std::string entries;
  for (int i = 0; i < 100'000; ++i) entries += part(2, part(1, std::to_string(i % 50'000)) + part(2, "v"));
  const auto value = decode_protobuf(object("v1", "ConfigMap", entries));
  ASSERT_TRUE(value);
  EXPECT_EQ((*value)["data"].as_object()->size(), 50'000U);
}

TEST(ProtoTable, IsInOrder) {
  EXPECT_TRUE(std::ranges::is_sorted(messages(), {}, &Message::name));
  EXPECT_TRUE(std::ranges::is_sorted(packages(), {}, &Package::api_version));
  for (const Message& message : messages()) {
    const auto own = fields().subspan(message.first, message.count);
    EXPECT_TRUE(std::ranges::is_sorted(own, {}, &Field::number)) << message.name;
    for (const Field& field : own) {
      EXPECT_TRUE(field.form != Form::Map || field.type >= Type::String) << message.name;
      EXPECT_TRUE(field.form != Form::Inline || messages()[field.message].role == Role::Part) << message.name;
    }
  }
}

// Every kind that is served can be read, and every one of its members.
TEST(ProtoTable, KnowsWhatIsServed) {
  Catalog catalog;
  catalog.each([](const ResourceRef& resource) {
    EXPECT_TRUE(decode({.api_version = resource->api_version(), .kind = resource->kind, .raw = {}})) << resource->kind;
  });
}

}  // namespace
}  // namespace kopper::plane::proto
