#include "kopper/api/selector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kopper::api {
namespace {

using ::testing::HasSubstr;

std::string canonical(std::string_view text) {
  const auto s = Selector::parse(text);
  return s ? s->str() : "error: " + s.error().str();
}

bool matches(std::string_view text, const Labels& labels) {
  const auto s = Selector::parse(text);
  EXPECT_TRUE(s) << text;
  return s && s->matches(labels);
}

TEST(Selector, ParsesAndPrints) {
  EXPECT_EQ(canonical(""), "");
  EXPECT_EQ(canonical("  "), "");
  EXPECT_EQ(canonical("a=b,c!=d,e in (y,x),f notin (z),g,!h"), "a=b,c!=d,e in (x,y),f notin (z),g,!h");
  EXPECT_EQ(canonical("b==1 , a = 2"), "a=2,b=1");
  EXPECT_EQ(canonical("x in (foo,,baz),y,z notin ()"), "x in (,baz,foo),y,z notin ()");
  EXPECT_EQ(canonical("x in (a,a)"), "x in (a)");
  EXPECT_EQ(canonical("a="), "a=");
  EXPECT_EQ(canonical("a=,b"), "a=,b");
  EXPECT_EQ(canonical("a>3,b<-1"),
            "error: unable to parse requirement: values[0][b]: Invalid value: \"-1\": a valid label must be an empty "
            "string or consist of "
            "alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
            "character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
            "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?') (offset 4)");
  EXPECT_EQ(canonical("a>3,b<7"), "a>3,b<7");
  EXPECT_EQ(canonical("in in (in,notin),notin"), "in in (in,notin),notin");
  EXPECT_EQ(canonical("example.com/app=web"), "example.com/app=web");
}

TEST(Selector, RefusesNonsense) {
  for (const auto* text : {",",          "a,",         ",a",    "a,,b", "a=b=c", "a in",  "a in x", "a in (x",
                           "a in (x y)", "a in (x=y)", "a b",   "!",    "!a=b",  "!!a",   "a>x",    "a>",
                           "(a)",        "a in (x))",  "a/b/c", "-a",   "a=-",   "a=b c", "==",     "a=!"}) {
    EXPECT_FALSE(Selector::parse(text).has_value()) << text;
  }
  EXPECT_EQ(canonical("a in x"), "error: unable to parse requirement: found 'x', expected: '(' (offset 5)");
  EXPECT_THAT(canonical("a=1,-b"), HasSubstr("Invalid value: \"-b\""));
}

TEST(Selector, Matches) {
  const Labels labels{{"app", "web"}, {"tier", "3"}, {"empty", ""}};
  for (const auto* yes : {"", "app", "app=web", "app in (db,web)", "app!=db", "none!=x", "none notin (x)", "!none",
                          "tier>2", "tier<4", "empty=", "app,tier", "empty in ()"}) {
    EXPECT_TRUE(matches(yes, labels)) << yes;
  }
  for (const auto* no : {"none", "app=db", "app notin (web)", "!app", "none=x", "none in (x)", "tier>3", "tier<3",
                         "app>1", "none>1", "app=web,none", "none="}) {
    EXPECT_FALSE(matches(no, labels)) << no;
  }
}

TEST(Selector, BuildsFromLabels) {
  const Labels labels{{"b", "2"}, {"a", "1"}};
  EXPECT_EQ(Selector::of(labels).str(), "a=1,b=2");
  EXPECT_EQ(Selector::of(labels), *Selector::parse("b=2,a=1"));
  auto s = Selector::of(labels);
  s.add({"aa", Requirement::Op::In, {"y", "x"}});
  EXPECT_EQ(s.str(), "a=1,aa in (x,y),b=2");
  EXPECT_TRUE(Selector::everything().empty());
}

std::string fields(std::string_view text) {
  const auto s = FieldSelector::parse(text);
  return s ? s->str() : "error: " + s.error().str();
}

TEST(FieldSelector, ParsesAndPrints) {
  EXPECT_EQ(fields(""), "");
  EXPECT_EQ(fields("status.phase!=Failed,metadata.name==web"), "metadata.name=web,status.phase!=Failed");
  EXPECT_EQ(fields("a=,,b!="), "a=,b!=");
  EXPECT_EQ(fields(R"(a=x\,y\=z\\)"), R"(a=x\,y\=z\\)");
  EXPECT_EQ(FieldSelector::parse(R"(a=x\,y)")->terms()[0].value, "x,y");
  EXPECT_EQ(FieldSelector::of("a", "x=y").str(), R"(a=x\=y)");
  for (const auto* text : {"a", "a,b=c", "a=b=c", R"(a=\x)", "a=\\", "a!==b"}) {
    EXPECT_FALSE(FieldSelector::parse(text).has_value()) << text;
  }
}

TEST(FieldSelector, Matches) {
  const auto lookup = [](std::string_view field) -> std::optional<std::string> {
    if (field == "metadata.name") return "web";
    return std::nullopt;
  };
  EXPECT_TRUE(FieldSelector::parse("metadata.name=web,status.phase!=Failed")->matches(lookup));
  EXPECT_FALSE(FieldSelector::parse("metadata.name=db")->matches(lookup));
  EXPECT_TRUE(FieldSelector::parse("spec.nodeName=")->matches(lookup));
  EXPECT_EQ(FieldSelector::parse("metadata.name=web,a!=b")->exact("metadata.name"), "web");
  EXPECT_EQ(FieldSelector::parse("metadata.name!=web")->exact("metadata.name"), std::nullopt);
}

}  // namespace
}  // namespace kopper::api
