#include "kopper/meta/base64.h"

#include <gtest/gtest.h>

namespace kopper::meta {
namespace {

std::string encoded(std::string_view bytes) {
  std::string out;
  append_base64(out, bytes);
  return out;
}

TEST(Base64, RoundTrips) {
  EXPECT_EQ(encoded(""), "");
  EXPECT_EQ(encoded("f"), "Zg==");
  EXPECT_EQ(encoded("fo"), "Zm8=");
  EXPECT_EQ(encoded("foo"), "Zm9v");
  EXPECT_EQ(encoded("\xff\xfe\xfd\xfc"), "//79/A==");
  std::string bytes;
  for (int i = 0; i < 256; ++i) {
    bytes.push_back(static_cast<char>(i));
    EXPECT_EQ(from_base64(encoded(bytes)), bytes);
  }
}

TEST(Base64, SkipsLineBreaksOnly) {
  EXPECT_EQ(from_base64("Zm9v\r\nZm8=\n"), "foofo");
  for (const char* bad : {"Z", "Zm", "Zm9", "Zg=", "Zg==Zg==", "Zg=v", "=Zg=", "Zm 9v", "Zm9-", "===="})
    EXPECT_EQ(from_base64(bad), std::nullopt) << bad;
}

}  // namespace
}  // namespace kopper::meta
