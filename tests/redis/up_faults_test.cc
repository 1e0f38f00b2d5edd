#include <csignal>
#include <iostream>
#include <set>

#include "redis/redis_up.h"

// What happens to a RedisCluster in its life, with the operator-manager beside `kopper up`.
namespace redis::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class RedisFaults : public RedisUp {
 protected:
  void SetUp() override {
    RedisUp::SetUp();
    operator_manager = manager();
  }
  void TearDown() override {
    RedisUp::TearDown();
    operator_manager.reset();
  }

  std::set<std::string> uids() {
    std::set<std::string> out;
    for (const Pod& pod : pods()) out.insert(pod.uid);
    return out;
  }
  // Until none of these pods is there any more and there are so many others.
  void replaced(const std::set<std::string>& old, std::size_t size) {
    EXPECT_TRUE(eventually(
        [&] {
          const auto now = uids();
          return now.size() == size &&
                 std::none_of(now.begin(), now.end(), [&](const auto& u) { return old.contains(u); });
        },
        std::chrono::seconds(150)));
  }
  Pod pod_at(const std::string& address) {
    for (const Pod& pod : pods())
      if (pod.address == address) return pod;
    ADD_FAILURE() << "no pod at " << address;
    return {};
  }
  // A master with slots, or a replica; one of those with the highest number.
  NodeSeen some(bool master) {
    NodeSeen out;
    std::string name;
    for (const NodeSeen& seen : nodes())
      if (seen.slots.any() == master && pod_at(seen.address).name > name) {
        name = pod_at(seen.address).name;
        out = seen;
      }
    return out;
  }
  void command(const std::string& address, const std::vector<std::string>& words) {
    const Answer answer = ask(address, words);
    EXPECT_FALSE(answer.is_error()) << address << " " << words.at(1) << ": " << answer.text;
  }

  std::unique_ptr<Process> operator_manager;
};

TEST_F(RedisFaults, AssignedSlotsComeFromWhomTheyShould) {
  ASSERT_NO_FATAL_FAILURE(have(6));
  write();
  std::vector<NodeSeen> masters;
  for (const NodeSeen& seen : nodes())
    if (seen.slots.any()) masters.push_back(seen);
  ASSERT_EQ(masters.size(), 3U);
  change(
      R"("replicas":10,"updateStrategy":{"type":"AssignReceive","assignStrategies":[{"slots":1000,"fromReplicas":")" +
      masters[0].id + R"("},{"slots":2001,"fromReplicas":")" + masters[1].id + "," + masters[2].id + "\"}]}");
  ASSERT_NO_FATAL_FAILURE(settle(10));
  std::vector<std::size_t> others;
  for (const NodeSeen& seen : nodes()) {
    if (seen.slots.none()) continue;
    if (seen.id == masters[0].id)
      EXPECT_EQ(seen.slots.count(), masters[0].slots.count() - 1000);
    else if (seen.id != masters[1].id && seen.id != masters[2].id)
      others.push_back(seen.slots.count());
  }
  std::sort(others.begin(), others.end());
  EXPECT_THAT(others, ElementsAre(1000, 2001));
  verify();
}

TEST_F(RedisFaults, AnUpgradeStopsNoWriter) {
  ASSERT_NO_FATAL_FAILURE(have(6));
  const auto before = uids();
  write();
  change(pods().front().image == "redis:7" ? "\"version\":\"7.0\"" : "\"version\":\"7\"");
  replaced(before, 6);
  ASSERT_NO_FATAL_FAILURE(settle(6));
  verify();
  for (const auto& [address, longest] : load->longest())
    std::cout << "  " << address << " " << longest.count() << " ms\n";
  EXPECT_LE(load->longest_of_all(), std::chrono::seconds(2)) << "the longest that a write took";
}

TEST_F(RedisFaults, PodsComeBackWithOtherAddresses) {
  ASSERT_NO_FATAL_FAILURE(have(6));
  write(1);
  const NodeSeen one = some(true);
  const Pod pod = pod_at(one.address);
  ok({"delete", "pod", pod.name});
  EXPECT_TRUE(eventually([&] {
    for (const Pod& now : pods())
      if (now.name == pod.name) return now.uid != pod.uid && now.address != pod.address;
    return false;
  })) << "it has another address";
  ASSERT_NO_FATAL_FAILURE(settle(6));
  EXPECT_TRUE(load->wait_for(1000));

  const auto old = addresses();
  const auto before = uids();
  ok({"delete", "pod", "-l", "app=rc", "--wait=false"});
  replaced(before, 6);
  ASSERT_NO_FATAL_FAILURE(settle(6));
  for (const std::string& address : addresses()) EXPECT_EQ(std::count(old.begin(), old.end(), address), 0) << address;
  verify();
}

