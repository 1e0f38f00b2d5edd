#include "kopper/meta/merge.h"

#include <cstddef>

#include <gtest/gtest.h>

// Conditionally supported for structs that hold a std::map; g++ and clang do.
#pragma GCC diagnostic ignored "-Winvalid-offsetof"

namespace kopper::meta {
namespace {

struct Env {
  std::string name, value;
};
struct Container {
  std::string name, image;
  std::vector<Env> env;
  std::vector<std::string> args;
};
struct Pod {
  std::vector<Container> containers;
  std::map<std::string, Container> by_name;
};

}  // namespace

template <>
const Type TypeOf<Container>::type;
template <>
const Type TypeOf<Pod>::type;

constexpr Field kContainer[] = {
    {.name = "name", .offset = offsetof(Container, name), .type = &type_of<std::string>()},
    {.name = "image", .offset = offsetof(Container, image), .type = &type_of<std::string>()},
    {.name = "env",
     .offset = offsetof(Container, env),
     .type = &type_of<std::vector<Env>>(),
     .patch_merge = true,
     .patch_merge_key = "name"},
    {.name = "args", .offset = offsetof(Container, args), .type = &type_of<std::vector<std::string>>()},
};
template <>
constinit const Type TypeOf<Container>::type = record<Container>(kContainer);

constexpr Field kPod[] = {
    {.name = "containers",
     .offset = offsetof(Pod, containers),
     .type = &type_of<std::vector<Container>>(),
     .patch_merge = true,
     .patch_merge_key = "name"},
    {.name = "byName", .offset = offsetof(Pod, by_name), .type = &type_of<std::map<std::string, Container>>()},
};
template <>
constinit const Type TypeOf<Pod>::type = record<Pod>(kPod);

namespace {

json::Value j(std::string_view text) { return *json::parse(text); }

TEST(Merge, StrategicPatchUsesTheTables) {
  const auto merged = json::apply_strategic_patch(
      j(R"({"containers":[{"name":"a","env":[{"name":"x","value":"1"}],"args":["1"]},{"name":"b"}],
            "byName":{"k":{"env":[{"name":"x","value":"1"}]}}})"),
      j(R"({"containers":[{"name":"a","env":[{"name":"y","value":"2"}],"args":["2"]}],
            "byName":{"k":{"env":[{"name":"y","value":"2"}]}}})"),
      merge_schema<Pod>());
  ASSERT_TRUE(merged) << merged.error().str();
  EXPECT_EQ(*merged, j(R"({"containers":[{"name":"a","args":["2"],
                             "env":[{"name":"y","value":"2"},{"name":"x","value":"1"}]},{"name":"b"}],
                           "byName":{"k":{"env":[{"name":"y","value":"2"},{"name":"x","value":"1"}]}}})"));
}

}  // namespace
}  // namespace kopper::meta
