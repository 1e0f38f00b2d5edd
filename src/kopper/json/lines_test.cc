#include "kopper/json/lines.h"

#include <vector>

#include <gtest/gtest.h>

namespace kopper::json {
namespace {

TEST(LineSplitter, CutsHoweverTheStreamArrives) {
  const std::string stream = "{\"a\":1}\n\n{\"b\":2}\r\n\r\n{\"c\":3}\n";
  for (std::size_t size = 1; size <= stream.size(); ++size) {
    LineSplitter splitter;
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < stream.size(); at += size) {
      ASSERT_TRUE(
          splitter.feed(std::string_view(stream).substr(at, size), [&](std::string_view l) { lines.emplace_back(l); })
              .has_value());
    }
    EXPECT_EQ(lines, (std::vector<std::string>{"{\"a\":1}", "{\"b\":2}", "{\"c\":3}"})) << size;
    EXPECT_TRUE(splitter.finish().has_value());
  }
}

TEST(LineSplitter, BoundsALine) {
  LineSplitter splitter(4);
  std::size_t lines = 0;
  const auto count = [&](std::string_view) { ++lines; };
  EXPECT_TRUE(splitter.feed("abcd\nabc", count).has_value());
  const auto fed = splitter.feed("de\n", count);
  ASSERT_FALSE(fed.has_value());
  EXPECT_EQ(fed.error().str(), "a line of more than 4 bytes (offset 8)");
  EXPECT_EQ(lines, 1U);
}

TEST(LineSplitter, SaysWhenTheLastLineIsCut) {
  LineSplitter splitter;
  ASSERT_TRUE(splitter.feed("a\nb", [](std::string_view) {}).has_value());
  EXPECT_EQ(splitter.finish().error().offset, 3U);
}

}  // namespace
}  // namespace kopper::json