TEST_F(RedisFaults, APausedClusterIsOnlyLookedAt) {
  ASSERT_NO_FATAL_FAILURE(have(6));
  change("\"pause\":true");
  EXPECT_TRUE(eventually([&] { return condition("Paused") == "True"; }));
  const auto set = ok({"get", "statefulset", "rc", "-o", "jsonpath={.metadata.resourceVersion}"});
  const auto all = addresses();
  for (const std::string& address : all) command(address, {"CONFIG", "RESETSTAT"});
  change("\"replicas\":8");
  // Looked at: the status knows of the new spec, and of a node that died and came back.
  const NodeSeen replica = some(false);
  ::kill(pid_at(replica.address), SIGKILL);
  EXPECT_TRUE(eventually([&] {
    const auto now = resource();
    return now["status"]["observedGeneration"] == now["metadata"]["generation"];
  }));
  EXPECT_TRUE(eventually([&] { return ask(replica.address, {"PING"}).is_text("PONG"); }));
  EXPECT_TRUE(eventually([&] { return status_difference().empty(); })) << status_difference();
  EXPECT_EQ(condition("Paused"), "True");
  EXPECT_EQ(pods().size(), 6U);
  for (const std::string& address : all) {
    const std::string asked = ask(address, {"INFO", "commandstats"}).text;
    EXPECT_THAT(asked, HasSubstr("cluster|nodes")) << "it was looked at";
    for (const char* write :
         {"cluster|meet", "cluster|forget", "cluster|setslot", "cluster|addslots", "cluster|replicate",
          "cluster|failover", "cluster|reset", "migrate", "config|set", "cluster|delslots"})
      EXPECT_EQ(asked.find(write), std::string::npos) << asked;
  }
  change("\"pause\":false");
  ASSERT_NO_FATAL_FAILURE(settle(8));
  EXPECT_NE(ok({"get", "statefulset", "rc", "-o", "jsonpath={.metadata.resourceVersion}"}), set);
}

class RedisCrash : public RedisFaults {
 protected:
  // The node of a mark like "[7->-id]", or of the other end of it.
  std::string end_of(const std::pair<std::string, std::string>& mark, bool source) {
    const bool importing = mark.second.contains("-<-");
    if (importing != source) return mark.first;
    const std::string id = mark.second.substr(mark.second.rfind('-') + 1, 40);
    for (const NodeSeen& seen : nodes())
      if (seen.id == id) return seen.address;
    return "";
  }
  // One that takes part in a migration dies; with `failover`, so that its replica takes over before it is back.
  void crash(bool source, bool failover) {
    ASSERT_NO_FATAL_FAILURE(have(6));
    write(1);
    change("\"replicas\":8");
    std::pair<std::string, std::string> mark;
    ASSERT_TRUE(eventually([&] { return !(mark = open_slot()).second.empty(); }));
    const std::string victim = end_of(mark, source);
    const int pid = pid_at(victim);
    ASSERT_GT(pid, 0) << victim;
    if (failover) {
      ::kill(pid, SIGSTOP);
      EXPECT_TRUE(eventually(
          [&] {
            for (const std::string& address : addresses())
              if (address != victim)
                for (const NodeSeen& seen : read_nodes(ask(address, {"CLUSTER", "NODES"}).text))
                  if (seen.address == victim && seen.slots.none()) return true;
            return false;
          },
          std::chrono::seconds(30)))
          << "its replica takes over";
    }
    ::kill(pid, SIGKILL);
    ASSERT_NO_FATAL_FAILURE(settle(8));
    verify();
  }
};

TEST_F(RedisCrash, TheSourceOfAMigrationDies) { crash(true, false); }
TEST_F(RedisCrash, TheTargetOfAMigrationDies) { crash(false, false); }
TEST_F(RedisCrash, TheSourceOfAMigrationIsReplaced) { crash(true, true); }
TEST_F(RedisCrash, TheTargetOfAMigrationIsReplaced) { crash(false, true); }

TEST_F(RedisFaults, AReplicaThatLostItsDiskIsFilledAgain) {
  ASSERT_NO_FATAL_FAILURE(have(6));
  write();
  const NodeSeen replica = some(false);
  const Pod pod = pod_at(replica.address);
  ok({"delete", "pvc", "data-" + pod.name, "--wait=false"});
  ok({"delete", "pod", pod.name});
  EXPECT_TRUE(eventually([&] {
    for (const Pod& now : pods())
      if (now.name == pod.name) return now.uid != pod.uid;
    return false;
  }));
  ASSERT_NO_FATAL_FAILURE(settle(6));
  for (const NodeSeen& seen : nodes()) EXPECT_NE(seen.id, replica.id) << "it is another node";
  verify();
}

TEST_F(RedisFaults, ALostQuorumComesBack) {
  ASSERT_NO_FATAL_FAILURE(have(6));
  write(1);
  std::vector<int> frozen;
  const NodeSeen left = some(true);
  for (const NodeSeen& seen : nodes())
    if (seen.id != left.id && seen.master != left.id) frozen.push_back(pid_at(seen.address));
  ASSERT_EQ(frozen.size(), 4U);
  for (const int pid : frozen) ::kill(pid, SIGSTOP);
  EXPECT_TRUE(eventually([&] { return ask(left.address, {"CLUSTER", "INFO"}).text.contains("cluster_state:fail"); }));
  EXPECT_TRUE(eventually([&] { return condition("Ready") == "False"; }));
  for (const int pid : frozen) ::kill(pid, SIGCONT);
  ASSERT_NO_FATAL_FAILURE(settle(6));
  verify();
}

