#include "settings.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace redis {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

std::vector<Setting> settings(std::string_view text) {
  auto parsed = parse_settings(text);
  EXPECT_THAT(parsed.problems, IsEmpty());
  return parsed.settings;
}

TEST(Settings, AreReadAsRedisDoes) {
  const auto parsed = parse_settings(
      "# a comment\r\n"
      "\n"
      "  MaxMemory 1GB  \r\n"
      "save 900 1\n"
      "save \"\"\n"
      "proc-title-template \"a \\\"b\\\" \\x41\\n\"\n"
      "requirepass 'it\\'s # \\n'\n"
      "bind \"open\n"
      "bind 'a'b\n"
      "alone\n"
      "last one");
  EXPECT_THAT(parsed.settings, ElementsAre(Setting{"maxmemory", {"1GB"}}, Setting{"save", {"900", "1"}},
                                           Setting{"save", {""}}, Setting{"proc-title-template", {"a \"b\" A\n"}},
                                           Setting{"requirepass", {"it's # \\n"}}, Setting{"last", {"one"}}));
  EXPECT_THAT(parsed.problems,
              ElementsAre("line 8: quotes do not match", "line 9: quotes do not match", "line 10: alone has no value"));
}

TEST(Settings, AnyWordComesBackAsItWas) {
  std::string every;
  for (int i = 0; i < 256; ++i) every += static_cast<char>(i);
  for (const std::string& word : {std::string("plain-1.2"), std::string(), std::string("a b"), std::string("\"'\\"),
                                  std::string("#no comment"), every}) {
    EXPECT_EQ(settings(text_of({{"x", {word, "y"}}})), (std::vector<Setting>{{"x", {word, "y"}}}));
  }
  EXPECT_EQ(quoted("nodes.conf"), "nodes.conf");
  EXPECT_EQ(quoted("a\"b\n"), R"("a\"b\x0a")");
}

TEST(Settings, LayersReplaceEachOther) {
  const auto merged =
      merge(settings("appendonly yes\nsave 900 1\nsave 300 10\nclient-output-buffer-limit replica 1 2 3\n"
                     "client-output-buffer-limit normal 0 0 0\nport 1"),
            settings("save 60 1\nsave 30 5\nport 7000\nport 7001\nmaxmemory 1gb\nmaxmemory 2gb\n"
                     "client-output-buffer-limit slave 4 5 6\nrequirepass x\ninclude /a\ninclude /b"),
            settings("port 6379\ninclude /c"), {"requirepass"});
  EXPECT_EQ(text_of(merged.settings),
            "appendonly yes\n"
            "client-output-buffer-limit normal 0 0 0\n"
            "save 60 1\n"
            "save 30 5\n"
            "maxmemory 2gb\n"
            "client-output-buffer-limit slave 4 5 6\n"
            "include /a\n"
            "include /b\n"
            "port 6379\n"
            "include /c\n");
  EXPECT_THAT(merged.ignored, ElementsAre("port is set by the operator", "requirepass is set by the operator"));
}

TEST(Settings, DifferencesAreThoseInWorth) {
  const std::map<std::string, std::string> answer = {
      {"maxmemory", "1073741824"},
      {"maxmemory-policy", "noeviction"},
      {"save", "900 1 300 10"},
      {"notify-keyspace-events", "AKE"},
      {"appendonly", "yes"},
      {"cluster-node-timeout", "15000"},
      {"databases", "16"},
      {"client-output-buffer-limit", "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60"}};
  const auto same = differences(settings("maxmemory 1gb\nmaxmemory-policy NoEviction\nsave 900 1\nsave 300 10\n"
                                         "notify-keyspace-events KEg$lshztdxe\nappendonly YES\ndatabases 4\n"
                                         "client-output-buffer-limit replica 256mb 64mb 60"),
                                answer);
  EXPECT_THAT(same.change, IsEmpty());
  EXPECT_THAT(same.unknown, IsEmpty());

  const auto other =
      differences(settings("maxmemory 1g\nsave 60 1\ncluster-node-timeout 5000\nno-such-thing 1\nio-thread 4\n"
                           "notify-keyspace-events \"\"\nrename-command FLUSHALL \"\"\n"
                           "client-output-buffer-limit replica 1gb 64mb 60 pubsub 32mb 8mb 60"),
                  answer);
  EXPECT_THAT(other.change, ElementsAre(Pair("cluster-node-timeout", "5000"), Pair("maxmemory", "1g"),
                                        Pair("notify-keyspace-events", ""), Pair("save", "60 1"),
                                        Pair("client-output-buffer-limit", "slave 1gb 64mb 60")));
  EXPECT_THAT(other.unknown, ElementsAre("io-thread", "no-such-thing"));

  EXPECT_THAT(differences(settings("save 60 1\nsave \"\""), answer).change, ElementsAre(Pair("save", "")));
  EXPECT_THAT(differences(settings("save \"\"\nsave 900 1\nsave 300 10"), answer).change, IsEmpty());
}

TEST(Settings, SomeNeedARestart) {
  EXPECT_TRUE(needs_restart("io-threads"));
  EXPECT_TRUE(needs_restart("Rename-Command"));
  EXPECT_FALSE(needs_restart("maxmemory"));
  EXPECT_FALSE(needs_restart("appendonly"));
}

TEST(Settings, MemoryHasUnits) {
  EXPECT_EQ(parse_memory("5"), 5);
  EXPECT_EQ(parse_memory("64k"), 64000);
  EXPECT_EQ(parse_memory("64KB"), 65536);
  EXPECT_EQ(parse_memory("2gb"), 2147483648);
  EXPECT_EQ(parse_memory("10%"), std::nullopt);
  EXPECT_EQ(parse_memory(""), std::nullopt);
  EXPECT_EQ(parse_memory("99999999999gb"), std::nullopt);
}

}  // namespace
}  // namespace redis
