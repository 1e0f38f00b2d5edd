#include "kopper/client/watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/client/fake_server.h"
#include "kopper/rt/loop.h"

namespace kopper::client {
namespace {

struct Spec {
  int size = 0;
};
struct Metadata {
  std::string name;
  std::string namespace_;
};
struct Widget {
  Metadata metadata;
  Spec spec;
};

http::Response pieces(std::vector<std::string> parts, PiecesBody::Then then = PiecesBody::Then::End) {
  http::Response response;
  response.body = std::make_unique<PiecesBody>(std::move(parts), then);
  return response;
}

struct LineReaderTest : testing::Test {
  std::vector<std::string> read(std::vector<std::string> parts, std::size_t max = LineReader::kMaxLine) {
    LineReader reader(std::make_unique<PiecesBody>(std::move(parts)), max);
    std::vector<std::string> lines;
    while (const auto line = loop.run(reader.next())) lines.emplace_back(*line);
    return lines;
  }
  rt::Loop loop{rt::ClockMode::Manual};
};

TEST_F(LineReaderTest, LinesAreFoundWhereverTheyAreCut) {
  using testing::ElementsAre;
  EXPECT_THAT(read({"a\nb\n"}), ElementsAre("a", "b"));
  EXPECT_THAT(read({"a", "b\n", "\n", "c\nd", "e", "\n"}), ElementsAre("ab", "", "c", "de"));
  EXPECT_THAT(read({"no end"}), ElementsAre("no end"));
  EXPECT_THAT(read({}), ElementsAre());
  EXPECT_THAT(read({"12345\n"}, 5), ElementsAre("12345"));
  EXPECT_THROW(read({"123", "456\n"}, 5), Error);
  EXPECT_THROW(read({"123", "456"}, 5), Error);
}

RawEvent parse(std::string_view line) {
  static std::string scratch;
  return parse_event(line, scratch);
}

TEST(ParseEventTest, Objects) {
  const auto event = parse(
      R"({"type":"ADDED","object":{"metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"7"},"x":"}"}})");
  EXPECT_EQ(event.type, WatchType::Added);
  EXPECT_EQ(event.head.key, Key("n", "a"));
  EXPECT_EQ(event.head.uid, "u");
  EXPECT_EQ(event.head.resource_version, "7");
  EXPECT_TRUE(event.object.ends_with(R"("x":"}"})"));
  EXPECT_EQ(parse(R"({"type":"MODIFIED","object":{}})").type, WatchType::Modified);
  EXPECT_EQ(parse(R"({"type":"DELETED","object":{}})").type, WatchType::Deleted);
}

TEST(ParseEventTest, OtherOrdersAndBlanks) {
  const auto event = parse(R"( { "object": {"metadata":{"name":"a"}}, "type": "DELETED" })"
                           "\r");
  EXPECT_EQ(event.type, WatchType::Deleted);
  EXPECT_EQ(event.head.key.name, "a");
}

TEST(ParseEventTest, Bookmarks) {
  const auto plain = parse(R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9"}}})");
  EXPECT_EQ(plain.type, WatchType::Bookmark);
  EXPECT_EQ(plain.head.resource_version, "9");
  EXPECT_FALSE(plain.initial_events_end);
  EXPECT_TRUE(
      parse(
          R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":"true"}}}})")
          .initial_events_end);
}

TEST(ParseEventTest, GoneIsToldApart) {
  const auto event = parse(
      R"({"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","code":410,"reason":"Expired","message":"too old resource version"}})");
  EXPECT_EQ(event.type, WatchType::Failed);
  ASSERT_TRUE(event.error);
  EXPECT_EQ(event.error->code, Code::Gone);
}

