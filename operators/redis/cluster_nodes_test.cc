#include "cluster_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace redis {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(ClusterNodes, AreRead) {
  const auto nodes = parse_cluster_nodes(
      "07c37d 127.0.0.1:30004@31004,hostname4 slave e7d1ee 0 1426238317239 4 connected\n"
      "e7d1ee 127.0.0.1:30001@31001 myself,master - 0 0 1 connected 0-5460 5470 [93-<-292f8b] [77->-e7d1eb]\r\n"
      "292f8b :0@0 master,fail,noaddr - 1426238316232 1426238315232 3 disconnected 10923-16383\n"
      "824fe1 fd00::1:6379@16379,,shard-id=1 master,fail? - 0 1 5 connected\n"
      "824fe2 10.0.0.1:6379@16379 handshake - 0 1 5 disconnected\n");
  ASSERT_TRUE(nodes) << nodes.error().what();
  ASSERT_EQ(nodes->size(), 5U);
  const auto& replica = (*nodes)[0];
  EXPECT_EQ(replica.address, "127.0.0.1");
  EXPECT_EQ(replica.port, 30004);
  EXPECT_EQ(replica.bus_port, 31004);
  EXPECT_TRUE(replica.replica && !replica.master && replica.linked && replica.healthy());
  EXPECT_EQ(replica.master_id, "e7d1ee");

  const auto& self = (*nodes)[1];
  EXPECT_TRUE(self.myself && self.master);
  EXPECT_EQ(self.config_epoch, 1U);
  EXPECT_EQ(self.slots.str(), "0-5460 5470");
  EXPECT_THAT(self.open, ElementsAre(OpenSlot{93, true, "292f8b"}, OpenSlot{77, false, "e7d1eb"}));

  const auto& gone = (*nodes)[2];
  EXPECT_TRUE(gone.failed && gone.noaddr && !gone.linked && !gone.healthy());
  EXPECT_EQ(gone.address, "");
  EXPECT_EQ(gone.slots.size(), 5461U);
  EXPECT_EQ((*nodes)[3].address, "fd00::1");
  EXPECT_TRUE((*nodes)[3].suspected && !(*nodes)[3].failed && !(*nodes)[3].healthy());
  EXPECT_TRUE((*nodes)[4].handshake && !(*nodes)[4].healthy());
}

TEST(ClusterNodes, WhatIsNoneIsNamed) {
  for (const auto* bad :
       {"a", "a b", "a 1.1.1.1:1@2 master - 0 0 x connected", "a 1.1.1.1:1@2 master - 0 0 1 connected 99999",
        "a 1.1.1.1:1@2 master - 0 0 1 connected [1-x-b]", "a 1.1.1.1:1@2 master - 0 0 1 connected [1->-b",
        "a 1.1.1.1:1@2 master - 0 0 1 connected [", "a 1.1.1.1:1@2 master - 0 0 1 connected [-]"}) {
    const auto nodes = parse_cluster_nodes(bad);
    ASSERT_FALSE(nodes) << bad;
    EXPECT_THAT(nodes.error().what(), testing::HasSubstr(bad));
  }
  EXPECT_THAT(*parse_cluster_nodes("\n"), IsEmpty());
}

TEST(Info, IsRead) {
  const std::string_view info = "# Replication\r\nrole:slave\r\nmaster_link_status:up\r\nslave_repl_offset:42\r\n";
  EXPECT_EQ(info_value(info, "role"), "slave");
  EXPECT_EQ(info_value(info, "rol"), "");
  EXPECT_EQ(info_number(info, "slave_repl_offset"), 42);
  EXPECT_EQ(info_number(info, "role", -1), -1);
}

}  // namespace
}  // namespace redis
