#include "kopper/meta/compare.h"

#include <gtest/gtest.h>

namespace kopper::meta {
namespace {

struct Port {
  std::string name;
  int32_t number = 0;
};

struct Spec {
  std::optional<int32_t> replicas;
  std::string image;
  std::vector<Port> ports;  // merged by name
  std::vector<std::string> args;
  std::vector<std::string> finalizers;  // a set
  std::map<std::string, std::string> labels;
  std::map<std::string, Port> named;
  json::Value any;
  Bytes data;
  static constexpr auto rules =
      kopper::rules(field<&Spec::ports>.list_map({"name"}), field<&Spec::finalizers>.list_set());
};

Spec full() {
  return {.replicas = 3,
          .image = "a",
          .ports = {{"web", 80}, {"admin", 81}},
          .args = {"x", "y"},
          .finalizers = {"f", "g"},
          .labels = {{"app", "a"}, {"tier", "b"}},
          .named = {{"n", {"p", 1}}},
          .any = json::Object{{"k", 1}},
          .data = {"b"}};
}

TEST(Compare, EqualLooksAtEveryMember) {
  EXPECT_TRUE(equal(full(), full()));
  EXPECT_TRUE(equal(Spec{}, Spec{}));
  const auto differs = [](auto change) {
    Spec other = full();
    change(other);
    return !equal(full(), other) && !equal(other, full());
  };
  EXPECT_TRUE(differs([](Spec& s) { s.replicas.reset(); }));
  EXPECT_TRUE(differs([](Spec& s) { s.replicas = 4; }));
  EXPECT_TRUE(differs([](Spec& s) { s.image = "b"; }));
  EXPECT_TRUE(differs([](Spec& s) { s.ports[1].number = 8; }));
  EXPECT_TRUE(differs([](Spec& s) { s.ports.pop_back(); }));
  EXPECT_TRUE(differs([](Spec& s) { s.labels["app"] = ""; }));
  EXPECT_TRUE(differs([](Spec& s) { s.labels.erase("app"); }));
  EXPECT_TRUE(differs([](Spec& s) { s.named["n"].name = ""; }));
  EXPECT_TRUE(differs([](Spec& s) { s.any = nullptr; }));
  EXPECT_TRUE(differs([](Spec& s) { s.data.data.clear(); }));
}

TEST(Compare, CoversIgnoresWhatIsNotDesired) {
  EXPECT_TRUE(covers(full(), Spec{}));
  EXPECT_TRUE(covers(full(), full()));
  EXPECT_TRUE(covers(full(), Spec{.replicas = 3, .labels = {{"tier", "b"}}}));
  EXPECT_TRUE(covers(full(), Spec{.ports = {{"admin", 81}}, .finalizers = {"g"}}));
  EXPECT_TRUE(covers(full(), Spec{.named = {{"n", {"p", 1}}}}));

  EXPECT_FALSE(covers(full(), Spec{.replicas = 4}));
  EXPECT_FALSE(covers(Spec{}, Spec{.replicas = 0}));
  EXPECT_FALSE(covers(full(), Spec{.ports = {{"admin", 82}}}));
  EXPECT_FALSE(covers(full(), Spec{.finalizers = {"h"}}));
  EXPECT_FALSE(covers(full(), Spec{.args = {"x"}}));  // atomic
  EXPECT_FALSE(covers(full(), Spec{.labels = {{"new", ""}}}));
}

}  // namespace
}  // namespace kopper::meta
