#include "kopper/api/int_or_string.h"

#include <gtest/gtest.h>

namespace kopper::api {
namespace {

TEST(IntOrString, HoldsEither) {
  const IntOrString port = 8080;
  const IntOrString name = "http";
  EXPECT_TRUE(port.is_int());
  EXPECT_EQ(*port.as_int(), 8080);
  EXPECT_EQ(port.as_string(), nullptr);
  EXPECT_EQ(port.str(), "8080");
  EXPECT_EQ(*name.as_string(), "http");
  EXPECT_NE(IntOrString(1), IntOrString("1"));
  EXPECT_EQ(IntOrString{}, IntOrString(0));
}

TEST(IntOrString, ScalesPercentages) {
  EXPECT_EQ(scaled(3, 10, Rounding::Up), 3);
  EXPECT_EQ(scaled("25%", 10, Rounding::Up), 3);
  EXPECT_EQ(scaled("25%", 10, Rounding::Down), 2);
  EXPECT_EQ(scaled("50%", 10, Rounding::Up), 5);
  EXPECT_EQ(scaled("0%", 10, Rounding::Up), 0);
  EXPECT_EQ(scaled("100%", 7, Rounding::Down), 7);
  EXPECT_EQ(scaled("-25%", 10, Rounding::Up), -2);
  EXPECT_EQ(scaled("-25%", 10, Rounding::Down), -3);
  EXPECT_EQ(scaled("2000000000%", 2'000'000'000, Rounding::Up), 2147483647);
}

TEST(IntOrString, OtherTextDoesNotScale) {
  for (const auto* text : {"", "%", "25", "25.5%", "a%", "25%%", "99999999999%"}) {
    EXPECT_FALSE(scaled(text, 10, Rounding::Up).has_value()) << text;
  }
}

}  // namespace
}  // namespace kopper::api
