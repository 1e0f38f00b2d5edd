#include "kopper/json/writer.h"

#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace kopper::json {
namespace {

TEST(Writer, PutsCommasAndKeys) {
  std::string out = "data: ";
  Writer w(out);
  w.begin_object().key("a").begin_array().value(1).value("x").null().begin_object().end_object().end_array();
  w.raw_key("\"b\":")
      .value(true)
      .key("c\n")
      .raw("[1, 2]")
      .key("d")
      .value(std::uint64_t{18446744073709551615U})
      .end_object();
  EXPECT_EQ(out, R"(data: {"a":[1,"x",null,{}],"b":true,"c\n":[1, 2],"d":18446744073709551615})");
}

TEST(Writer, EscapesInEveryPositionOfAWord) {
  for (int c = 0; c < 128; ++c) {
    for (std::size_t at = 0; at < 20; ++at) {
      std::string text(20, 'a');
      text[at] = static_cast<char>(c);
      text += "\xC3\xA9\xFF";  // bytes above 0x7F pass through
      std::string out;
      append_quoted(out, text);
      std::string expected = "\"" + std::string(at, 'a');
      const auto* known = std::string_view("\"\\\b\f\n\r\t").find(static_cast<char>(c)) == std::string_view::npos
                              ? nullptr
                              : "\"\\bfnrt";
      if (known != nullptr) {
        expected += {'\\', known[std::string_view("\"\\\b\f\n\r\t").find(static_cast<char>(c))]};
      } else if (c < 0x20) {
        constexpr std::string_view kHex = "0123456789abcdef";
        expected +=
            std::string("\\u00") + kHex[static_cast<std::size_t>(c) / 16] + kHex[static_cast<std::size_t>(c) % 16];
      } else {
        expected += static_cast<char>(c);
      }
      expected += std::string(19 - at, 'a') + "\xC3\xA9\xFF\"";
      ASSERT_EQ(out, expected) << c << " at " << at;
    }
  }
}

TEST(Writer, EscapesInTextsOfEveryLength) {
  for (std::size_t size = 1; size < 26; ++size) {
    const std::string plain(size, 'a');
    ASSERT_EQ(dump(plain), "\"" + plain + "\"");
    for (std::size_t at = 0; at < size; ++at) {
      std::string text = plain;
      text[at] = '\n';
      const std::string expected = "\"" + plain.substr(0, at) + "\\n" + plain.substr(at + 1) + "\"";
      ASSERT_EQ(dump(text), expected);
      std::string out;
      append_quoted(out, text);
      ASSERT_EQ(out, expected);
    }
  }
  EXPECT_EQ(dump(""), "\"\"");
}

TEST(Writer, DumpGrowsWithWhatItHolds) {
  const std::string part(5000, 'x');
  std::string expected = "[";
  Array parts;
  for (int i = 0; i < 10; ++i) {
    parts.emplace_back(part);
    expected += (i == 0 ? "\"" : ",\"") + part + "\"";
  }
  EXPECT_EQ(dump(parts), expected + "]");
}

TEST(Writer, DoublesLookLikeGoPrintsThem) {
  EXPECT_EQ(dump(1.0), "1");
  EXPECT_EQ(dump(-0.5), "-0.5");
  EXPECT_EQ(dump(0.1), "0.1");
  EXPECT_EQ(dump(0.0), "0");
  EXPECT_EQ(dump(-0.0), "-0.0");
  EXPECT_EQ(dump(0.000001), "0.000001");
  EXPECT_EQ(dump(0.0000001), "1e-7");
  EXPECT_EQ(dump(1.5e-10), "1.5e-10");
  EXPECT_EQ(dump(1e20), "100000000000000000000");
  EXPECT_EQ(dump(1e21), "1e+21");
  EXPECT_EQ(dump(1e300), "1e+300");
  EXPECT_EQ(dump(std::nan("")), "null");
  EXPECT_EQ(dump(std::numeric_limits<double>::infinity()), "null");
}

TEST(Writer, DoublesRoundTrip) {
  std::mt19937_64 random(7);  // NOLINT: the same numbers each time
  for (int i = 0; i < 20000; ++i) {
    const auto value = std::bit_cast<double>(random());
    if (!std::isfinite(value)) continue;
    const auto back = parse("[" + dump(value) + "]");
    ASSERT_TRUE(back.has_value()) << dump(value);
    ASSERT_EQ((*back)[0].number(), value) << dump(value);
  }
}

TEST(Dump, PrettyLooksLikeKubectl) {
  const Value v =
      Object{{"kind", "Pod"}, {"spec", Object{{"args", Array{"a", 1}}, {"none", Array{}}, {"empty", Object{}}}}};
  EXPECT_EQ(dump_pretty(v), R"({
    "kind": "Pod",
    "spec": {
        "args": [
            "a",
            1
        ],
        "none": [],
        "empty": {}
    }
}
)");
}

}  // namespace
}  // namespace kopper::json
