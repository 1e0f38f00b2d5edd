#include "kopper/json/merge_patch.h"

#include <array>

#include <gtest/gtest.h>

namespace kopper::json {
namespace {

// Appendix A of RFC 7386: target, patch, result.
TEST(MergePatch, ExamplesOfTheStandard) {
  const std::array<std::array<const char*, 3>, 15> cases{{
      {R"({"a":"b"})", R"({"a":"c"})", R"({"a":"c"})"},
      {R"({"a":"b"})", R"({"b":"c"})", R"({"a":"b","b":"c"})"},
      {R"({"a":"b"})", R"({"a":null})", R"({})"},
      {R"({"a":"b","b":"c"})", R"({"a":null})", R"({"b":"c"})"},
      {R"({"a":["b"]})", R"({"a":"c"})", R"({"a":"c"})"},
      {R"({"a":"c"})", R"({"a":["b"]})", R"({"a":["b"]})"},
      {R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})", R"({"a":{"b":"d"}})"},
      {R"({"a":[{"b":"c"}]})", R"({"a":[1]})", R"({"a":[1]})"},
      {R"(["a","b"])", R"(["c","d"])", R"(["c","d"])"},
      {R"({"a":"b"})", R"(["c"])", R"(["c"])"},
      {R"({"a":"foo"})", R"(null)", R"(null)"},
      {R"({"a":"foo"})", R"("bar")", R"("bar")"},
      {R"({"e":null})", R"({"a":1})", R"({"e":null,"a":1})"},
      {R"([1,2])", R"({"a":"b","c":null})", R"({"a":"b"})"},
      {R"({})", R"({"a":{"bb":{"ccc":null}}})", R"({"a":{"bb":{}}})"},
  }};
  for (const auto& [target, patch, result] : cases)
    EXPECT_EQ(dump(apply_merge_patch(*parse(target), *parse(patch))), result) << patch;
}

TEST(MergeDiff, SaysOnlyWhatChanged) {
  const Value before = *parse(R"({"a":1,"b":{"c":[1],"d":2,"same":{"x":1}},"gone":true,"s":"x"})");
  const Value after = *parse(R"({"a":1,"b":{"c":[2],"d":2,"same":{"x":1}},"s":{"y":1},"new":[]})");
  const Value diff = merge_diff(before, after);
  EXPECT_EQ(dump(diff), R"({"b":{"c":[2]},"s":{"y":1},"new":[],"gone":null})");
  EXPECT_EQ(apply_merge_patch(before, diff), after);
  EXPECT_EQ(dump(merge_diff(after, after)), "{}");
}

TEST(MergeDiff, ScalarsAndKindsThatChange) {
  for (const auto& [before, after] : std::vector<std::pair<Value, Value>>{{1, Object{}},
                                                                          {Object{{"a", 1}}, Object{}},
                                                                          {Object{}, 1},
                                                                          {Object{}, Array{}},
                                                                          {nullptr, "x"},
                                                                          {Object{}, nullptr}}) {
    EXPECT_EQ(apply_merge_patch(before, merge_diff(before, after)), after) << dump(before) << " " << dump(after);
  }
}

TEST(MergePatch, WideObjectsStayLinear) {
  std::vector<Object::Member> members;
  std::vector<Object::Member> removals;
  for (int i = 0; i < 20000; ++i) members.emplace_back("k" + std::to_string(i), i);
  for (int i = 19999; i >= 100; --i) removals.emplace_back("k" + std::to_string(i), nullptr);
  const Value wide = Object(std::move(members));
  const Value narrow = apply_merge_patch(wide, Object(std::move(removals)));
  EXPECT_EQ(narrow.as_object()->size(), 100U);
  EXPECT_EQ(merge_diff(wide, narrow).as_object()->size(), 19900U);
}

}  // namespace
}  // namespace kopper::json
