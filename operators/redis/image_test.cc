#include "image.h"

#include <string>

#include <gtest/gtest.h>

namespace redis {
namespace {

TEST(Image, IsJoinedOfItsParts) {
  EXPECT_EQ(image_of("library/redis", "", "7.2"), "library/redis:7.2");
  EXPECT_EQ(image_of("hub.example.com/mw", "redis", "7.2"), "hub.example.com/mw/redis:7.2");
  EXPECT_EQ(image_of("hub.example.com/mw/", "redis", "7.2"), "hub.example.com/mw/redis:7.2");
  EXPECT_EQ(image_of("hub.example.com:5000/", "redis", ""), "hub.example.com:5000/redis");
  EXPECT_EQ(image_of("", "redis", "7"), "redis:7");
  EXPECT_EQ(image_of("", "", "7"), "");
}

TEST(Image, OfAnotherRegistryStaysAsItIs) {
  EXPECT_EQ(image_of("hub.example.com/mw/", "quay.io/redis/redis", "7"), "quay.io/redis/redis:7");
  EXPECT_EQ(image_of("hub.example.com/mw/", "localhost/redis:6", "7"), "localhost/redis:6");
  EXPECT_EQ(image_of("hub.example.com/mw/", "other:5000/redis", "7"), "other:5000/redis:7");
  EXPECT_EQ(image_of("hub.example.com/mw/", "team/redis", "7"), "hub.example.com/mw/team/redis:7");
}

TEST(Image, TakesTheVersionOnlyWhenItHasNone) {
  const std::string digest = "sha256:" + std::string(64, 'a');
  EXPECT_EQ(image_of("", "redis:6", "7"), "redis:6");
  EXPECT_EQ(image_of("", "redis@" + digest, "7"), "redis@" + digest);
  EXPECT_EQ(image_of("", "redis", digest), "redis@" + digest);
  EXPECT_EQ(image_of("redis:6", "", "7"), "redis:6");
}

TEST(Image, IsAReferenceOrNot) {
  const std::string digest = "sha256:" + std::string(64, 'a');
  for (const std::string good : {"redis", "redis:7", "library/redis:7.0.15-bookworm",
                                 "hub.example.com:5000/a/b_c-d__e.f:X", "localhost/redis", "a--b/c"}) {
    EXPECT_TRUE(is_image(good)) << good;
    EXPECT_TRUE(is_image(good + "@" + digest)) << good;
  }
  for (const std::string bad :
       {"", ":7", "redis:", "Redis", "redis:7:8", "redis/", "/redis", "a//b", "redis:-x", "re dis", "a..b", "a_-b",
        "redis@sha256:short", "redis@", "-host.example/redis", "host:port/redis",
        "redis:"
        "\xc3\xa4",
        "hub.example.com:5000/"}) {
    EXPECT_FALSE(is_image(bad)) << bad;
  }
  EXPECT_FALSE(is_image(std::string(256, 'a')));
  EXPECT_FALSE(is_image("a:" + std::string(129, 'a')));
}

}  // namespace
}  // namespace redis
