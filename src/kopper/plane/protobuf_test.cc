#include "kopper/plane/protobuf.h"

#include <fstream>

#include <gtest/gtest.h>

#include "kopper/meta/base64.h"

namespace kopper::plane {
namespace {

// Without what is empty or zero: protobuf cannot tell it from what is absent.
json::Value filled(const json::Value& value) {
  if (const auto* object = value.as_object()) {
    json::Object out;
    for (const auto& [name, member] : *object) {
      json::Value inner = filled(member);
      const bool nothing = inner == json::Value() || inner == json::Value("") || inner == json::Value(0) ||
                           inner == json::Value(false) || inner == json::Value(json::Object()) ||
                           inner == json::Value(json::Array());
      if (!nothing) out[name] = std::move(inner);
    }
    return out;
  }
  if (const auto* array = value.as_array()) {
    json::Array out;
    for (const json::Value& one : *array) out.push_back(filled(one));
    return out;
  }
  return value;
}

// Objects of many kinds as a kube-apiserver 1.37.1 wrote them, once in each form.
TEST(Protobuf, SaysTheSameAsJson) {
  std::ifstream file(KOPPER_SOURCE_DIR "/src/kopper/plane/testdata/protobuf.txt");
  std::string bytes;
  std::string text;
  int count = 0;
  while (std::getline(file, bytes) && std::getline(file, text)) {
    const auto made = from_protobuf(meta::from_base64(bytes).value());
    ASSERT_TRUE(made) << made.error() << "\n" << text;
    const json::Value meant = json::parse(text).value();
    EXPECT_EQ(filled(*made), filled(meant)) << json::dump(filled(*made)) << "\n" << json::dump(filled(meant));
    ++count;
  }
  EXPECT_EQ(count, 11);
}

std::string message(std::string_view kind, std::string_view raw) {
  std::string about = "\x0a\x02v1\x12";
  about += static_cast<char>(kind.size());
  about += kind;
  std::string out("k8s\0\x0a", 5);
  out += static_cast<char>(about.size());
  out += about;
  out += '\x12';
  out += static_cast<char>(raw.size());
  return out += raw;
}

TEST(Protobuf, KnowsWhatIsSetToZero) {
  const auto options = from_protobuf(message("DeleteOptions", std::string_view("\x08\x00\x22\x0a"
                                                                               "Background",
                                                                               14)));
  ASSERT_TRUE(options) << options.error();
  EXPECT_EQ(json::dump(*options),
            R"({"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0,"propagationPolicy":"Background"})");
}

TEST(Protobuf, RefusesWhatIsBroken) {
  EXPECT_FALSE(from_protobuf(""));
  EXPECT_FALSE(from_protobuf("{}"));
  EXPECT_FALSE(from_protobuf(std::string_view("k8s\0\xff", 5)));
  EXPECT_FALSE(from_protobuf(message("Nothing", "")));
  EXPECT_FALSE(from_protobuf(message("ConfigMap", "\x0a\x7f")));                          // longer than there is
  EXPECT_FALSE(from_protobuf(message("ConfigMap", "\x08\x01")));                          // a number for a message
  EXPECT_FALSE(from_protobuf(message("ConfigMap", "\x0a\x03\x0a\x01\xff")));              // not UTF-8
  EXPECT_FALSE(from_protobuf(message("ConfigMap", "\x0f")));                              // no such wire type
  EXPECT_TRUE(from_protobuf(message("ConfigMap", std::string_view("\xb8\x7d\x01", 3))));  // of a newer client
}

// Cut short, or with a byte changed: refused or read, never worse.
TEST(Protobuf, SurvivesDamage) {
  std::ifstream file(KOPPER_SOURCE_DIR "/src/kopper/plane/testdata/protobuf.txt");
  std::string line;
  std::getline(file, line);
  const std::string bytes = meta::from_base64(line).value();
  for (std::size_t i = 0; i < bytes.size(); i += 37) {
    (void)from_protobuf(std::string_view(bytes).substr(0, i));
    std::string changed = bytes;
    changed[i] = static_cast<char>(changed[i] ^ 0x55);
    (void)from_protobuf(changed);
  }
  EXPECT_TRUE(from_protobuf(bytes));
}

}  // namespace
}  // namespace kopper::plane
