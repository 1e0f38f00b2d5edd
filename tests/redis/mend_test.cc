#include "operators/redis/mend.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/rt/scope.h"

#include "operators/redis/act.h"
#include "operators/redis/observe.h"
#include "redis/invariants.h"
#include "redis/servers.h"

// What simulations show of mend(), shown of real servers.

namespace redis {
namespace {

using kopper::Task;
using ::testing::Contains;
using ::testing::HasSubstr;
namespace rt = kopper::rt;
using namespace std::chrono_literals;

struct Quiet {
  bool reached = false;
  std::vector<std::string> notes;
  std::string last;  // what kept it from being quiet
};

// Looks and mends until there is nothing to mend and all who answer agree.
Task<Quiet> mend_until_quiet(Links* links, std::vector<PodFacts> pods) {
  Quiet out;
  for (int look = 0; look < 300 && !out.reached; ++look) {
    auto model = co_await observe(*links, pods, true);
    auto mending = mend(*model, true);
    bool well = true;
    for (const auto& node : model->nodes) well = well && (!node.answers() || node.state_ok);
    out.reached = mending.empty() && model->disagreed.empty() && well;
    if (out.reached) break;
    out.notes.insert(out.notes.end(), mending.notes.begin(), mending.notes.end());
    out.last = mending.waiting;
    Decision decision;
    decision.commands = std::move(mending.commands);
    decision.moves = std::move(mending.moves);
    decision.rescues = std::move(mending.rescues);
    const ActOptions options;
    const auto acted = co_await act(*links, model, std::move(decision), options);
    for (const auto& trouble : acted.troubles) out.last += " " + trouble;
    co_await rt::sleep(100ms);
  }
  co_return out;
}

// Three masters and a replica of each: server i + 3 follows i. Slots 0-5460, 5461-10922, 10923-16383.
class MendReal : public ::testing::Test {
 protected:
  MendReal() : servers(6) {
    servers.form(3);
    for (std::size_t i = 0; i < servers.size(); ++i) ids.push_back(servers[i].id());
  }

  void setslot(std::size_t server, std::size_t slot, const std::string& what, const std::string& id = "") {
    std::vector<std::string> words = {"CLUSTER", "SETSLOT", std::to_string(slot), what};
    if (!id.empty()) words.push_back(id);
    const auto answer = servers[server].call(words);
    ASSERT_TRUE(answer.is_text("OK")) << answer.str();
  }
  void open(std::size_t from, std::size_t to, std::size_t slot) {
    setslot(to, slot, "IMPORTING", ids[from]);
    setslot(from, slot, "MIGRATING", ids[to]);
  }
  static std::string key(std::size_t slot, int number) {
    std::size_t tag = 0;
    while (slot_of(std::to_string(tag)) != slot) ++tag;
    return "{" + std::to_string(tag) + "}" + std::to_string(number);
  }
  // On the server itself, which owns the slot.
  void write(std::size_t server, std::size_t slot, int number, const std::string& value) {
    const auto answer = servers[server].call({"SET", key(slot, number), value});
    ASSERT_TRUE(answer.is_text("OK")) << answer.str();
    expected[key(slot, number)] = value;
  }
  void fill(std::size_t server, std::size_t slot) {
    for (int i = 0; i < 20; ++i) write(server, slot, i, "old");
  }
  void migrate(std::size_t from, std::size_t to, std::size_t slot, int number) {
    const auto answer = servers[from].call({"MIGRATE", servers[to].address(), "6379", key(slot, number), "0", "1000"});
    ASSERT_TRUE(answer.is_text("OK")) << answer.str();
  }
  std::int64_t count(std::size_t server, std::size_t slot) {
    return servers[server].call({"CLUSTER", "COUNTKEYSINSLOT", std::to_string(slot)}).integer;
  }
  // Until its replica has what it wrote.
  void replicate(std::size_t master) {
    ASSERT_TRUE(testing::eventually([&] { return servers[master].call({"WAIT", "1", "1000"}).integer == 1; }));
  }
  void kill_and_wait_for_heir(std::size_t master) {
    servers[master].kill();
    ASSERT_TRUE(testing::eventually([&] { return servers[master + 3].info("role") == "master"; }));
  }

  std::vector<std::string> mend_all() {
    std::vector<PodFacts> pods;
    for (std::size_t i = 0; i < servers.size(); ++i) {
      pods.push_back({.name = "demo-" + std::to_string(i),
                      .ordinal = static_cast<int>(i),
                      .address = servers[i].address(),
                      .ready = true});
    }
    const auto quiet = loop.run(mend_until_quiet(&links, pods));
    EXPECT_TRUE(quiet.reached) << quiet.last;
    return quiet.notes;
  }
  void expect_all() {
    std::size_t any = 0;
    while (!servers[any].runs()) ++any;
    for (const auto& [name, value] : expected) EXPECT_EQ(servers[any].cli({"-c", "GET", name}), value) << name;
    for (std::size_t i = 0; i < servers.size(); ++i) {
      if (!servers[i].runs()) servers[i].start();
    }
    EXPECT_EQ(testing::wait_for_invariants([&] { return servers.addresses(); }), "");
    for (const auto& [name, value] : expected) EXPECT_EQ(servers[any].cli({"-c", "GET", name}), value) << name;
  }

