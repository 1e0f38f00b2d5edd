#include "kopper/workloads/grpc_health.h"

#include <gtest/gtest.h>

namespace kopper::workloads {
namespace {

using namespace std::string_literals;

TEST(GrpcHealth, AsksAboutAService) {
  EXPECT_EQ(health_request(""), "\0\0\0\0\0"s);
  EXPECT_EQ(health_request("db"), "\0\0\0\0\4\x0a\2db"s);
  EXPECT_EQ(health_request(std::string(200, 'x')), "\0\0\0\0\xcb\x0a\xc8\1"s + std::string(200, 'x'));
}

TEST(GrpcHealth, ReadsTheAnswer) {
  EXPECT_EQ(health_status("\0\0\0\0\2\x08\1"s), 1);
  EXPECT_EQ(health_status("\0\0\0\0\2\x08\2"s), 2);
  EXPECT_EQ(health_status("\0\0\0\0\0"s), 0);
  EXPECT_EQ(health_status_name(2), "NOT_SERVING");
  EXPECT_EQ(health_status_name(9), "9");
}

TEST(GrpcHealth, RefusesWhatIsNone) {
  for (const auto& body : {""s, "\0\0\0\0"s, "\0\0\0\0\3\x08\1"s, "\1\0\0\0\2\x08\1"s, "\0\0\0\0\2\x12\0"s,
                           "\0\0\0\0\2\x08\x80"s, "\0\0\0\0\1\x08"s, "<html>"s, "\0\0\0\0\3\x08\xff\x7f"s}) {
    EXPECT_EQ(health_status(body), std::nullopt) << ::testing::PrintToString(body);
  }
}

}  // namespace
}  // namespace kopper::workloads
