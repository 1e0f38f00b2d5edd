#include "kopper/runtime/conversion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/api/names.h"

namespace kopper::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Three versions: replicas, then size, then shards × copies (the hub).
struct OldSpec {
  int32_t replicas = 1;
};
struct Old {
  static constexpr Kind kind{.group = "example.com", .version = "v1", .kind = "Web", .storage = false};
  ObjectMeta metadata;
  OldSpec spec;
};
struct MiddleSpec {
  int32_t size = 1;
};
struct Middle {
  static constexpr Kind kind{.group = "example.com", .version = "v2", .kind = "Web", .storage = false};
  ObjectMeta metadata;
  MiddleSpec spec;
};
struct NewSpec {
  int32_t shards = 1;
  int32_t copies = 1;
};
struct New {
  static constexpr Kind kind{.group = "example.com", .version = "v3", .kind = "Web"};
  ObjectMeta metadata;
  NewSpec spec;
};

Conversion web() {
  return conversion<New>()
      .spoke<Old>(
          [](const Old& from, New& to) {
            if (from.spec.replicas < 0) throw Error(Code::Invalid, "spec.replicas: must not be negative");
            to.spec.copies = from.spec.replicas;
          },
          [](const New& from, Old& to) {
            to.spec.replicas = from.spec.shards * from.spec.copies;
            to.metadata.annotations["example.com/shards"] = std::to_string(from.spec.shards);
            to.metadata.name = "renamed";  // not allowed, and not done
          })
      .spoke<Middle>([](const Middle& from, New& to) { to.spec.copies = from.spec.size; },
                     [](const New& from, Middle& to) { to.spec.size = from.spec.shards * from.spec.copies; });
}

json::Value parsed(const std::string& text) { return json::parse(text).value(); }

std::string review(const std::string& objects, const std::string& desired) {
  return R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"u-1","desiredAPIVersion":")" +
         desired + R"(","objects":[)" + objects + "]}}";
}

json::Value answer(const std::string& text) {
  const auto answered = answer_conversion(parsed(text), {web()});
  EXPECT_TRUE(answered.has_value()) << answered.error();
  return (*answered)["response"];
}

TEST(Conversion, GoesThroughTheHub) {
  const auto made = web().convert(
      parsed(R"({"apiVersion":"example.com/v1","kind":"Web","metadata":{"name":"a"},"spec":{"replicas":4}})"), "v2");
  ASSERT_TRUE(made.has_value()) << made.error();
  EXPECT_EQ(json::dump(*made),
            R"({"apiVersion":"example.com/v2","kind":"Web","metadata":{"name":"a"},"spec":{"size":4}})");
}

TEST(Conversion, KeepsMetadataButLabelsAndAnnotations) {
  const auto made = web().convert(parsed(R"({"apiVersion":"example.com/v3","kind":"Web",
      "metadata":{"name":"a","uid":"1","labels":{"l":"1"},"managedFields":[{"manager":"m","fieldsV1":{"f:spec":{}}}],
      "creationTimestamp":"2026-01-01T00:00:00Z","futureField":7},"spec":{"shards":2,"copies":3}})"),
                                  "v1");
  ASSERT_TRUE(made.has_value()) << made.error();
  EXPECT_EQ((*made)["metadata"],
            parsed(R"({"name":"a","uid":"1","labels":{"l":"1"},"annotations":{"example.com/shards":"2"},
                       "managedFields":[{"manager":"m","fieldsV1":{"f:spec":{}}}],
                       "creationTimestamp":"2026-01-01T00:00:00Z","futureField":7})"));
  EXPECT_EQ((*made)["spec"], parsed(R"({"replicas":6})"));
}

TEST(ConversionReview, AnswersAllObjectsInOrder) {
  const auto response = answer(review(
      R"({"apiVersion":"example.com/v1","kind":"Web","metadata":{"name":"b"},"spec":{"replicas":2}},
         {"apiVersion":"example.com/v3","kind":"Web","metadata":{"name":"c"},"spec":{"shards":9}},
         {"apiVersion":"example.com/v2","kind":"Web","metadata":{"name":"a"},"spec":{"size":5}})",
      "example.com/v3"));
  EXPECT_EQ(response.text("uid"), "u-1");
  EXPECT_EQ(response["result"].text("status"), "Success");
  std::vector<std::string> names;
  for (const auto& object : *response["convertedObjects"].as_array()) {
    names.emplace_back(object["metadata"].text("name"));
    EXPECT_EQ(object.text("apiVersion"), "example.com/v3");
  }
  EXPECT_THAT(names, ElementsAre("b", "c", "a"));
  // The one that was right already is not even decoded.
  EXPECT_EQ(json::dump(response["convertedObjects"][1]["spec"]), R"({"shards":9})");
}

std::string failure(const std::string& text) {
  const auto response = answer(text);
  EXPECT_EQ(response["result"].text("status"), "Failure");
  EXPECT_EQ(response["convertedObjects"], json::Value(json::Array()));
  EXPECT_EQ(response.text("uid"), "u-1");
  return std::string(response["result"].text("message"));
}

TEST(ConversionReview, FailsClearly) {
  const std::string good = R"({"apiVersion":"example.com/v1","kind":"Web","metadata":{"name":"x","namespace":"n"}})";
  EXPECT_EQ(failure(review(good, "example.com/v9")),
            "example.com/v1 Web n/x to example.com/v9: version v9 is not known; there are v3, v1, v2");
  EXPECT_EQ(failure(review(R"({"apiVersion":"example.com/v7","kind":"Web"})", "example.com/v1")),
            "example.com/v7 Web  to example.com/v1: version v7 is not known; there are v3, v1, v2");
  EXPECT_THAT(failure(review(R"({"apiVersion":"example.com/v1","kind":"Other"})", "example.com/v3")),
              HasSubstr("no conversion of this kind"));
  EXPECT_THAT(failure(review(R"({"apiVersion":"other.com/v1","kind":"Web"})", "example.com/v3")),
              HasSubstr("another group"));
  EXPECT_THAT(failure(review(good + R"(,{"apiVersion":"example.com/v1","kind":"Web","spec":{"replicas":"two"}})",
                             "example.com/v3")),
              HasSubstr("spec.replicas: expected an integer"));
  EXPECT_THAT(
      failure(review(R"({"apiVersion":"example.com/v1","kind":"Web","spec":{"replicas":-1}})", "example.com/v3")),
      HasSubstr("must not be negative"));
}

TEST(ConversionReview, RefusesWhatIsNone) {
  for (const auto* text : {"{}", "[]", R"({"apiVersion":"v1","kind":"ConversionReview"})",
                           R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview"})"})
    EXPECT_FALSE(answer_conversion(parsed(text), {web()}).has_value()) << text;
}

TEST(Conversion, RefusesAVersionTwice) {
  const auto nothing = [](const Old&, New&) {};
  const auto back = [](const New&, Old&) {};
  auto twice = conversion<New>();
  twice.spoke<Old>(nothing, back);
  EXPECT_THROW(twice.spoke<Old>(nothing, back), Error);
}

}  // namespace
}  // namespace kopper::runtime
