#include "move.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "kopper/base/error.h"
#include "kopper/rt/cert.h"
#include "kopper/rt/scope.h"

#include "cluster_nodes.h"
#include "redis/servers.h"

namespace redis {
namespace {

using kopper::Error;
using kopper::Task;
using ::testing::HasSubstr;
using ::testing::Not;
namespace rt = kopper::rt;
using namespace std::chrono_literals;

constexpr std::string_view kPassword = "a secret of the cluster";

// So many keys of each slot.
std::vector<std::string> keys_of(const SlotSet& slots, std::size_t each) {
  std::map<std::size_t, std::size_t> found;
  std::vector<std::string> keys;
  for (std::size_t i = 0; keys.size() < slots.size() * each; ++i) {
    auto key = "key:" + std::to_string(i);
    const auto slot = slot_of(key);
    if (!slots.contains(slot) || found[slot] == each) continue;
    ++found[slot];
    keys.push_back(std::move(key));
  }
  return keys;
}

// A client as applications have one: goes where it is sent.
Task<Reply> ask_cluster(Links* links, std::string* home, Words words) {
  auto address = *home;
  bool asking = false;
  for (int tries = 0; tries < 1000; ++tries) {
    const auto link = co_await links->get(address);
    std::vector<Words> commands;
    if (asking) commands.push_back({"ASKING"});
    commands.push_back(words);
    auto replies = co_await link->pipeline(std::move(commands));
    auto reply = std::move(replies.back());
    asking = reply.is_error("ASK ");
    if (asking || reply.is_error("MOVED ")) {
      const auto begin = reply.text.rfind(' ') + 1;
      address = reply.text.substr(begin, reply.text.rfind(':') - begin);
      if (!asking) *home = address;
    } else if (reply.is_error("TRYAGAIN") || reply.is_error("CLUSTERDOWN")) {
      co_await rt::sleep(10ms);
      address = *home;
    } else {
      co_return reply;
    }
  }
  throw Error(kopper::Code::Timeout, "sent around for too long");
}

// Four masters; the first has a replica. All share one cluster, each test has slots of its own.
class Moves : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    testing::ServerOptions options;
    options.password = kPassword;
    options.append_only = false;
    servers = std::make_unique<testing::Servers>(5, options);
    servers->form(4);
  }
  static void TearDownTestSuite() { servers.reset(); }

  Moves() {
    access_.passwords = {std::string(kPassword)};
    links_.set_access(access_);
  }

  Party party(std::size_t index) { return Party{id(index), loop_.run(links_.get((*servers)[index].address()))}; }
  std::string id(std::size_t index) { return at(index, {"CLUSTER", "MYID"}).text; }
  Reply at(std::size_t index, Words words) {
    return loop_.run(loop_.run(links_.get((*servers)[index].address()))->call(std::move(words)));
  }
  std::vector<Reply> all_at(std::size_t index, std::vector<Words> commands) {
    return loop_.run(loop_.run(links_.get((*servers)[index].address()))->pipeline(std::move(commands)));
  }
  Reply ask(Words words) { return loop_.run(ask_cluster(&links_, &home_, std::move(words))); }

  // From a master to another.
  Moved move(std::size_t from, std::size_t to, const SlotSet& slots, MoveOptions options = MoveOptions()) {
    Moved progress;
    const std::vector<Party> others = {party(0), party(1), party(2), party(3)};
    loop_.run(move_slots(party(from), party(to), others, slots, options, &progress));
    return progress;
  }
  Moved rescue(std::size_t holder, std::size_t owner, const SlotSet& slots) {
    Moved progress;
    loop_.run(rescue_keys(party(holder), party(owner), slots, MoveOptions(), &progress));
    return progress;
  }

