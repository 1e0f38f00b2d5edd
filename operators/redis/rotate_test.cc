#include "rotate.h"

#include <algorithm>
#include <random>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace redis {
namespace {

using testing::ElementsAre;

NodeAuth node(int number, std::string password) {
  NodeAuth out{.id = fmt::format("n{}", number), .pod = fmt::format("demo-{}", number)};
  out.open = password.empty();
  out.takes_wanted = !out.open;
  out.count = out.open ? 0 : 1;
  out.masterauth = std::move(password);
  out.masteruser = out.open ? "" : "default";
  return out;
}

std::vector<std::string> lines(const Rotation& rotation) {
  std::vector<std::string> out;
  for (const auto& command : rotation.commands) {
    out.push_back(fmt::format("{} {}", command.node, fmt::join(command.words, " ")));
  }
  return out;
}

TEST(Rotate, NothingToDo) {
  EXPECT_TRUE(rotate({node(0, "a"), node(1, "a")}, {"a", "a"}).done());
  EXPECT_TRUE(rotate({node(0, "a"), node(1, "a")}, {"a", "a", "b"}).done());
  EXPECT_TRUE(rotate({node(0, ""), node(1, "")}, {"", ""}).done());
  auto silent = node(1, "");
  silent.trouble = "connection refused";
  EXPECT_TRUE(rotate({node(0, "a"), silent}, {"a", "a"}).done()) << "nothing to wait for";
}

TEST(Rotate, ANewPasswordStepByStep) {
  std::vector<NodeAuth> nodes = {node(0, "old"), node(1, "old")};
  const Passwords passwords{"new", "old"};
  for (auto& each : nodes) each.takes_wanted = false;
  EXPECT_THAT(lines(rotate(nodes, passwords)),
              ElementsAre("n0 ACL SETUSER default >new", "n1 ACL SETUSER default >new"));
  EXPECT_TRUE(rotate(nodes, passwords).commands[0].secret);
  for (auto& each : nodes) each.takes_wanted = true;
  for (auto& each : nodes) each.count = 2;
  EXPECT_THAT(lines(rotate(nodes, passwords)),
              ElementsAre("n0 CONFIG SET masterauth new", "n1 CONFIG SET masterauth new"));
  nodes[0].masterauth = "new";
  EXPECT_THAT(lines(rotate(nodes, passwords)), ElementsAre("n1 CONFIG SET masterauth new"));
  nodes[1].masterauth = "new";
  EXPECT_EQ(rotate(nodes, passwords).write, (Passwords{"new", "new", "old"}));
  EXPECT_THAT(lines(rotate(nodes, {"new", "new", "old"})),
              ElementsAre("n0 CONFIG SET requirepass new", "n1 CONFIG SET requirepass new"));
}

TEST(Rotate, TheOldOneStaysWhileANodeIsSilent) {
  std::vector<NodeAuth> nodes = {node(0, "old"), node(1, "old"), node(2, "old")};
  nodes[1].trouble = "connection refused";
  nodes[0].takes_wanted = nodes[2].takes_wanted = false;
  const Passwords passwords{"new", "old"};
  EXPECT_THAT(lines(rotate(nodes, passwords)),
              ElementsAre("n0 ACL SETUSER default >new", "n2 ACL SETUSER default >new"));
  nodes[0].takes_wanted = nodes[2].takes_wanted = true;
  const auto waits = rotate(nodes, passwords);
  EXPECT_THAT(lines(waits), ElementsAre());
  EXPECT_FALSE(waits.write);
  EXPECT_EQ(waits.waiting, "demo-1");
}

TEST(Rotate, ALeftoverOfAChangeThatWasTakenBackGoes) {
  std::vector<NodeAuth> nodes = {node(0, "old"), node(1, "old")};
  nodes[1].count = 2;
  EXPECT_THAT(lines(rotate(nodes, {"old", "old"})), ElementsAre("n1 CONFIG SET requirepass old"));
}

TEST(Rotate, AnswersAreRead) {
  const auto text = [](std::string value) { return Reply{.type = Reply::Type::Text, .text = std::move(value)}; };
  const auto list = [](std::vector<Reply> items) {
    return Reply{.type = Reply::Type::Array, .items = std::move(items)};
  };
  const Reply error{.type = Reply::Type::Error, .text = "WRONGPASS invalid"};
  const Passwords passwords{"new", "old"};
  EXPECT_THAT(auth_questions(passwords),
              ElementsAre(Words{"ACL", "GETUSER", "default"}, Words{"CONFIG", "GET", "masterauth"},
                          Words{"CONFIG", "GET", "masteruser"}, Words{"AUTH", "new"}));
  EXPECT_EQ(auth_questions({"", "old"}).size(), 3U);
  EXPECT_THAT((Passwords{"new", "old", "older"}).known(), ElementsAre("old", "new", "older"));
  EXPECT_THAT((Passwords{"a", "a", ""}).known(), ElementsAre("a"));

  std::vector<Reply> answers = {
      list({text("flags"), list({text("on"), text("allkeys")}), text("passwords"), list({text("1ba3"), text("2cb4")})}),
      list({text("masterauth"), text("old")}), list({text("masteruser"), text("")}), error};
  const auto closed = read_auth("n0", "demo-0", passwords, answers);
  EXPECT_EQ(closed.trouble, "");
  EXPECT_FALSE(closed.open || closed.takes_wanted);
  EXPECT_EQ(closed.count, 2U);
  EXPECT_EQ(closed.masterauth, "old");
  answers[3] = text("OK");
  EXPECT_TRUE(read_auth("n0", "demo-0", passwords, answers).takes_wanted);
  answers[0] = list({text("flags"), list({text("on"), text("nopass")}), text("passwords"), list({})});
  EXPECT_TRUE(read_auth("n0", "demo-0", passwords, answers).open);
  answers[1] = error;
  EXPECT_EQ(read_auth("n0", "demo-0", passwords, answers).trouble, "WRONGPASS invalid");
  EXPECT_NE(read_auth("n0", "demo-0", passwords, {}).trouble, "");
}

// ---- every way in which it can go ----

struct Server {
  bool alive = true;
  std::set<std::string> takes;  // none: open
  std::string masterauth;
  std::string masteruser;

