#include "operators/redis/rotate.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/rt/scope.h"

#include "operators/redis/cluster_nodes.h"
#include "operators/redis/connection.h"
#include "redis/servers.h"

namespace redis {
namespace {

namespace rt = kopper::rt;

// Two masters and a replica of each: server i + 2 follows i.
class RotateReal : public ::testing::Test {
 protected:
  RotateReal() : servers(4) { servers.form(2); }

  std::shared_ptr<Connection> link(std::size_t server) { return loop.run(links.get(servers[server].address())); }
  Reply call(std::size_t server, Words words) { return loop.run(link(server)->call(std::move(words))); }

  Rotation look() {
    Access access;
    access.passwords = passwords.known();
    links.set_access(access);
    std::vector<NodeAuth> nodes;
    for (std::size_t i = 0; i < servers.size(); ++i) {
      const auto answers = loop.run(link(i)->pipeline(auth_questions(passwords)));
      nodes.push_back(read_auth(std::to_string(i), "demo-" + std::to_string(i), passwords, answers));
      EXPECT_EQ(nodes.back().trouble, "");
    }
    return rotate(nodes, passwords);
  }

  std::int64_t syncs(std::size_t master) {
    const auto stats = call(master, {"INFO", "stats"}).text;
    return info_number(stats, "sync_full") + info_number(stats, "sync_partial_ok");
  }
  // Each replica loses its link, and gets in again.
  void expect_replication() {
    for (std::size_t i = 0; i < 2; ++i) {
      const auto before = syncs(i);
      EXPECT_EQ(call(i, {"CLIENT", "KILL", "TYPE", "replica"}).integer, 1);
      EXPECT_TRUE(testing::eventually([&] { return syncs(i) > before; })) << call(i + 2, {"INFO", "replication"}).text;
    }
  }

  // In halves, and links are cut after each.
  void change_to(std::string password) {
    passwords.wanted = std::move(password);
    int steps = 0;
    for (auto next = look(); !next.done(); next = look()) {
      ASSERT_LT(++steps, 20);
      for (std::size_t i = 0; i < next.commands.size(); ++i) {
        const auto& [node, words, fine, secret] = next.commands[i];
        const auto reply = call(std::stoul(node), words);
        EXPECT_FALSE(reply.is_error()) << words[2] << ": " << reply.text;
        if (i == 1 || i == 3) expect_replication();
      }
      if (next.write) passwords = *next.write;
      ASSERT_FALSE(::testing::Test::HasFailure());
    }
    EXPECT_EQ(passwords.used, passwords.wanted);
  }

  testing::Servers servers;
  rt::Loop loop;
  Links links;
  Passwords passwords;
};

TEST_F(RotateReal, ReplicasGetInAtEveryStep) {
  change_to("first");
  EXPECT_THROW(testing::BlockingClient(servers[0].address(), "wrong"), testing::Broken);
  EXPECT_TRUE(testing::BlockingClient(servers[0].address()).call({"PING"}).is_error("NOAUTH"));
  change_to("a second, with spaces");
  for (std::size_t i = 0; i < servers.size(); ++i) {
    EXPECT_THROW(testing::BlockingClient(servers[i].address(), "first"), testing::Broken);
    EXPECT_TRUE(testing::BlockingClient(servers[i].address(), "a second, with spaces").call({"PING"}).is_text("PONG"));
  }
  change_to("");
  for (std::size_t i = 0; i < servers.size(); ++i) {
    EXPECT_TRUE(testing::BlockingClient(servers[i].address()).call({"PING"}).is_text("PONG"));
  }
}

}  // namespace
}  // namespace redis
