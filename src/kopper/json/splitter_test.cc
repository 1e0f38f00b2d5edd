#include "kopper/json/splitter.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "kopper/json/value.h"

namespace kopper::json {
namespace {

struct Outcome {
  std::vector<std::string> items;
  std::string error;  // "" when it went well
  ListMeta meta;

  friend bool operator==(const Outcome&, const Outcome&) = default;
};

// In chunks of random length up to `longest`.
Outcome split(std::string_view body, std::size_t longest, SplitLimits limits = {}, unsigned seed = 1) {
  Outcome outcome;
  ListSplitter splitter(limits);
  std::mt19937 random(seed);
  while (!body.empty()) {
    const std::size_t size = std::min<std::size_t>(body.size(), 1 + random() % longest);
    const std::vector<char> chunk(body.begin(),
                                  body.begin() + static_cast<std::ptrdiff_t>(size));  // ASan sees its ends
    const auto fed =
        splitter.feed({chunk.data(), chunk.size()}, [&](std::string_view item) { outcome.items.emplace_back(item); });
    if (!fed) {
      outcome.error = fed.error().str();
      return outcome;
    }
    body.remove_prefix(size);
  }
  auto meta = splitter.finish();
  if (meta) {
    outcome.meta = std::move(*meta);
  } else {
    outcome.error = meta.error().str();
  }
  return outcome;
}

std::string error_of(std::string_view body, SplitLimits limits = {}) { return split(body, 1000, limits).error; }

TEST(ListSplitter, MetadataBeforeOrAfterTheItems) {
  const ListMeta expected{"v1", "PodList", "42", "abc", 7};
  const std::string_view meta =
      R"("metadata":{"resourceVersion":"42","continue":"abc","remainingItemCount":7,"items":[{"no":1}]})";
  const std::string before =
      R"({"kind":"PodList","apiVersion":"v1",)" + std::string(meta) + R"(,"items":[{"a":1},{"b":"}]\"{"}]})";
  const std::string after =
      "{ \"items\" : [ {\"a\":1} ,\n{\"b\":\"}]\\\"{\"} ] , \"kind\":\"PodList\",\"apiVersion\":\"v1\"," +
      std::string(meta) + "}\n";
  for (const auto& body : {before, after}) {
    for (const std::size_t longest : {1, 2, 7, 1000}) {
      const Outcome outcome = split(body, longest);
      EXPECT_EQ(outcome.error, "");
      EXPECT_EQ(outcome.items, (std::vector<std::string>{R"({"a":1})", R"({"b":"}]\"{"})"}));
      EXPECT_EQ(outcome.meta, expected);
    }
  }
}

TEST(ListSplitter, OnlyTheTopLevelItemsKeyCounts) {
  const auto items = [](std::string_view body) { return split(body, 5).items; };
  EXPECT_TRUE(items(R"({"metadata":{"items":[{"x":1}]},"items":[]})").empty());
  EXPECT_TRUE(items(R"({"a":"items","b":["items",{"items":[{}]}],"items":[]})").empty());
  EXPECT_TRUE(items(R"({"x":"\"items\":[{}]","items":null})").empty());
  EXPECT_EQ(items(R"({"x":["items"],"items":[{"items":[{"items":[]}]}]})").size(), 1U);
  EXPECT_TRUE(items(R"({"items":[ ]})").empty());
}

TEST(ListSplitter, RefusesWhatIsNoList) {
  EXPECT_EQ(error_of(""), "the list ends in the middle (offset 0)");
  EXPECT_EQ(error_of("[]"), "expected a JSON object (offset 0)");
  EXPECT_EQ(error_of(R"({"kind":"Status"})"), "not a list: it has no items (offset 17)");
  EXPECT_EQ(error_of(R"({"items":{}})"), "items: expected an array (offset 12)");
  EXPECT_EQ(error_of(R"({"items":[1]})"), "items[0]: expected an object (offset 10)");
  EXPECT_EQ(error_of(R"({"items":[{},]})"), "items[1]: expected an object (offset 13)");
  EXPECT_EQ(error_of(R"({"items":[{} {}]})"), "items[1]: expected ',' or ']' (offset 13)");
  EXPECT_EQ(error_of(R"({"items":[,{}]})"), "items[0]: expected an object (offset 10)");
  EXPECT_EQ(error_of(R"({"items":[],"items":[]})"), "items: duplicate key (offset 20)");
  EXPECT_NE(error_of(R"({"items":[],"kind":"a","kind":"b"})"), "");
  EXPECT_NE(error_of(R"({"items":[]} x)"), "");
  EXPECT_NE(error_of(R"({"items":[]}{"items":[{}]})"), "");
  EXPECT_EQ(error_of(R"({"items":[]}})"), "brackets do not pair (offset 12)");
  EXPECT_NE(error_of(R"({"items":[]]})"), "");
  EXPECT_NE(error_of("{\"items\":[],\"kind\":\"\xFF\"}"), "");
}