  testing::Servers servers;
  std::vector<std::string> ids;
  std::map<std::string, std::string> expected;
  rt::Loop loop;
  Links links;
};

TEST_F(MendReal, MarksOfEveryKind) {
  // 100: cut short; one key was written at the source since, one has got a stale copy at the receiver.
  fill(0, 100);
  open(0, 1, 100);
  for (int i = 0; i < 10; ++i) migrate(0, 1, 100, i);
  ASSERT_TRUE(
      servers[0].call({"MIGRATE", servers[1].address(), "6379", key(100, 15), "0", "1000", "COPY"}).is_text("OK"));
  write(0, 100, 15, "new");
  // 101, 102: half opened. 103: towards itself.
  fill(0, 102);
  setslot(1, 101, "IMPORTING", ids[0]);
  setslot(0, 102, "MIGRATING", ids[1]);
  setslot(0, 103, "MIGRATING", ids[0]);
  // 104: closed too early by hand. Keys are hidden, and clients have written one of them anew.
  fill(0, 104);
  open(0, 1, 104);
  for (int i = 0; i < 10; ++i) migrate(0, 1, 104, i);
  setslot(1, 104, "STABLE");
  setslot(0, 104, "STABLE");
  write(0, 104, 3, "new");
  // 105: half closed.
  open(0, 1, 105);
  setslot(1, 105, "NODE", ids[1]);
  // 106: two import it, the owner gives it to neither.
  fill(0, 106);
  setslot(1, 106, "IMPORTING", ids[0]);
  setslot(2, 106, "IMPORTING", ids[1]);
  // 107: the receiver lost its mark.
  fill(0, 107);
  open(0, 2, 107);
  for (int i = 0; i < 10; ++i) migrate(0, 2, 107, i);
  setslot(2, 107, "STABLE");

  const auto notes = mend_all();
  EXPECT_EQ(count(1, 100), 20);
  EXPECT_EQ(count(0, 104), 20);
  EXPECT_EQ(count(1, 104), 0);
  EXPECT_EQ(count(0, 106), 20);
  EXPECT_EQ(count(2, 107), 20);
  EXPECT_THAT(notes, Contains("slot 104: demo-1 has keys that clients can not find; they go to demo-0"));
  expect_all();
}

TEST_F(MendReal, SourceDiesMidway) {
  fill(0, 200);
  fill(0, 201);
  open(0, 1, 200);
  open(0, 1, 201);
  for (int i = 0; i < 10; ++i) migrate(0, 1, 200, i);
  replicate(0);
  replicate(1);
  kill_and_wait_for_heir(0);
  EXPECT_TRUE(testing::eventually([&] { return servers[1].info("cluster_state") == "fail"; }))
      << "it does not believe that there is another owner";
  write(3, 200, 4, "new");  // it is missing there
  const auto notes = mend_all();
  EXPECT_THAT(notes, Contains(HasSubstr("slot 200: the owner was lost on the way to demo-1")));
  EXPECT_EQ(count(1, 200), 20);
  EXPECT_EQ(count(3, 201), 20);
  expect_all();
}

TEST_F(MendReal, TargetDiesMidway) {
  fill(0, 300);
  open(0, 1, 300);
  for (int i = 0; i < 10; ++i) migrate(0, 1, 300, i);
  replicate(0);
  replicate(1);
  kill_and_wait_for_heir(1);
  const auto notes = mend_all();
  EXPECT_THAT(notes, Contains("slot 300: the receiver was lost; the move from demo-0 goes on to demo-4"));
  EXPECT_EQ(count(4, 300), 20);
  expect_all();
}

TEST_F(MendReal, ARestartOpensHiddenKeys) {
  fill(0, 400);
  open(0, 1, 400);
  for (int i = 0; i < 10; ++i) migrate(0, 1, 400, i);
  setslot(0, 400, "STABLE");
  setslot(1, 400, "STABLE");
  replicate(1);
  servers[1].stop();
  servers[1].start();
  EXPECT_THAT(servers[1].cli({"cluster", "nodes"}), HasSubstr("[400-<-" + ids[0] + "]"));
  mend_all();
  EXPECT_EQ(count(0, 400), 20);
  expect_all();
}

}  // namespace
}  // namespace redis