  static Server from_file(const std::string& password) {
    Server out;
    if (password.empty()) return out;
    out.takes = {password};
    out.masterauth = password;
    out.masteruser = "default";
    return out;
  }

  // Whether this one, as a replica, gets in there. What 7.0 does.
  bool gets_in(const Server& master) const {
    if (master.takes.empty()) return masterauth.empty() || masteruser == "default";
    return master.takes.contains(masterauth);
  }

  void obey(const Words& words) {
    if (words[0] == "ACL") takes.insert(words[3].substr(1));
    if (words[0] != "CONFIG") return;
    if (words[2] == "masterauth") masterauth = words[3];
    if (words[2] == "masteruser") masteruser = words[3];
    if (words[2] == "requirepass") takes = words[3].empty() ? std::set<std::string>() : std::set{words[3]};
  }
};

struct Cluster {
  std::vector<Server> servers;
  Passwords passwords;

  // The operator gets in with one that it knows.
  std::vector<NodeAuth> look() const {
    std::vector<NodeAuth> out;
    for (std::size_t i = 0; i < servers.size(); ++i) {
      const auto& server = servers[i];
      NodeAuth seen{.id = std::to_string(i), .pod = fmt::format("demo-{}", i)};
      const auto known = passwords.known();
      const bool opens = server.takes.empty() || std::ranges::any_of(known, [&](const auto& password) {
                           return server.takes.contains(password);
                         });
      if (!server.alive || !opens) {
        seen.trouble = "no";
      } else {
        seen.open = server.takes.empty();
        seen.takes_wanted = server.takes.contains(passwords.wanted);
        seen.count = server.takes.size();
        seen.masterauth = server.masterauth;
        seen.masteruser = server.masteruser;
      }
      out.push_back(seen);
    }
    return out;
  }

  std::string who_does_not_get_in() const {
    for (std::size_t i = 0; i < servers.size(); ++i) {
      for (std::size_t j = 0; j < servers.size(); ++j) {
        if (i != j && !servers[i].gets_in(servers[j])) return fmt::format("{} at {}", i, j);
      }
    }
    return "";
  }