TEST(ListSplitter, TruncationIsFoundAtEveryByte) {
  const std::string body = R"({"kind":"L","items":[{"a":{"b":"c"}},{"d":1}],"metadata":{"resourceVersion":"1"}})";
  EXPECT_EQ(error_of(body), "");
  for (std::size_t size = 0; size < body.size(); ++size) EXPECT_NE(error_of(body.substr(0, size)), "") << size;
  EXPECT_EQ(error_of(body.substr(0, 40)), "items[1]: the list ends in the middle (offset 40)");
}

TEST(ListSplitter, BoundsItemsAndEnvelope) {
  const std::string item = "{\"a\":\"" + std::string(100, 'x') + "\"}";
  EXPECT_EQ(error_of("{\"items\":[" + item + "]}", {.item_bytes = item.size()}), "");
  EXPECT_EQ(error_of("{\"items\":[{}," + item + "]}", {.item_bytes = item.size() - 1}),
            "items[1]: an item of more than 107 bytes (offset 13)");
  EXPECT_NE(error_of("{\"x\":\"" + std::string(100, 'x') + "\",\"items\":[]}", {.envelope_bytes = 50}), "");
  EXPECT_EQ(error_of(std::string(100, ' ') + "{\"items\":[]}" + std::string(100, '\n'), {.envelope_bytes = 50}), "");
}

TEST(ListSplitter, AnErrorStays) {
  ListSplitter splitter;
  const auto ignore = [](std::string_view) {};
  EXPECT_FALSE(splitter.feed("{\"items\":[1", ignore).has_value());
  EXPECT_FALSE(splitter.feed("]}", ignore).has_value());
  EXPECT_FALSE(splitter.finish().has_value());
}

// Bytes that matter to the scanner, at random: both ways must see the same, however the text is cut.
TEST(ObjectEnd, ScalarAndSimdAgreeOnAnything) {
  std::mt19937 random(42);
  constexpr std::string_view kBytes = "{}{}\"\"\\\\\\ab,:[] ";
  const auto best = detail::object_end_best();
  for (int round = 0; round < 20000; ++round) {
    std::string text = "{";
    const std::size_t size = random() % 300;
    const std::size_t variety = 2 + random() % (kBytes.size() - 2);
    while (text.size() < size) text += kBytes[random() % variety];
    detail::ObjectScan whole;
    const std::size_t expected = detail::object_end_scalar(text, whole);
    for (const auto end : {best, &detail::object_end_scalar}) {
      detail::ObjectScan scan;
      std::size_t at = 0;
      std::size_t found = std::string_view::npos;
      while (at < text.size() && found == std::string_view::npos) {
        const auto piece = std::string_view(text).substr(at, 1 + random() % 200);
        found = end(piece, scan);
        if (found != std::string_view::npos) found += at;
        at += piece.size();
      }
      ASSERT_EQ(found, expected) << text;
      if (expected == std::string_view::npos) {
        ASSERT_EQ(scan.depth, whole.depth) << text;
        ASSERT_EQ(scan.in_string, whole.in_string) << text;
        ASSERT_EQ(scan.escaped, whole.escaped) << text;
      }
    }
  }
}

TEST(ListSplitter, ScalarAndSimdAgreeOnLists) {
  std::mt19937 random(3);
  std::string body = R"({"kind":"XList","items":[)";
  std::vector<std::string> expected;
  for (int i = 0; i < 300; ++i) {
    Object object{{"name", std::string(random() % 90, static_cast<char>(random() % 128))}};
    for (unsigned n = random() % 6; n > 0; --n) object[std::string(n, '"')] = Object{{"\\", Array{Object{}, "}{\\\""}}};
    expected.push_back(dump(object));
    body += (i == 0 ? "" : ",") + expected.back();
  }
  body += R"(],"metadata":{"resourceVersion":"9"}})";
  for (unsigned seed = 0; seed < 30; ++seed) {
    const std::size_t longest = std::size_t{1} << seed % 15U;
    const Outcome simd = split(body, longest, {}, seed);
    EXPECT_EQ(simd.error, "");
    EXPECT_EQ(simd.items, expected);
    EXPECT_EQ(simd.meta.resource_version, "9");
    EXPECT_EQ(simd, split(body, longest, {.simd = false}, seed));
  }
}

}  // namespace
}  // namespace kopper::json
