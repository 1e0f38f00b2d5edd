#include "resp.h"

#include <gtest/gtest.h>

namespace redis {
namespace {

std::string wire(const Words& words) {
  std::string out;
  encode(words, out);
  return out;
}

Reply text(std::string_view value) {
  Reply reply;
  reply.type = Reply::Type::Text;
  reply.text = value;
  return reply;
}

// Everything readable of a reply, in one line.
std::string show(const Reply& reply) {
  switch (reply.type) {
    case Reply::Type::Text: return '"' + reply.text + '"';
    case Reply::Type::Error: return '!' + reply.text;
    case Reply::Type::Integer: return std::to_string(reply.integer);
    case Reply::Type::Null: return "null";
    case Reply::Type::Array: break;
  }
  std::string out = "[";
  for (const auto& item : reply.items) out += show(item) + ' ';
  return out + ']';
}

// All replies in `bytes`, fed in pieces of `step`; the last one may be an error.
std::vector<std::string> decode(std::string_view bytes, std::size_t step) {
  Decoder decoder;
  std::vector<std::string> all;
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    decoder.feed(bytes.substr(at, step));
    while (true) {
      const auto reply = decoder.next();
      if (!reply) {
        all.push_back(reply.error().message);
        return all;
      }
      if (!*reply) break;
      all.push_back(show(**reply));
    }
  }
  return all;
}

TEST(Resp, Encodes) {
  EXPECT_EQ(wire({"GET", "k"}), "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n");
  EXPECT_EQ(wire({"MIGRATE", "", "a\r\nb"}), "*3\r\n$7\r\nMIGRATE\r\n$0\r\n\r\n$4\r\na\r\nb\r\n");
  std::string two;
  encode({"A"}, two);
  encode({"B"}, two);
  EXPECT_EQ(two, wire({"A"}) + wire({"B"}));
}

TEST(Resp, DecodesEveryTypeInAnyPieces) {
  const std::string bytes =
      "+OK\r\n-MOVED 1 127.0.0.1:6379\r\n:-12\r\n$5\r\na\r\nbc\r\n$0\r\n\r\n$-1\r\n*-1\r\n*0\r\n"
      "*3\r\n:1\r\n*2\r\n$1\r\nx\r\n*0\r\n$-1\r\n*1\r\n*1\r\n*1\r\n-E\r\n+\r\n";
  const std::vector<std::string> expected = {
      "\"OK\"", "!MOVED 1 127.0.0.1:6379", "-12",         "\"a\r\nbc\"", "\"\"", "null", "null",
      "[]",     "[1 [\"x\" [] ] null ]",   "[[[!E ] ] ]", "\"\""};
  for (std::size_t step = 1; step <= bytes.size(); ++step) EXPECT_EQ(decode(bytes, step), expected) << step;
}

TEST(Resp, ErrorsAreFoundByTheirStart) {
  Reply reply = text("MOVED 1");
  EXPECT_FALSE(reply.is_error("MOVED"));
  reply.type = Reply::Type::Error;
  EXPECT_TRUE(reply.is_error());
  EXPECT_TRUE(reply.is_error("MOVED"));
  EXPECT_FALSE(reply.is_error("ASK"));
}

TEST(Resp, RefusesWhatIsNone) {
  const std::vector<std::string> bad = {
      "\r\n",
      "HTTP/1.1 200 OK\r\n",
      ":12a\r\n",
      ":\r\n",
      "$x\r\n",
      "$-2\r\n",
      "$3\r\nabcde",
      "*99999999999999999999\r\n",
      "*1048577\r\n",
      "*1048576\r\n*1\r\n",  // all items together
      "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n",
      "$536870913\r\n",
      "*2\r\n$500000000\r\n",  // fine so far
  };
  for (const auto& bytes : bad) {
    for (const std::size_t step : {std::size_t{1}, bytes.size()}) {
      const auto got = decode(bytes, step);
      if (bytes == bad.back()) {
        EXPECT_TRUE(got.empty());
      } else {
        ASSERT_EQ(got.size(), 1U) << bytes;
        EXPECT_TRUE(got[0].starts_with("not an answer of Redis: ")) << got[0];
      }
    }
  }
  EXPECT_EQ(decode('+' + std::string(Decoder::kLongestLine + 1, 'a'), 1000).size(), 1U);
  EXPECT_EQ(decode('+' + std::string(Decoder::kLongestLine - 1, 'a') + "\r\n", 1000).at(0).front(), '"');
}

// A decoder that began anew with each piece would look at 5 * 10^11 bytes here.
TEST(Resp, ReadsALongReplyOnce) {
  constexpr std::size_t kItems = 100'000;
  std::string bytes = "*" + std::to_string(kItems) + "\r\n";
  for (std::size_t i = 0; i < kItems; ++i) bytes += "$6\r\n" + std::to_string(100'000 + i) + "\r\n";
  Decoder decoder;
  std::optional<Reply> whole;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    ASSERT_FALSE(whole);
    decoder.feed(std::string_view(bytes).substr(at, 3));
    auto reply = decoder.next();
    ASSERT_TRUE(reply);
    whole = std::move(*reply);
  }
  ASSERT_TRUE(whole);
  ASSERT_EQ(whole->items.size(), kItems);
  EXPECT_EQ(whole->items.back().text, std::to_string(100'000 + kItems - 1));
}

TEST(Resp, KeepsOnlyWhatIsNotDone) {
  Decoder decoder;
  std::string replies;
  for (int i = 0; i < 1000; ++i) replies += "$3\r\nabc\r\n";
  std::size_t count = 0;
  for (int round = 0; round < 100; ++round) {
    decoder.feed(replies);
    decoder.feed("+half");
    while (true) {
      const auto reply = decoder.next();
      ASSERT_TRUE(reply);
      if (!*reply) break;
      ++count;
    }
    decoder.feed("\r\n");
    const auto half = decoder.next();
    ASSERT_TRUE(half && *half);
    EXPECT_EQ((*half)->text, "half");
  }
  EXPECT_EQ(count, 100'000U);
}

}  // namespace
}  // namespace redis