  // At most so many commands of the next step; false when nothing was to be done.
  bool step(std::size_t most, std::mt19937& random) {
    auto rotation = rotate(look(), passwords);
    if (rotation.done()) return false;
    std::ranges::shuffle(rotation.commands, random);
    if (rotation.commands.size() > most) rotation.commands.resize(most);
    for (const auto& command : rotation.commands) {
      servers[std::stoul(command.node)].obey(command.words);
      if (strict) {
        EXPECT_EQ(who_does_not_get_in(), "") << fmt::format("{}", fmt::join(command.words, " "));
      }
    }
    if (rotation.write) {
      EXPECT_TRUE(rotation.commands.empty());
      passwords = *rotation.write;
    }
    return true;
  }

  void expect_all_changed() const {
    EXPECT_EQ(passwords.used, passwords.wanted);
    for (const auto& server : servers) {
      const auto right = Server::from_file(passwords.wanted);
      EXPECT_EQ(server.takes, right.takes);
      EXPECT_EQ(server.masterauth, right.masterauth);
    }
    EXPECT_EQ(who_does_not_get_in(), "");
  }

  bool strict = true;
};

const std::vector<std::pair<std::string, std::string>> kChanges = {{"", "a"}, {"a", "b"}, {"a", ""}, {"a", "a"}};

TEST(RotateSimulation, ReplicationGoesOnWhereverItEnds) {
  for (const auto& [from, to] : kChanges) {
    for (unsigned seed = 0; seed < 100; ++seed) {
      SCOPED_TRACE(fmt::format("\"{}\" to \"{}\", seed {}", from, to, seed));
      std::mt19937 random(seed);
      Cluster cluster{.servers = std::vector(4, Server::from_file(from)), .passwords = {to, from}};
      if (seed % 2 == 0) {  // files that do not name the user
        for (auto& server : cluster.servers) server.masteruser = "";
      }
      int steps = 0;
      while (cluster.step(1 + random() % 4, random)) ASSERT_LT(++steps, 100);
      cluster.expect_all_changed();
      ASSERT_FALSE(testing::Test::HasFailure());
    }
  }
}

TEST(RotateSimulation, AUserWhoCannotDecide) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const std::vector<std::string> all = {"", "a", "b", "c"};
    const auto& first = all[random() % all.size()];
    Cluster cluster{.servers = std::vector(4, Server::from_file(first)), .passwords = {first, first}};
    // A password that was wanted only for a moment is not known any more, but whoever sends it may: none is dropped
    // before all send the one that counts.
    for (int change = 0; change < 3; ++change) {
      cluster.passwords.wanted = all[random() % all.size()];
      for (auto steps = random() % 8; steps > 0; --steps) cluster.step(1 + random() % 4, random);
    }
    int steps = 0;
    while (cluster.step(4, random)) ASSERT_LT(++steps, 100);
    cluster.expect_all_changed();
    ASSERT_FALSE(testing::Test::HasFailure());
  }
}

TEST(RotateSimulation, NodesThatRestartComeBackIntoStep) {
  for (const auto& [from, to] : kChanges) {
    for (unsigned seed = 0; seed < 300; ++seed) {
      SCOPED_TRACE(fmt::format("\"{}\" to \"{}\", seed {}", from, to, seed));
      std::mt19937 random(seed);
      Cluster cluster{.servers = std::vector(4, Server::from_file(from)), .passwords = {to, from}};
      cluster.strict = false;
      for (int i = 0; i < 15; ++i) {
        cluster.step(1 + random() % 4, random);
        auto& server = cluster.servers[random() % 4];
        if (random() % 3 != 0) continue;
        if (server.alive) {
          server.alive = false;
        } else {  // with the file of now, or the one that was there before
          const bool late = random() % 2 == 0 && cluster.passwords.used == to;
          server = Server::from_file(late ? from : cluster.passwords.used);
        }
      }
      for (auto& server : cluster.servers) server.alive = true;
      int steps = 0;
      while (cluster.step(4, random)) ASSERT_LT(++steps, 100);
      cluster.expect_all_changed();
      ASSERT_FALSE(testing::Test::HasFailure());
    }
  }
}

}  // namespace
}  // namespace redis