  void set_all(const std::vector<std::string>& keys) {
    for (const auto& key : keys) ASSERT_EQ(ask({"SET", key, "value of " + key}).text, "OK");
  }
  void expect_all(const std::vector<std::string>& keys) {
    for (const auto& key : keys) ASSERT_EQ(ask({"GET", key}).text, "value of " + key);
  }
  std::int64_t count(std::size_t index, const SlotSet& slots) {
    std::int64_t all = 0;
    for (const auto slot : slots.slots())
      all += at(index, {"CLUSTER", "COUNTKEYSINSLOT", std::to_string(slot)}).integer;
    return all;
  }
  // All views name this owner, nobody has a mark, and nobody else a key.
  void expect_owner(std::size_t owner, const SlotSet& slots) {
    const auto owners_id = id(owner);
    for (std::size_t i = 0; i < 4; ++i) {
      std::string seen;
      EXPECT_TRUE(testing::eventually([&] {
        seen = at(i, {"CLUSTER", "NODES"}).text;
        const auto nodes = parse_cluster_nodes(seen);
        return nodes && std::ranges::any_of(*nodes, [&](const auto& node) {
                 return node.id == owners_id && (slots - node.slots).empty();
               });
      })) << i
          << "\n"
          << seen;
      EXPECT_THAT(seen, Not(HasSubstr("["))) << i;
      EXPECT_TRUE(i == owner || count(i, slots) == 0) << i;
    }
  }

  static inline std::unique_ptr<testing::Servers> servers;
  rt::Loop loop_;
  Access access_;
  Links links_;
  std::string home_ = (*servers)[1].address();
};

struct Traffic {
  std::vector<std::string> keys;
  std::map<std::string, std::int64_t> added;
  std::uint64_t done = 0;
  bool stop = false;
};

Task<> write_on(Links* links, std::string home, Traffic* traffic, unsigned seed) {
  std::mt19937 random(seed);
  while (!traffic->stop) {
    const auto& key = traffic->keys[random() % traffic->keys.size()];
    Words words = {"INCR", key};
    const auto reply = co_await ask_cluster(links, &home, std::move(words));
    if (reply.type != Reply::Type::Integer) throw Error(kopper::Code::Internal, reply.text);
    ++traffic->added[key];
    ++traffic->done;
  }
}

Task<> move_then_stop(Party from, Party to, std::vector<Party> others, SlotSet slots, Moved* progress,
                      Traffic* traffic) {
  while (traffic->done < 100) co_await rt::yield();
  co_await move_slots(std::move(from), std::move(to), std::move(others), slots, MoveOptions(), progress);
  const auto after = traffic->done + 100;
  while (traffic->done < after) co_await rt::yield();
  traffic->stop = true;
}

Task<> join(rt::Scope* scope) { co_await scope->join(); }

TEST_F(Moves, WhileClientsWrite) {
  const auto slots = SlotSet::range(4096, 4295);
  Traffic traffic;
  traffic.keys = keys_of(slots, 10);
  // Their own connections: what goes over the parties' is in order by itself.
  Links clients;
  clients.set_access(access_);
  Moved progress;
  {
    const std::vector<Party> others = {party(2), party(3)};
    rt::Scope scope;
    for (unsigned i = 0; i < 4; ++i) scope.spawn(write_on(&clients, home_, &traffic, i));
    scope.spawn(move_then_stop(party(1), party(0), others, slots, &progress, &traffic));
    loop_.run(join(&scope));
  }
  EXPECT_EQ(progress.trouble, "");
  EXPECT_EQ(progress.slots, 200U);
  EXPECT_GT(traffic.done, 200U);
  for (const auto& [key, value] : traffic.added) EXPECT_EQ(ask({"GET", key}).text, std::to_string(value)) << key;
  expect_owner(0, slots);
  // The replica has it all: that is what the move waited for.
  const auto master = at(0, {"INFO", "replication"}).text;
  EXPECT_THAT(master, HasSubstr("connected_slaves:1"));
}

Task<> some_time(rt::Duration time, rt::Scope* scope) {
  co_await rt::sleep(time);
  scope->cancel();
}