TEST_F(RedisFaults, LeftoversOfMigrationsAreCleanedUp) {
  ASSERT_NO_FATAL_FAILURE(have(6));
  write();
  std::vector<NodeSeen> masters;
  for (const NodeSeen& seen : nodes())
    if (seen.slots.any()) masters.push_back(seen);
  ASSERT_EQ(masters.size(), 3U);
  const NodeSeen& a = masters[0];
  const NodeSeen& b = masters[1];
  operator_manager.reset();

  // Slots of `a` with keys of the test's own: the first six that it has.
  std::vector<std::size_t> slots;
  std::vector<std::vector<std::string>> keys;
  for (std::size_t slot = 0; slots.size() < 7; ++slot)
    if (a.slots[slot]) slots.push_back(slot);
  keys.resize(slots.size());
  for (int i = 0; std::any_of(keys.begin(), keys.end(), [](const auto& of) { return of.size() < 4; }); ++i) {
    const std::string key = "left" + std::to_string(i);
    for (std::size_t n = 0; n < slots.size(); ++n)
      if (slots[n] == slot_of_key(key) && keys[n].size() < 4) {
        keys[n].push_back(key);
        EXPECT_TRUE(ask(a.address, {"SET", key, "value of " + key}).is_text("OK"));
      }
  }
  const auto set = [&](const NodeSeen& at, std::size_t n, const std::string& what, const NodeSeen* other) {
    std::vector<std::string> words{"CLUSTER", "SETSLOT", std::to_string(slots[n]), what};
    if (other != nullptr) words.push_back(other->id);
    command(at.address, words);
  };
  const auto move = [&](std::size_t n, std::size_t count) {
    for (std::size_t k = 0; k < count; ++k) command(a.address, {"MIGRATE", b.address, "6379", keys[n][k], "0", "1000"});
  };
  // Both marks, half of the keys moved.
  set(b, 0, "IMPORTING", &a);
  set(a, 0, "MIGRATING", &b);
  move(0, 2);
  // Only importing, nothing there.
  set(b, 1, "IMPORTING", &a);
  // Only importing, with keys there.
  set(b, 2, "IMPORTING", &a);
  set(a, 2, "MIGRATING", &b);
  move(2, 2);
  set(a, 2, "STABLE", nullptr);
  // Only migrating.
  set(a, 3, "MIGRATING", &b);
  // No mark, keys hidden.
  set(b, 4, "IMPORTING", &a);
  set(a, 4, "MIGRATING", &b);
  move(4, 2);
  set(a, 4, "STABLE", nullptr);
  set(b, 4, "STABLE", nullptr);
  // Only migrating, with keys at the target.
  set(b, 5, "IMPORTING", &a);
  set(a, 5, "MIGRATING", &b);
  move(5, 2);
  set(b, 5, "STABLE", nullptr);
  // All moved, the target has it, and only it was told.
  set(b, 6, "IMPORTING", &a);
  set(a, 6, "MIGRATING", &b);
  while (ask(a.address, {"CLUSTER", "COUNTKEYSINSLOT", std::to_string(slots[6])}).integer > 0)
    for (const Answer& key : ask(a.address, {"CLUSTER", "GETKEYSINSLOT", std::to_string(slots[6]), "10"}).items)
      ask(a.address, {"MIGRATE", b.address, "6379", key.text, "0", "1000"});
  set(b, 6, "NODE", &b);

  operator_manager = manager();
  ASSERT_NO_FATAL_FAILURE(settle(6));
  verify();
  for (const auto& of : keys)
    for (const std::string& key : of)
      EXPECT_EQ(run_program({"redis-cli", "-c", "-h", b.address, "get", key}).out, "value of " + key + "\n");
}

TEST_F(RedisFaults, AnotherManagerGoesOnWhenTheLeaderDies) {
  ASSERT_NO_FATAL_FAILURE(have(6));
  write();
  operator_manager.reset();
  const std::vector<std::string> flags{"--leader-elect", "--leader-elect-resource-namespace=" + ns,
                                       "--leader-elect-lease-duration=4s", "--leader-elect-renew-deadline=3s",
                                       "--leader-elect-retry-period=1s"};
  const auto holder = [&] { return kubectl({"get", "leases", "-o", "jsonpath={.items[0].spec.holderIdentity}"}).out; };
  const auto leader = manager(flags);
  EXPECT_TRUE(eventually([&] { return !holder().empty(); }));
  const auto first = holder();
  const auto other = manager(flags);
  change("\"replicas\":8");
  EXPECT_TRUE(eventually([&] { return !open_slot().second.empty(); }));
  leader->end(SIGKILL);
  EXPECT_TRUE(eventually([&] { return holder() != first; }));
  ASSERT_NO_FATAL_FAILURE(settle(8));
  verify();
}

}  // namespace
}  // namespace redis::testing
