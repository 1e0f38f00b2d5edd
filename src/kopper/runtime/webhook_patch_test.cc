#include "kopper/runtime/webhook_patch.h"

#include <cstdint>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "kopper/json/patch.h"

namespace kopper::runtime {
namespace {

json::Value parsed(const std::string& text) { return json::parse(text).value(); }

// The patch as text; what it makes of raw goes to `result`.
std::string patch(const std::string& raw, const std::string& before, const std::string& after, std::string& result) {
  const auto operations = json::Value(patch_of(parsed(raw), parsed(before), parsed(after)));
  auto applied = json::apply_patch(parsed(raw), operations);
  result = applied ? json::dump(*applied) : applied.error().str();
  return json::dump(operations);
}

TEST(WebhookPatch, IsEmptyWhenNothingChanged) {
  std::string result;
  // The view has a default that raw has not: that is no change.
  EXPECT_EQ(patch(R"({"spec":{}})", R"({"spec":{"size":1}})", R"({"spec":{"size":1}})", result), "[]");
}

TEST(WebhookPatch, TouchesOnlyWhatChanged) {
  std::string result;
  EXPECT_EQ(patch(R"({"spec":{"size":1,"image":"a","foreign":{"x":null}},"status":{"ready":1}})",
                  R"({"spec":{"size":1,"image":"a"},"status":{"ready":1}})",
                  R"({"spec":{"size":2,"image":"a"},"status":{"ready":1}})", result),
            R"([{"op":"replace","path":"/spec/size","value":2}])");
  EXPECT_EQ(result, R"({"spec":{"size":2,"image":"a","foreign":{"x":null}},"status":{"ready":1}})");
}

TEST(WebhookPatch, AddsAParentThatIsNotThere) {
  std::string result;
  EXPECT_EQ(patch("{}", R"({"spec":{"size":1}})", R"({"spec":{"size":2}})", result),
            R"([{"op":"add","path":"/spec","value":{"size":2}}])");
  EXPECT_EQ(result, R"({"spec":{"size":2}})");
}

TEST(WebhookPatch, ReplacesANullThatTheTypeReadsAsNothing) {
  std::string result;
  EXPECT_EQ(patch(R"({"labels":null})", "{}", R"({"labels":{"a":"b"}})", result),
            R"([{"op":"replace","path":"/labels","value":{"a":"b"}}])");
}

TEST(WebhookPatch, RemovesWhatTheFunctionRemoved) {
  std::string result;
  EXPECT_EQ(patch(R"({"a":"1","b":"2"})", R"({"a":"1","b":"2"})", R"({"b":"2"})", result),
            R"([{"op":"remove","path":"/a"}])");
  // But not what raw never had.
  EXPECT_EQ(patch(R"({"b":"2"})", R"({"a":"1","b":"2"})", R"({"b":"2"})", result), "[]");
}

TEST(WebhookPatch, EscapesNames) {
  std::string result;
  EXPECT_EQ(patch(R"({"m":{}})", R"({"m":{}})", R"({"m":{"kopper.dev/a~b":"c"}})", result),
            R"([{"op":"add","path":"/m/kopper.dev~1a~0b","value":"c"}])");
  EXPECT_EQ(result, R"({"m":{"kopper.dev/a~b":"c"}})");
}

TEST(WebhookPatch, GoesIntoItemsOfAList) {
  std::string result;
  EXPECT_EQ(patch(R"({"c":[{"n":"a","x":1},{"n":"b"}]})", R"({"c":[{"n":"a"},{"n":"b"}]})",
                  R"({"c":[{"n":"a"},{"n":"B"}]})", result),
            R"([{"op":"replace","path":"/c/1/n","value":"B"}])");
  EXPECT_EQ(result, R"({"c":[{"n":"a","x":1},{"n":"B"}]})");
}

TEST(WebhookPatch, AppendsToAList) {
  std::string result;
  EXPECT_EQ(patch(R"({"c":[1]})", R"({"c":[1]})", R"({"c":[1,2,3]})", result),
            R"([{"op":"add","path":"/c/-","value":2},{"op":"add","path":"/c/-","value":3}])");
  EXPECT_EQ(result, R"({"c":[1,2,3]})");
}

TEST(WebhookPatch, ReplacesAListThatShrinksOrShifts) {
  std::string result;
  EXPECT_EQ(patch(R"({"c":[1,2]})", R"({"c":[1,2]})", R"({"c":[2]})", result),
            R"([{"op":"replace","path":"/c","value":[2]}])");
  EXPECT_EQ(patch(R"({"c":[1,2]})", R"({"c":[1,2]})", R"({"c":[0,1,2]})", result),
            R"([{"op":"replace","path":"/c","value":[0,1,2]}])");
}

// Small random JSON: few names and values, so that two of them have much in common.
class Dice {
 public:
  json::Value value(int depth) {
    switch (roll(depth > 0 ? 6 : 3)) {
      case 0: return static_cast<std::int64_t>(roll(3));
      case 1: return roll(2) == 0 ? "a" : "b";
      case 2: return nullptr;
      case 3: {
        json::Array items;
        for (auto left = roll(4); left > 0; --left) items.push_back(value(depth - 1));
        return items;
      }
      default: return object(depth);
    }
  }
  json::Value object(int depth) {
    json::Object members;
    for (const auto* name : {"a", "b/c", "d~e", ""})
      if (roll(2) == 0) members[name] = value(depth - 1);
    return members;
  }

 private:
  std::uint32_t roll(std::uint32_t sides) { return static_cast<std::uint32_t>(engine_() % sides); }
  std::minstd_rand engine_{7};
};

TEST(WebhookPatch, MakesAnythingOfAnything) {
  Dice dice;
  for (int i = 0; i < 2'000; ++i) {
    const auto before = dice.object(3), after = dice.object(3), raw = dice.object(3);
    // When the type knows all there is, the patch is the whole difference.
    auto applied = json::apply_patch(before, json::Value(patch_of(before, before, after)));
    ASSERT_TRUE(applied.has_value()) << applied.error().str();
    ASSERT_EQ(*applied, after);
    // Whatever it knows, the patch can be applied.
    auto other = json::apply_patch(raw, json::Value(patch_of(raw, before, after)));
    ASSERT_TRUE(other.has_value()) << other.error().str() << json::dump(raw) << json::dump(before) << json::dump(after);
  }
}

}  // namespace
}  // namespace kopper::runtime
