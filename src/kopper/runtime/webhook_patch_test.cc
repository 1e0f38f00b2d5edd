#include "kopper/runtime/webhook_patch.h"

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

}  // namespace
}  // namespace kopper::runtime
