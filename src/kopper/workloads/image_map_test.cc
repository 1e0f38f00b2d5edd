#include "kopper/workloads/image_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/base/error.h"

namespace kopper::workloads {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::optional<std::string> variable(std::string_view name) {
  if (name == "PORT") return "6379";
  return std::nullopt;
}

TEST(ImageMap, NamesWithoutRegistryTagAndDigest) {
  EXPECT_EQ(image_name("redis"), "redis");
  EXPECT_EQ(image_name("redis:7.2-alpine"), "redis");
  EXPECT_EQ(image_name("docker.io/library/redis:7@sha256:01"), "redis");
  EXPECT_EQ(image_name("localhost:5000/redis"), "redis");
  EXPECT_EQ(image_name("quay.io/team/tool:v1"), "team/tool");
  EXPECT_EQ(image_name("team/tool"), "team/tool");
  EXPECT_EQ(image_name(""), "");
}

TEST(ImageMap, KnowsWhatDebianHas) {
  const auto map = ImageMap::defaults();
  EXPECT_EQ(map.find("redis:7")->program, "redis-server");
  EXPECT_EQ(map.find("memcached:1.6-alpine")->package, "memcached");
  EXPECT_FALSE(map.find("team/redis"));
  EXPECT_FALSE(map.find("unknown"));
}

TEST(ImageMap, TheLastRuleCounts) {
  auto map = ImageMap::defaults();
  map.add(json::parse(R"({"images":[{"name":"redis","entrypoint":["keydb-server"]},
                                    {"name":"team/*","program":"tool"}]})")
              .value());
  EXPECT_EQ(map.find("redis:7")->program, "keydb-server");
  EXPECT_EQ(map.find("quay.io/team/any:v1")->program, "tool");
}

TEST(ImageMap, AWrongFileNamesTheField) {
  const auto error = [](const char* text) {
    ImageMap map;
    try {
      map.add(json::parse(text).value());
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("none");
  };
  EXPECT_THAT(error("{}"), HasSubstr("images"));
  EXPECT_THAT(error(R"({"images":[{}]})"), HasSubstr("images[0].name"));
  EXPECT_THAT(error(R"({"images":[{"name":"a","entrypoint":"b"}]})"), HasSubstr("images[0].entrypoint"));
  EXPECT_THAT(error(R"({"images":[{"name":"a"}]})"), HasSubstr("images[0].program"));
}

TEST(CommandLine, IsTheImagesUnlessTheContainerSaysOtherwise) {
  const ImageProgram redis{{"redis-server"}, {"--save", ""}, "redis-server", "redis-server"};
  EXPECT_THAT(command_line(redis, {}, {}, variable), ElementsAre("redis-server", "--save", ""));
  EXPECT_THAT(command_line(redis, {}, {"--port", "$(PORT)"}, variable), ElementsAre("redis-server", "--port", "6379"));
  EXPECT_THAT(command_line(redis, {"sh", "-c"}, {"true"}, variable), ElementsAre("sh", "-c", "true"));
  EXPECT_THAT(command_line(redis, {"sleep", "1"}, {}, variable), ElementsAre("sleep", "1"));
}

TEST(Expand, AsKubernetesDoes) {
  EXPECT_EQ(expand("$(PORT)", variable), "6379");
  EXPECT_EQ(expand("a$(PORT)b$(NONE)c", variable), "a6379b$(NONE)c");
  EXPECT_EQ(expand("$$(PORT)", variable), "$(PORT)");
  EXPECT_EQ(expand("$PORT $", variable), "$PORT $");
  EXPECT_EQ(expand("$(PORT", variable), "$(PORT");
}

}  // namespace
}  // namespace kopper::workloads
