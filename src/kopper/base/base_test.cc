#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/base/error.h"
#include "kopper/base/key.h"
#include "kopper/base/log.h"

namespace kopper {
namespace {

TEST(Error, ContextReadsFromTheOutsideIn) {
  const Error error = Error(Code::Invalid, "no such file").with("certificate-authority").with("kubeconfig a.yaml");
  EXPECT_STREQ(error.what(), "kubeconfig a.yaml: certificate-authority: no such file");
  EXPECT_EQ(error.message, "no such file");
  EXPECT_EQ(exit_code(error.code), 5);
}

TEST(Error, OnlyPassingTroubleIsRetryable) {
  EXPECT_TRUE(Error(Code::Unavailable, "x").retryable());
  EXPECT_TRUE(Error(Code::TooMany, "x").retryable());
  EXPECT_FALSE(Error(Code::Conflict, "x").retryable());
}

TEST(DecodeError, NamesPathAndOffset) {
  const DecodeError error{"expected an integer", "spec.size", 41};
  EXPECT_EQ(error.str(), "spec.size: expected an integer (offset 41)");
  EXPECT_THROW(throw_error(error, "a.yaml"), Error);
}

TEST(Key, ParsesAndPrints) {
  EXPECT_EQ(Key::parse("ns/a"), (Key{"ns", "a"}));
  EXPECT_EQ(Key::parse("a"), (Key{"", "a"}));
  EXPECT_EQ((Key{"ns", "a"}).str(), "ns/a");
  EXPECT_EQ((Key{"", "a"}).str(), "a");
}

class LogTest : public testing::Test {
 protected:
  void use(log::Format format) {
    log::configure(
        {.level = log::Level::Info, .format = format, .sink = [this](std::string_view l) { lines.emplace_back(l); }});
  }
  void TearDown() override { log::configure({}); }
  std::vector<std::string> lines;
};

TEST_F(LogTest, HumanLineQuotesWhatHasSpaces) {
  use(log::Format::Human);
  log::info("watch restarted", {{"kind", "Pod"}, {"reason", "too old"}, {"tries", 3}});
  log::debug("not shown");
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_THAT(lines[0], testing::EndsWith("INFO  watch restarted kind=Pod reason=\"too old\" tries=3"));
}

TEST_F(LogTest, JsonLineIsEscaped) {
  use(log::Format::Json);
  log::warn("a \"b\"\n", {{"k", "\x01"}});
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_THAT(lines[0], testing::HasSubstr(R"("level":"WARN","msg":"a \"b\"\n","k":"\u0001"})"));
}

}  // namespace
}  // namespace kopper