TEST(ParseEventTest, NonsenseIsAnEvent) {
  for (const auto* line : {"", "{", "null", "[]", "x", R"({"type":"ADDED"})", R"({"type":"ADDED","object":})",
                           R"({"type":"ADDED","object":[]})", R"({"type":"WHAT","object":{}})",
                           R"({"type":"ERROR","object":{]})", R"({"type":7,"object":{}})"}) {
    const auto event = parse(line);
    EXPECT_EQ(event.type, WatchType::Failed) << line;
    EXPECT_TRUE(event.error) << line;
  }
}

TEST(WatchStreamTest, ABadObjectStopsNothing) {
  rt::Loop loop(rt::ClockMode::Manual);
  WatchStream<Widget> stream(
      pieces({R"({"type":"ADDED","object":{"metadata":{"name":"a","namespace":"n"},"spec":{"size":1}}})"
              "\n"
              R"({"type":"ADD)",
              R"(ED","object":{"metadata":{"name":"b","namespace":"n"},"spec":{"size":"big"}}})"
              "\n",
              R"({"type":"MODIFIED","object":{"metadata":{"name":"a"},"spec":{"size":2}}})"
              "\n"}));
  auto first = loop.run(stream.next());
  EXPECT_EQ(first->type, WatchType::Added);
  EXPECT_EQ(first->object.spec.size, 1);
  auto second = loop.run(stream.next());
  EXPECT_EQ(second->type, WatchType::Failed);
  EXPECT_THAT(second->error->what(), testing::StartsWith("n/b: spec.size: "));
  auto third = loop.run(stream.next());
  EXPECT_EQ(third->object.spec.size, 2);
  EXPECT_FALSE(loop.run(stream.next()));
}

TEST(WatchStreamTest, DynamicObjects) {
  rt::Loop loop(rt::ClockMode::Manual);
  WatchStream<json::Value> stream(pieces({R"({"type":"ADDED","object":{"metadata":{"name":"a"},"spec":{"size":1}}})"}));
  const auto event = loop.run(stream.next());
  EXPECT_EQ(event->object["spec"]["size"], json::Value(1));
}

TEST(HeadOf, ReadsTheFrontOfWhateverServersWrite) {
  const ObjectHead expected{.key = Key("n", "a"), .uid = "u", .resource_version = "7"};
  EXPECT_EQ(
      head_of(
          R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","generateName":"x","namespace":"n","uid":"u","resourceVersion":"7","labels":{}},"spec":)"),
      expected)
      << "stops when it knows";
  EXPECT_EQ(
      head_of(
          R"({"apiVersion":"v1","kind":"X","metadata":{"annotations":{"name":"no \"}"},"generation":1,"managedFields":[{"f":{"k:{\"name\":\"b\"}":{}}}],"name":"a","namespace":"n","resourceVersion":"7","uid":"u"}})"),
      expected)
      << "in the order of a custom resource";
  EXPECT_EQ(head_of("{ \"spec\" : {\"metadata\":{\"name\":\"b\"}}, \"metadata\" : {\"uid\": \"u\", "
                    "\"name\":\"a\",\n\"namespace\":\"n\", \"resourceVersion\":\"7\"} }"),
            expected);
  EXPECT_EQ(head_of(R"({"metadata":{"name":"\u0061","namespace":"n","uid":"u","resourceVersion":"7"}})"), expected)
      << "escapes are for a parser";
  EXPECT_EQ(head_of(R"({"metadata":{"name":"a"},"spec":1})"), (ObjectHead{.key = Key("", "a")}));
  EXPECT_EQ(head_of(R"({"metadata":{"name":"a","namespace":null}})"), (ObjectHead{.key = Key("", "a")}));
  EXPECT_EQ(head_of(R"({"metadata":{"name":3}})"), ObjectHead{});
  EXPECT_EQ(head_of(R"({"metadata":{"name":"a)"), ObjectHead{});
  EXPECT_EQ(head_of(R"({"metadata":1})"), ObjectHead{});
  EXPECT_EQ(head_of(""), ObjectHead{});
}

}  // namespace
}  // namespace kopper::client
