#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/base/error.h"

#include "args.h"
#include "manifest.h"
#include "table.h"

namespace kopper::cmd {
namespace {

using testing::HasSubstr;

json::Value parsed(std::string_view text) { return json::parse(text).value(); }

Parsed parse(std::vector<std::string> words) {
  words.insert(words.begin(), "kopper");
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  return parse_args(static_cast<int>(argv.size()), argv.data());
}

TEST(Args, GetTakesNamesAndOptionsInAnyOrder) {
  const auto args = parse({"get", "pods", "-o", "yaml", "web", "-n", "demo", "-l", "app=web"}).args;
  ASSERT_TRUE(args.has_value());
  EXPECT_EQ(args->verb, Verb::Get);
  EXPECT_EQ(args->resource, "pods");
  EXPECT_EQ(args->names, std::vector<std::string>{"web"});
  EXPECT_EQ(args->namespace_, "demo");
  EXPECT_EQ(args->label_selector, "app=web");
  EXPECT_EQ(args->output, Output::Yaml);
}

TEST(Args, OptionsOfEveryVerbStandBeforeOrAfterIt) {
  for (const auto& words : {std::vector<std::string>{"--context", "dev", "version"}, {"version", "--context", "dev"}}) {
    const auto args = parse(words).args;
    ASSERT_TRUE(args.has_value());
    EXPECT_EQ(args->context, "dev");
  }
}

TEST(Args, MistakesAreUsageErrors) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(parse({"get"}).exit_code, 2);
  EXPECT_EQ(parse({"get", "pods", "-o", "xml"}).exit_code, 2);
  EXPECT_EQ(parse({"apply"}).exit_code, 2);
  EXPECT_EQ(parse({}).exit_code, 2);
  EXPECT_EQ(parse({"frobnicate"}).exit_code, 2);
  for (const char* version : {"1", "1.", "v1.20", "1.20.3", "2.0", "1.x"})
    EXPECT_EQ(parse({"cluster", "--kubernetes-version-compat", version}).exit_code, 2) << version;
  testing::internal::GetCapturedStderr();
}

TEST(Args, AVersionToBe) {
  EXPECT_EQ(parse({"cluster", "--kubernetes-version-compat", "1.20"}).args->version_compat, "1.20");
}

TEST(Args, HelpIsNoError) {
  testing::internal::CaptureStdout();
  const auto result = parse({"get", "--help"});
  EXPECT_THAT(testing::internal::GetCapturedStdout(), HasSubstr("--selector"));
  EXPECT_FALSE(result.args.has_value());
  EXPECT_EQ(result.exit_code, 0);
}

constexpr std::string_view kTable = R"({"columnDefinitions":[
    {"name":"Name","priority":0},{"name":"Ready","priority":0},{"name":"IP","priority":1}],
  "rows":[{"cells":["web","1/1","10.0.0.1"],"object":{"metadata":{"namespace":"demo"}}},
          {"cells":["a-longer-name",2,null],"object":{"metadata":{"namespace":"kube-system"}}}]})";

TEST(Table, AlignsAndHidesWhatIsOnlyForWide) {
  EXPECT_EQ(render_table(parsed(kTable), {}),
            "NAME            READY\n"
            "web             1/1\n"
            "a-longer-name   2\n");
  EXPECT_EQ(render_table(parsed(kTable), {.wide = true, .headers = false}),
            "web             1/1   10.0.0.1\n"
            "a-longer-name   2     <none>\n");
  EXPECT_THAT(render_table(parsed(kTable), {.namespaces = true}), HasSubstr("kube-system   a-longer-name   2\n"));
}

TEST(Table, ControlCharactersDoNotReachTheTerminal) {
  const auto text = align({{"NAME"}, {"x"}});
  EXPECT_EQ(text, "NAME\nx\n");
  const auto hostile = parsed(R"({"columnDefinitions":[{"name":"N"}],"rows":[{"cells":["\u001b[2Jx\ny"]}]})");
  EXPECT_EQ(render_table(hostile, {.headers = false}), " [2Jx y\n");
}

TEST(Manifest, ReadsDocumentsAndLists) {
  const auto manifests = parse_manifests(
      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\n# nothing\n---\napiVersion: v1\nkind: List\nitems:\n"
      "- {apiVersion: v1, kind: Secret, metadata: {name: b, namespace: demo}}\n",
      "x.yaml");
  ASSERT_EQ(manifests.size(), 2U);
  EXPECT_EQ(manifests[0].name(), "a");
  EXPECT_EQ(manifests[0].source, "x.yaml:1");
  EXPECT_EQ(manifests[1].kind(), "Secret");
  EXPECT_EQ(manifests[1].namespace_(), "demo");
  EXPECT_THAT(manifests[1].source, HasSubstr("items[0]"));
}

std::string error_of(std::string_view text) {
  try {
    parse_manifests(text, "x.yaml");
  } catch (const Error& error) {
    EXPECT_EQ(error.code, Code::Invalid);
    return error.what();
  }
  return "";
}

TEST(Manifest, ErrorsNameFileLineAndField) {
  EXPECT_EQ(error_of("kind: ConfigMap\n"), "x.yaml:1: apiVersion is missing");
  EXPECT_EQ(error_of("apiVersion: v1\nkind: ConfigMap\nmetadata: {}\n"), "x.yaml:1: metadata.name is missing");
  EXPECT_EQ(error_of("just text\n"), "x.yaml:1: expected an object");
  EXPECT_THAT(error_of("a: b: c\n"), testing::StartsWith("x.yaml: "));
}

}  // namespace
}  // namespace kopper::cmd
