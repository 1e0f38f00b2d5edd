#include "kopper/api/validation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kopper::api {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

TEST(Validation, DnsLabel) {
  for (const auto* good : {"a", "my-name", "123-abc", "0"}) EXPECT_THAT(check_dns_label(good), IsEmpty()) << good;
  for (const auto* bad : {"", "-a", "a-", "A", "a_b", "a b"}) EXPECT_THAT(check_dns_label(bad), SizeIs(1)) << bad;
  EXPECT_THAT(check_dns_label("a.b"), ElementsAre("must not contain dots"));
  EXPECT_THAT(check_dns_label(std::string(64, 'a')), ElementsAre("must be no more than 63 characters"));
  EXPECT_THAT(
      check_dns_label("-"),
      ElementsAre("a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must "
                  "start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for "
                  "validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"));
}

TEST(Validation, DnsSubdomain) {
  for (const auto* good : {"a", "example.com", "a.b.c-d.0"}) EXPECT_THAT(check_dns_subdomain(good), IsEmpty()) << good;
  for (const auto* bad : {"", ".", "a.", ".a", "a..b", "a-.b", "Example.com"}) {
    EXPECT_THAT(check_dns_subdomain(bad), SizeIs(1)) << bad;
  }
  EXPECT_THAT(check_dns_subdomain(std::string(254, 'a')), ElementsAre("must be no more than 253 characters"));
}

TEST(Validation, Dns1035Label) {
  EXPECT_THAT(check_dns1035_label("abc-123"), IsEmpty());
  EXPECT_THAT(check_dns1035_label("123-abc"), ElementsAre(StartsWith("a DNS-1035 label must consist")));
  EXPECT_THAT(check_dns1035_label(""), SizeIs(1));
}

TEST(Validation, LabelKey) {
  for (const auto* good : {"app", "App_1.x", "example.com/app", "a/b"})
    EXPECT_THAT(check_label_key(good), IsEmpty()) << good;
  EXPECT_THAT(check_label_key(""), ElementsAre("name part must be non-empty", HasSubstr("name part must consist of")));
  EXPECT_THAT(check_label_key("/a"), ElementsAre("prefix part must be non-empty"));
  EXPECT_THAT(check_label_key("A/a"), ElementsAre(StartsWith("prefix part a lowercase RFC 1123 subdomain")));
  EXPECT_THAT(check_label_key("a/b/c"), ElementsAre(StartsWith("a valid label key must consist of alphanumeric")));
  EXPECT_THAT(check_label_key(std::string(64, 'a')), ElementsAre("name part must be no more than 63 bytes"));
}

TEST(Validation, LabelValue) {
  for (const auto* good : {"", "v1.2", "A_b-c"}) EXPECT_THAT(check_label_value(good), IsEmpty()) << good;
  for (const auto* bad : {"-", "a/b", "a b", "a."}) EXPECT_THAT(check_label_value(bad), SizeIs(1)) << bad;
  EXPECT_THAT(check_label_value(std::string(64, 'a')), ElementsAre("must be no more than 63 bytes"));
}

TEST(Validation, ConfigKey) {
  for (const auto* good : {"key.name", "KEY_NAME", ".hidden", "-"})
    EXPECT_THAT(check_config_key(good), IsEmpty()) << good;
  EXPECT_THAT(check_config_key("a/b"), ElementsAre(StartsWith("a valid config key")));
  EXPECT_THAT(check_config_key("."), ElementsAre("must not be '.'"));
  EXPECT_THAT(check_config_key("..x"), ElementsAre("must not start with '..'"));
}

}  // namespace
}  // namespace kopper::api