// Cancelled anywhere, and gone on with, in both directions.
TEST_F(Moves, GoOnWhereTheyWereCancelled) {
  const auto slots = SlotSet::range(4400, 4439);
  const auto keys = keys_of(slots, 5);
  set_all(keys);
  std::size_t cancelled = 0;
  for (unsigned seed = 0; seed < 24; ++seed) {
    std::mt19937 random(seed);
    const std::size_t from = seed % 2 == 0 ? 1 : 0;
    const std::size_t to = 1 - from;
    MoveOptions options;
    options.batch = 1 + random() % 20;
    options.keys_a_migrate = 1 + random() % 4;
    options.in_flight = 1 + random() % 3;
    const std::vector<Party> others = {party(2), party(3)};
    for (auto left = slots; !left.empty();) {
      // As the operator does: what the owner says is left. A mark for a slot that it gave away is taken off.
      const auto nodes = parse_cluster_nodes(at(from, {"CLUSTER", "NODES"}).text);
      ASSERT_TRUE(nodes);
      for (const auto& node : *nodes) {
        if (!node.myself) continue;
        left = slots & node.slots;
        for (const auto& open : node.open)
          if (!left.contains(open.slot)) at(from, {"CLUSTER", "SETSLOT", std::to_string(open.slot), "STABLE"});
      }
      if (left.empty()) break;
      Moved progress;
      rt::Scope scope;
      scope.spawn(move_slots(party(from), party(to), others, left, options, &progress));
      scope.spawn(some_time(std::chrono::microseconds(random() % 20'000), &scope));
      loop_.run(join(&scope));
      EXPECT_EQ(progress.trouble, "") << seed;
      ++cancelled;
    }
    ASSERT_NO_FATAL_FAILURE(expect_all(keys)) << seed;
    EXPECT_EQ(count(to, slots), static_cast<std::int64_t>(keys.size()));
    EXPECT_EQ(count(from, slots), 0);
  }
  expect_owner(1, slots);
  EXPECT_GT(cancelled, 24U);
}

// A MIGRATE whose answer was lost left its key on both nodes.
TEST_F(Moves, TheOwnersCopyIsTheNewerOne) {
  const auto slots = SlotSet::range(4500, 4502);
  const auto keys = keys_of(slots, 20);
  set_all(keys);
  for (const auto slot : slots.slots())
    ASSERT_EQ(at(0, {"CLUSTER", "SETSLOT", std::to_string(slot), "IMPORTING", id(1)}).text, "OK");
  for (std::size_t i = 0; i < keys.size(); i += 3) {
    const std::vector<Words> old = {{"ASKING"}, {"SET", keys[i], "old"}};
    ASSERT_EQ(all_at(0, old).back().text, "OK");
  }
  const auto moved = move(1, 0, slots);
  EXPECT_EQ(moved.trouble, "");
  EXPECT_EQ(moved.keys, keys.size());
  expect_all(keys);
  expect_owner(0, slots);
}

TEST_F(Moves, FinishWhatOnlyTheTargetKnows) {
  const auto slots = SlotSet::range(4600, 4610);
  const auto target = id(0);
  for (const auto slot : slots.slots()) {
    const auto number = std::to_string(slot);
    at(0, {"CLUSTER", "SETSLOT", number, "IMPORTING", id(1)});
    at(1, {"CLUSTER", "SETSLOT", number, "MIGRATING", target});
    if (slot % 2 == 0) at(0, {"CLUSTER", "SETSLOT", number, "NODE", target});
  }
  const auto moved = move(1, 0, slots);
  EXPECT_EQ(moved.trouble, "");
  EXPECT_EQ(moved.slots, slots.size());
  expect_owner(0, slots);
}

TEST_F(Moves, StopWhenToldTo) {
  const auto slots = SlotSet::range(4700, 4729);
  MoveOptions options;
  options.batch = 10;
  int asked = 0;
  options.go_on = [&asked] { return ++asked < 3; };
  const auto moved = move(1, 0, slots, options);
  EXPECT_EQ(moved.trouble, "");
  EXPECT_EQ(moved.slots, 20U);
  expect_owner(0, slots.first(20));
  expect_owner(1, slots - slots.first(20));
}

TEST_F(Moves, DoNothingWithSlotsOfOthers) {
  const auto slots = SlotSet::range(9000, 9001);  // of the third
  const auto keys = keys_of(slots, 3);
  set_all(keys);
  const auto moved = move(1, 0, slots);
  EXPECT_THAT(moved.trouble, HasSubstr("does not give slot 9000: ERR I'm not the owner"));
  EXPECT_EQ(moved.slots, 0U);
  expect_all(keys);
  for (const auto slot : slots.slots()) at(0, {"CLUSTER", "SETSLOT", std::to_string(slot), "STABLE"});
  expect_owner(2, slots);
}

TEST_F(Moves, NameTheKeyThatIsTooLarge) {
  const auto slots = SlotSet::range(4800, 4801);
  auto keys = keys_of(slots, 20);
  set_all(keys);
  const auto& huge = keys[7];
  Words fill = {"EVAL",
                "redis.call('DEL', KEYS[1]) for i = 1, 300000 do redis.call('ZADD', KEYS[1], i, 'member ' .. i) end",
                "1", huge};
  ASSERT_FALSE(ask(fill).is_error());
  MoveOptions options;
  options.migrate_timeout = 5ms;
  const auto stuck = move(1, 0, slots, options);
  EXPECT_THAT(stuck.trouble, HasSubstr("key \"" + huge + "\" of slot " + std::to_string(slot_of(huge))));
  EXPECT_THAT(stuck.trouble, HasSubstr("IOERR"));
  EXPECT_THAT(stuck.trouble, Not(HasSubstr(std::string(kPassword))));
  options.migrate_timeout = 20s;
  EXPECT_EQ(move(1, 0, slots, options).trouble, "");
  EXPECT_EQ(ask({"ZCARD", huge}).integer, 300'000);
  std::erase(keys, std::string(huge));
  expect_all(keys);
  expect_owner(0, slots);
}

// It thinks that a slot has no owner, until gossip tells it.
TEST_F(Moves, WaitForATargetThatDoesNotServeYet) {
  const auto slots = SlotSet::range(4900, 4902);
  const auto keys = keys_of(slots, 5);
  set_all(keys);
  ASSERT_EQ(at(0, {"CLUSTER", "DELSLOTS", "16000"}).text, "OK");
  ASSERT_THAT(at(0, {"CLUSTER", "INFO"}).text, HasSubstr("cluster_state:fail"));
  EXPECT_EQ(move(1, 0, slots).trouble, "");
  expect_all(keys);
  expect_owner(0, slots);
}

TEST_F(Moves, EndWhenTheReplicaHasNothing) {
  const auto slots = SlotSet::range(5000, 5019);
  const auto keys = keys_of(slots, 2);
  set_all(keys);
  MoveOptions options;
  options.batch = 10;
  options.replica_patience = 300ms;
  (*servers)[4].freeze();
  const auto moved = move(1, 0, slots, options);
  (*servers)[4].thaw();
  EXPECT_THAT(moved.trouble, HasSubstr("no replica of "));
  EXPECT_EQ(moved.slots, 10U);
  expect_owner(0, slots.first(10));
  EXPECT_EQ(move(1, 0, slots - slots.first(10)).trouble, "");
  expect_all(keys);
  expect_owner(0, slots);
}

TEST_F(Moves, EndWhenTheTargetIsSilent) {
  const auto slots = SlotSet::range(5100, 5104);
  const auto keys = keys_of(slots, 5);
  set_all(keys);
  MoveOptions options;
  options.migrate_timeout = 100ms;
  Moved progress;
  {
    auto impatient = access_;
    impatient.call_timeout = 300ms;
    links_.set_access(impatient);
    const std::vector<Party> others;
    rt::Scope scope;
    scope.spawn(move_slots(party(1), party(3), others, slots, options, &progress));
    (*servers)[3].freeze();
    loop_.run(join(&scope));
    (*servers)[3].thaw();
  }
  links_.set_access(access_);
  EXPECT_NE(progress.trouble, "");
  EXPECT_EQ(progress.slots, 0U);
  EXPECT_TRUE(testing::eventually([&] { return (*servers)[3].info("cluster_state") == "ok"; }));
  EXPECT_EQ(move(1, 3, slots).trouble, "");
  expect_all(keys);
  expect_owner(3, slots);
}

// Somebody closed slots too early.
TEST_F(Moves, RescueHiddenKeys) {
  const auto slots = SlotSet::range(5200, 5203);
  const auto keys = keys_of(slots, 30);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto number = std::to_string(slot_of(keys[i]));
    at(0, {"CLUSTER", "SETSLOT", number, "IMPORTING", id(1)});
    const auto value = i % 3 == 0 ? "old" : "value of " + keys[i];
    const std::vector<Words> hidden = {{"ASKING"}, {"SET", keys[i], value}};
    ASSERT_EQ(all_at(0, hidden).back().text, "OK");
    at(0, {"CLUSTER", "SETSLOT", number, "STABLE"});
    if (i % 3 == 0) ask({"SET", keys[i], "value of " + keys[i]});
  }
  const auto rescued = rescue(0, 1, slots);
  EXPECT_EQ(rescued.trouble, "");
  EXPECT_EQ(rescued.slots, 4U);
  expect_all(keys);
  expect_owner(1, slots);
  EXPECT_EQ(rescue(0, 1, slots).trouble, "");  // nothing to do
  EXPECT_THAT(rescue(1, 0, slots).trouble, HasSubstr("already the owner"));
  expect_all(keys);
}

// MIGRATE speaks TLS where the cluster does.
TEST(MovesOverTls, ArriveAsWell) {
  std::string pattern = std::filesystem::temp_directory_path() / "redis-move-XXXXXX";
  const std::string folder = ::mkdtemp(pattern.data());
  const auto ca = rt::make_ca("test");
  rt::CertificateSpec node;
  node.common_name = "node";
  node.dns_names = {"node.test"};
  const auto key = rt::issue(ca, node);
  testing::ServerOptions options;
  options.tls_ca = folder + "/ca";
  options.tls_cert = folder + "/cert";
  options.tls_key = folder + "/key";
  options.password = kPassword;
  std::ofstream(options.tls_ca) << ca.cert_pem;
  std::ofstream(options.tls_cert) << key.cert_pem;
  std::ofstream(options.tls_key) << key.key_pem;
  {
    testing::Servers servers(3, options);
    servers.form(3);
    rt::Loop loop;
    rt::TlsClientOptions client;
    client.ca_pem = ca.cert_pem;
    Access access;
    access.passwords = {std::string(kPassword)};
    access.tls = rt::TlsContext::client(client);
    access.tls_name = "node.test";
    Links links;
    links.set_access(access);
    std::vector<Party> parties;
    for (std::size_t i = 0; i < 3; ++i)
      parties.push_back(Party{servers[i].id(), loop.run(links.get(servers[i].address()))});
    const auto slots = SlotSet::range(0, 199);
    const auto keys = keys_of(slots, 2);
    std::string home = servers[0].address();
    for (const auto& name : keys) loop.run(ask_cluster(&links, &home, {"SET", name, name}));
    Moved progress;
    loop.run(move_slots(parties[0], parties[1], parties, slots, MoveOptions(), &progress));
    EXPECT_EQ(progress.trouble, "");
    EXPECT_EQ(progress.keys, keys.size());
    for (const auto& name : keys) EXPECT_EQ(loop.run(ask_cluster(&links, &home, {"GET", name})).text, name);
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace redis
