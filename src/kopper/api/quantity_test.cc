#include "kopper/api/quantity.h"

#include <fstream>
#include <limits>
#include <string>

#include <gtest/gtest.h>

namespace kopper::api {
namespace {

constexpr auto kMax = std::numeric_limits<std::int64_t>::max();

std::string canonical(std::string_view text) {
  const auto q = Quantity::parse(text);
  return q ? q->str() : "error: " + q.error().what;
}

// What a real API server's library prints for these texts.
TEST(Quantity, PrintsWhatKubernetesPrints) {
  std::ifstream file("tests/golden/api/quantity.tsv");
  int lines = 0;
  for (std::string text, expected; std::getline(file, text, '\t') && std::getline(file, expected); ++lines) {
    EXPECT_EQ(canonical(text), expected) << text;
  }
  EXPECT_GT(lines, 60);
}

TEST(Quantity, CanonicalFormIsStable) {
  for (const auto* text : {"1500m", "-1n", "1536Mi", "1e3", "307200m", "9223372036854775807", "170141183460E"}) {
    EXPECT_EQ(canonical(text), text);
  }
}

TEST(Quantity, RefusesWhatIsNotAQuantity) {
  for (const auto* text : {"",
                           "+",
                           "-",
                           ".",
                           "Ki",
                           "m",
                           "abc",
                           "1i",
                           "1ki",
                           "1K",
                           "1e",
                           "1e+",
                           "1e-",
                           "1e+-3",
                           "1ee3",
                           "1e1.5",
                           "1.2.3",
                           "--1",
                           "1 ",
                           " 1",
                           "1mm",
                           "0x1",
                           "1e99999999999999999999",
                           "1,5"}) {
    EXPECT_FALSE(Quantity::parse(text).has_value()) << text;
  }
  EXPECT_EQ(Quantity::parse("12xy").error().offset, 2);
}

TEST(Quantity, LargeAmountsAreCapped) {
  EXPECT_EQ(canonical("1e2000000000"), "170141183460e18");
  EXPECT_EQ(canonical("-1e2000000000"), "-170141183460e18");
  EXPECT_EQ(canonical("1e-2000000000"), "1e-9");
  EXPECT_EQ(canonical("0e2000000000"), "0");
  EXPECT_EQ(canonical(std::string(5000, '9')), "170141183460E");
  EXPECT_EQ(canonical(std::string(5000, '9') + "Ki"), "9223372036854775807");
  EXPECT_EQ(canonical("0." + std::string(5000, '0') + "1Ei"), "1n");
  EXPECT_EQ(canonical("1000E"), "1000E");
  const Quantity huge("170141183460E");
  EXPECT_EQ((huge + huge).str(), "170141183460E");
  EXPECT_EQ((-huge - huge).str(), "-170141183460E");
}

TEST(Quantity, ComparesByAmount) {
  EXPECT_EQ(Quantity("1000m"), Quantity(1));
  EXPECT_EQ(Quantity("1Ki"), Quantity(1024));
  EXPECT_EQ(Quantity("1e3"), Quantity("1k"));
  EXPECT_LT(Quantity("999999999n"), Quantity(1));
  EXPECT_LT(Quantity("1G"), Quantity("1Gi"));
  EXPECT_GT(Quantity("-1"), Quantity("-2"));
}

TEST(Quantity, AddsAndSubtracts) {
  EXPECT_EQ((Quantity("100m") + Quantity("950m")).str(), "1050m");
  EXPECT_EQ((Quantity("1Gi") + Quantity("512Mi")).str(), "1536Mi");
  EXPECT_EQ((Quantity("1Gi") + Quantity("1")).str(), "1073741825");
  EXPECT_EQ((Quantity() + Quantity("1Gi")).str(), "1Gi") << "zero takes the other's format";
  EXPECT_EQ((Quantity("1Gi") - Quantity("1Gi")).str(), "0");
  EXPECT_EQ((Quantity(1) - Quantity("1n")).str(), "999999999n");
  EXPECT_EQ((Quantity("1k") - Quantity("3k")).sign(), -1);
}

TEST(Quantity, Converts) {
  EXPECT_EQ(Quantity("2k").as_int64(), 2000);
  EXPECT_EQ(Quantity("1500m").as_int64(), std::nullopt);
  EXPECT_EQ(Quantity("10E").as_int64(), std::nullopt);
  EXPECT_EQ(Quantity("1500m").value(), 2);
  EXPECT_EQ(Quantity("-1500m").value(), -2);
  EXPECT_EQ(Quantity("1n").milli_value(), 1);
  EXPECT_EQ(Quantity("2").milli_value(), 2000);
  EXPECT_EQ(Quantity("9E").milli_value(), kMax);
  EXPECT_DOUBLE_EQ(Quantity("1500m").as_double(), 1.5);
  EXPECT_DOUBLE_EQ(Quantity("1Ei").as_double(), 1152921504606846976.0);
  EXPECT_EQ(Quantity::milli(1500).str(), "1500m");
  EXPECT_EQ(Quantity::bytes(std::int64_t{64} << 20).str(), "64Mi");
  EXPECT_TRUE(Quantity("0Ki").is_zero());
  EXPECT_EQ(Quantity(kMax).str(), "9223372036854775807");
}

TEST(Quantity, BadLiteralThrows) { EXPECT_THROW(Quantity("1 GB"), Error); }

}  // namespace
}  // namespace kopper::api
