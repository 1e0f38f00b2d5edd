#include "kopper/http/url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kopper::http {
namespace {

using ::testing::ElementsAre;

Url parsed(std::string_view text) {
  auto url = parse_url(text);
  EXPECT_TRUE(url.has_value()) << text << ": " << (url ? "" : url.error().str());
  return url.value_or(Url());
}

TEST(Url, IsTakenApart) {
  const Url url = parsed("HTTPS://alice:s%40cret@API.example.com:6443/k8s/clusters/c-1?x=1&y=a%20b#top");
  EXPECT_EQ(url.scheme, "https");
  EXPECT_EQ(url.user, "alice");
  EXPECT_EQ(url.password, "s@cret");
  EXPECT_EQ(url.host, "api.example.com");
  EXPECT_EQ(url.port, 6443);
  EXPECT_EQ(url.path, "/k8s/clusters/c-1");
  EXPECT_EQ(url.query, "x=1&y=a%20b");
  EXPECT_EQ(url.target(), "/k8s/clusters/c-1?x=1&y=a%20b");
}

TEST(Url, ShowsNoSecrets) { EXPECT_EQ(parsed("http://u:p@h:81/a?b").str(), "http://h:81/a?b"); }

TEST(Url, PortsAreTheSchemesOwn) {
  EXPECT_EQ(parsed("http://h").port, 80);
  EXPECT_EQ(parsed("https://h:").port, 443);
  EXPECT_EQ(parsed("socks5://h").port, 1080);
  EXPECT_EQ(parsed("https://h:443/").authority(), "h");
  EXPECT_EQ(parsed("https://h:444/").authority(), "h:444");
  EXPECT_EQ(parsed("https://h").host_port(), "h:443");
  EXPECT_EQ(parsed("https://h?q").target(), "/?q");
}

TEST(Url, Ipv6StandsInBrackets) {
  const Url url = parsed("https://[FE80::1]:6443");
  EXPECT_EQ(url.host, "fe80::1");
  EXPECT_EQ(url.authority(), "[fe80::1]:6443");
  EXPECT_EQ(parsed("http://[::1]/x").str(), "http://[::1]/x");
}

TEST(Url, BadOnesSayWhere) {
  const auto error = [](std::string_view text) {
    const auto url = parse_url(text);
    return url ? "parsed " + url->str() : url.error().str();
  };
  EXPECT_EQ(error("api.example.com:6443"), "expected scheme://host (offset 0)");
  EXPECT_EQ(error("https://"), "expected a host (offset 8)");
  EXPECT_EQ(error("https://a b"), "a URL has no spaces or control characters (offset 9)");
  EXPECT_EQ(error("https://h:0"), "expected a port from 1 to 65535 (offset 10)");
  EXPECT_EQ(error("https://h:65536/"), "expected a port from 1 to 65535 (offset 10)");
  EXPECT_EQ(error("https://h:8o"), "expected a port from 1 to 65535 (offset 10)");
  EXPECT_EQ(error("https://[::1"), "bad IPv6 address (offset 8)");
  EXPECT_EQ(error("https://[::1]x"), "expected a port after the IPv6 address (offset 13)");
  EXPECT_EQ(error("https://h/%zz"), "bad escape in the path (offset 9)");
  EXPECT_EQ(error("https://u%@h/"), "bad escape in user or password (offset 8)");
  EXPECT_EQ(error("://h"), "expected scheme://host (offset 0)");
}

TEST(Escape, KeepsOnlyWhatIsUnreserved) {
  EXPECT_EQ(escape("a-Z_0.~"), "a-Z_0.~");
  EXPECT_EQ(escape("a/b c+ü"), "a%2Fb%20c%2B%C3%BC");
  EXPECT_EQ(unescape("a%2Fb%20c%2b+"), "a/b c++");
  EXPECT_EQ(unescape("a+b", true), "a b");
  EXPECT_EQ(unescape("%"), std::nullopt);
  EXPECT_EQ(unescape("%4"), std::nullopt);
  EXPECT_EQ(unescape("%4g"), std::nullopt);
}

TEST(SplitPath, DecodesAfterSplitting) {
  EXPECT_THAT(split_path("/api/v1//a%2Fb/").value(), ElementsAre("api", "v1", "", "a/b", ""));
  EXPECT_THAT(split_path("/").value(), ElementsAre(""));
  EXPECT_EQ(split_path("api"), std::nullopt);
  EXPECT_EQ(split_path("/%x"), std::nullopt);
}

TEST(Query, BuildsATarget) {
  const std::string selector = "app in (a,b)";
  const Query query = Query()
                          .add("watch", true)
                          .add("limit", 500)
                          .add("labelSelector", selector)
                          .add("none", std::optional<std::string>())
                          .add("some", std::optional<int>(7));
  EXPECT_EQ(query.on("/api/v1/pods"), "/api/v1/pods?watch=true&limit=500&labelSelector=app%20in%20%28a%2Cb%29&some=7");
  EXPECT_EQ(Query().on("/api"), "/api");
}

TEST(Query, ParsesWhatItBuilt) {
  const auto query = Query::parse("a=1&b=x%26y+z&flag&&a=2");
  ASSERT_TRUE(query.has_value());
  EXPECT_EQ(query->get("a"), "1");
  EXPECT_EQ(query->get("b"), "x&y z");
  EXPECT_EQ(query->get("flag"), "");
  EXPECT_EQ(query->get("c"), std::nullopt);
  EXPECT_EQ(query->str(), "a=1&b=x%26y%20z&flag=&a=2");
  EXPECT_EQ(Query::parse("a=%").error().str(), "bad escape in the query (offset 0)");
}

}  // namespace
}  // namespace kopper::http
