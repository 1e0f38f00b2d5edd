#include "redis/servers.h"

#include <gmock/gmock.h>

namespace redis::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Ne;

TEST(Servers, FormAClusterThatSurvivesDeathsAndMoves) {
  Servers servers(6);
  servers.form(3);
  EXPECT_EQ(servers.check().exit, 0);
  EXPECT_EQ(servers[0].cli({"-c", "set", "key", "value"}), "OK");
  EXPECT_EQ(servers[4].cli({"-c", "get", "key"}), "value");

  const std::string id = servers[5].id();
  servers[5].kill();
  EXPECT_FALSE(servers[5].runs());
  EXPECT_THROW(servers[5].call({"PING"}), Broken);
  servers[5].move_to(servers.free_address());
  servers[5].start();
  EXPECT_EQ(servers[5].id(), id) << "the disk is the same";
  EXPECT_TRUE(eventually([&] { return servers[0].cli({"cluster", "nodes"}).contains(servers[5].where()); }));

  servers[5].stop();
  servers[5].lose_disk();
  servers[5].start();
  EXPECT_THAT(servers[5].id(), Ne(id));
}

TEST(Servers, AFrozenOneDoesNotAnswerUntilItGoesOn) {
  Servers servers(1);
  servers[0].freeze();
  EXPECT_THROW(BlockingClient(servers[0].address(), "", std::chrono::milliseconds(50)).call({"PING"}), Broken);
  servers[0].thaw();
  EXPECT_TRUE(servers[0].call({"PING"}).is_text("PONG"));
}

TEST(Servers, APasswordIsNeeded) {
  ServerOptions options;
  options.password = "secret";
  Servers servers(1, options);
  EXPECT_TRUE(servers[0].call({"PING"}).is_text("PONG"));
  EXPECT_TRUE(BlockingClient(servers[0].address()).call({"PING"}).is_error("NOAUTH"));
  EXPECT_THROW(BlockingClient(servers[0].address(), "wrong"), Broken);
}

TEST(Servers, WhatTheServerSaysIsInTheError) {
  Servers servers(1);
  servers[0].kill();
  servers[0].options.more = {"--no-such-option", "1"};
  try {
    servers[0].start();
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("no-such-option"));
  }
}

}  // namespace
}  // namespace redis::testing
