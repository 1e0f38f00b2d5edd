#include "kopper/meta/reflect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kopper::meta {

struct Global {
  std::string template_;
};

namespace {

using testing::ElementsAre;

template <class T>
std::vector<std::string_view> names() {
  std::vector<std::string_view> out;
  for (const Field& field : type_of<T>().fields) out.push_back(field.name);
  return out;
}

struct Inner {
  int32_t x = 0;
};
struct Packed {
  bool a = false;
  int64_t b = 0;
  bool c = false, d = false;
  int32_t e = 0;
  Inner inner;
  std::optional<bool> f;
  std::string namespace_, g__;
  std::vector<Packed> self;
  Box<Packed> box;
  std::map<std::string, Packed> map;
};
template <class T>
struct Generic {
  T value;
};
struct Nothing {};

TEST(Reflect, NamesMembers) {
  EXPECT_THAT(names<Global>(), ElementsAre("template"));
  EXPECT_THAT(names<Packed>(),
              ElementsAre("a", "b", "c", "d", "e", "inner", "f", "namespace", "g", "self", "box", "map"));
  EXPECT_THAT((names<Generic<std::map<std::string, Inner>>>()), ElementsAre("value"));
  EXPECT_THAT(names<Nothing>(), ElementsAre());
  struct Local {
    Inner inner;
    std::string text;
  };
  EXPECT_THAT(names<Local>(), ElementsAre("inner", "text"));
}

TEST(Reflect, FindsMembersWhereTheyAre) {
  const Packed p;
  const auto at = [&](const auto& member) {
    return static_cast<std::uint32_t>(reinterpret_cast<const char*>(&member) - reinterpret_cast<const char*>(&p));
  };
  std::vector<std::uint32_t> offsets;
  for (const Field& field : type_of<Packed>().fields) offsets.push_back(field.offset);
  EXPECT_THAT(offsets, ElementsAre(at(p.a), at(p.b), at(p.c), at(p.d), at(p.e), at(p.inner), at(p.f), at(p.namespace_),
                                   at(p.g__), at(p.self), at(p.box), at(p.map)));
}

TEST(Reflect, FollowsTypesThatHoldThemselves) {
  const Type& type = type_of<Packed>();
  EXPECT_EQ(type.fields[9].type->element, &type);
  EXPECT_EQ(type.fields[10].type->element, &type);
  EXPECT_EQ(type.fields[11].type->element, &type);
}

enum class Mode : std::uint8_t { Fast = 1, Slow = 3, default_ = 63 };

TEST(Reflect, NamesEnumerators) {
  const auto enumerators = type_of<Mode>().names;
  ASSERT_EQ(enumerators.size(), 64U);
  EXPECT_EQ(enumerators[1], "Fast");
  EXPECT_EQ(enumerators[3], "Slow");
  EXPECT_EQ(enumerators[63], "default");
  EXPECT_EQ(std::ranges::count(enumerators, ""), 61);
}

struct Ruled {
  std::vector<Inner> list;
  std::string text;
  std::string rules_;  // a data member of that name is no rule
  static constexpr auto rules = kopper::rules(field<&Ruled::list>.list_map({"x"}), field<&Ruled::text>.required());
};
struct HasData {
  std::vector<std::string> rules;
  std::string kind;
};

TEST(Reflect, TakesWhatMergesNeedFromRules) {
  const auto fields = type_of<Ruled>().fields;
  EXPECT_EQ(fields[0].topology, Topology::Map);
  EXPECT_THAT(fields[0].map_keys, ElementsAre("x"));
  EXPECT_TRUE(fields[1].required);
  EXPECT_THAT(names<HasData>(), ElementsAre("rules", "kind"));
  EXPECT_TRUE(type_of<HasData>().rules.empty());
  EXPECT_EQ(type_of<HasData>().kind, nullptr);
}

#define EIGHT(n) int32_t n##0 = 0, n##1 = 0, n##2 = 0, n##3 = 0, n##4 = 0, n##5 = 0, n##6 = 0, n##7 = 0
struct Eighty {
  EIGHT(a);
  EIGHT(b);
  EIGHT(c);
  EIGHT(d);
  EIGHT(e);
  EIGHT(f);
  EIGHT(g);
  EIGHT(h);
  EIGHT(i);
  EIGHT(j);
};

TEST(Reflect, CountsToEighty) {
  ASSERT_EQ(names<Eighty>().size(), 80U);
  EXPECT_EQ(names<Eighty>()[79], "j7");
}

}  // namespace
}  // namespace kopper::meta
