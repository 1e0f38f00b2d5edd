#include "kopper/plane/accept.h"

#include <gtest/gtest.h>

namespace kopper::plane {
namespace {

TEST(Accept, TakesChoicesInTheirOrder) {
  const auto ranges = parse_accept("application/json;as=Table; v=v1 ;g=meta.k8s.io, application/yaml,*/*");
  ASSERT_EQ(ranges.size(), 3U);
  EXPECT_EQ(ranges[0].type, "application/json");
  EXPECT_EQ(ranges[0].parameter("as"), "Table");
  EXPECT_EQ(ranges[0].parameter("v"), "v1");
  EXPECT_EQ(ranges[0].parameter("stream"), "");
  EXPECT_EQ(ranges[1].type, "application/yaml");
  EXPECT_EQ(ranges[2].type, "*/*");
}

TEST(Accept, PutsTheMostWantedFirst) {
  const auto ranges = parse_accept("application/yaml;q=0.5,application/json,*/*;q=0.1");
  ASSERT_EQ(ranges.size(), 3U);
  EXPECT_EQ(ranges[0].type, "application/json");
  EXPECT_EQ(ranges[1].type, "application/yaml");
  EXPECT_EQ(ranges[2].type, "*/*");
}

TEST(Accept, OfNothingIsNothing) {
  EXPECT_TRUE(parse_accept("").empty());
  EXPECT_TRUE(parse_accept(" , ,").empty());
}

}  // namespace
}  // namespace kopper::plane
