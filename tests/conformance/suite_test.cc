#include "conformance/suite.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/base/error.h"
#include "kopper/json/value.h"

#include "conformance/cases.h"
#include "conformance/compare.h"
#include "conformance/normalise.h"

// The tools themselves.
namespace kopper::conformance {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

json::Value of(std::string_view text) {
  auto value = json::parse(text);
  if (!value) throw_error(value.error());
  return *std::move(value);
}

// The bodies of a scenario of one step each, normalised.
json::Array normalised(std::vector<std::string_view> bodies, std::string request = "") {
  Scenario scenario{.name = "s"};
  Transcript transcript{.space = "conform-abc"};
  for (const auto body : bodies) {
    scenario.steps.push_back({.name = "a", .method = "POST", .target = "/", .body = request});
    json::Value answer;
    answer["body"] = of(body);
    transcript.answers.push_back(std::move(answer));
  }
  json::Array out;
  for (auto& answer : normalise(scenario, std::move(transcript))) out.push_back(answer["body"]);
  return out;
}

TEST(Normalise, RenamesVersionsInTheirOrder) {
  EXPECT_THAT(
      normalised({R"({"metadata": {"resourceVersion": "31"}})", R"({"metadata": {"resourceVersion": "7"}})",
                  R"({"metadata": {"resourceVersion": "31"}})",
                  R"({"kind": "PodList", "items": [], "metadata": {"resourceVersion": "40"}})"}),
      ElementsAre(of(R"({"metadata": {"resourceVersion": "rv2"}})"), of(R"({"metadata": {"resourceVersion": "rv1"}})"),
                  of(R"({"metadata": {"resourceVersion": "rv2"}})"),
                  of(R"({"kind": "PodList", "items": [], "metadata": {"resourceVersion": "rv2+"}})")));
}

TEST(Normalise, RenamesWhatTheServerChose) {
  EXPECT_THAT(normalised({R"({"metadata": {"namespace": "conform-abc", "uid": "0b7d4b2e-1111-2222-3333-444444444444",
                      "creationTimestamp": "2026-02-03T04:05:06Z"}, "clusterIP": "10.96.3.4", "nodePort": 31000,
                      "message": "at 2026-02-03T04:05:06.000007Z, 0b7d4b2e-1111-2222-3333-444444444444"})"}),
              ElementsAre(of(R"({"metadata": {"namespace": "$ns", "uid": "uid-1", "creationTimestamp": "<time>"},
                         "clusterIP": "<ip>", "nodePort": "<port>", "message": "at <microtime>, uid-1"})")));
}

TEST(Normalise, KeepsWhatTheRequestSaid) {
  EXPECT_THAT(normalised({R"({"at": "2001-01-01T00:00:00Z", "clusterIP": "10.96.3.4", "nodePort": 31000})"},
                         R"({"at": "2001-01-01T00:00:00Z", "clusterIP": "10.96.3.4", "nodePort": 31000})"),
              ElementsAre(of(R"({"at": "2001-01-01T00:00:00Z", "clusterIP": "10.96.3.4", "nodePort": 31000})")));
  EXPECT_THAT(normalised({R"({"metadata": {"name": "gen-b2c4d"}})"}, R"({"metadata":{"generateName":"gen-"}})"),
              ElementsAre(of(R"({"metadata": {"name": "gen-*****"}})")));
}

TEST(Normalise, CutsDiscoveryToWhatWeHave) {
  EXPECT_THAT(normalised({R"({"groups": [{"name": "apps", "versions": []}, {"name": "node.k8s.io", "versions": []},
                                         {"name": "conform-abc.example.com", "versions": []}]})"}),
              ElementsAre(of(R"({"groups": [{"name": "apps", "versions": []},
                                            {"name": "$ns.example.com", "versions": []}]})")));
}

TEST(Parts, KeepAndDrop) {
  auto body = of(R"({"items": [{"a": 1, "b": 2}, {"a": 3, "b": 4}], "c": 5})");
  EXPECT_EQ(keep_only(body, {"/items/*/a"}), of(R"({"items": [{"a": 1}, {"a": 3}]})"));
  EXPECT_EQ(keep_only(body, {"/items/1/b", "/c"}), of(R"({"items": [null, {"b": 4}], "c": 5})"));
  drop(body, {"/items/*/a", "/c"});
  EXPECT_EQ(body, of(R"({"items": [{"b": 2}, {"b": 4}]})"));
}

TEST(Compare, TellsEachField) {
  const auto real =
      of(R"({"status": 200, "body": {"a": 1, "list": [{"name": "x"}, {"name": "z", "v": 1}], "b": [1, 2]}})");
  const auto ours = of(R"({"status": 200, "body": {"list": [{"name": "z", "v": 2}], "b": [1], "c": null}})");
  EXPECT_THAT(
      compare("t/s/a", real, ours),
      ElementsAre(Difference{"t/s/a", "body.a", "1", "nothing"},
                  Difference{"t/s/a", "body.list[x]", R"({"name":"x"})", "nothing"},
                  Difference{"t/s/a", "body.list[z].v", "1", "2"}, Difference{"t/s/a", "body.b[1]", "2", "nothing"},
                  Difference{"t/s/a", "body.c", "nothing", "null"}));
  EXPECT_THAT(compare("t/s/a", real, real), IsEmpty());
}

TEST(Compare, OfAnotherStatusTellsTheMessage) {
  EXPECT_THAT(compare("t/s/a", of(R"({"status": 200, "body": {"a": 1, "b": 2}})"),
                      of(R"({"status": 404, "body": {"message": "gone"}})")),
              ElementsAre(Difference{"t/s/a", "status", "200 ", "404 \"gone\""}));
}

TEST(KnownDifferences, CoverByPatternAndTellWhatIsUnused) {
  auto known = KnownDifferences::parse("# comment\n\nt/*: body.a*   # not ours\nt/s/b: status # never\n");
  EXPECT_TRUE(known.covers({"t/s/a", "body.abc", "", ""}));
  EXPECT_FALSE(known.covers({"t/s/a", "status", "", ""}));
  EXPECT_THAT(known.unused(), ElementsAre("t/s/b: status"));
  EXPECT_THROW(KnownDifferences::parse("t/s/a: body"), Error);
}

TEST(Cases, HaveAnswers) {
  for (const auto& topic : read_topics(home() / "cases")) {
    const auto answers = read_answers(home() / "answers", topic);
    EXPECT_THAT(*answers.as_object(), SizeIs(topic.scenarios.size())) << topic.name;
    for (const auto& scenario : topic.scenarios) {
      const auto* recorded = answers[scenario.name].as_array();
      ASSERT_NE(recorded, nullptr) << topic.name << ": " << scenario.name;
      ASSERT_THAT(*recorded, SizeIs(scenario.steps.size())) << topic.name << ": " << scenario.name;
      for (std::size_t i = 0; i < recorded->size(); ++i) EXPECT_EQ((*recorded)[i].text("step"), scenario.steps[i].name);
    }
  }
}

}  // namespace
}  // namespace kopper::conformance
