// Two real processes, one real server: who leads, and that never two do.
#include <csignal>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/api/gen/coordination_v1.h"
#include "kopper/rt/file.h"
#include "kopper/rt/process.h"

#include "real/connect.h"

namespace kopper::testing {
namespace {

using namespace std::chrono_literals;
using api::coordinationv1::Lease;

struct LeaderElection : Real {
  void SetUp() override {
    Real::SetUp();
    run(client.of<ConfigMap>().create(config_map("log")));
  }
  void TearDown() override {
    a.reset();
    b.reset();
    std::filesystem::remove(output("a"));
    std::filesystem::remove(output("b"));
  }

  std::string output(const std::string& identity) const {
    return std::filesystem::temp_directory_path() / (ns + "-" + identity);
  }
  std::string said(const std::string& identity) const { return rt::read_file(output(identity)); }

  std::unique_ptr<rt::Process> start(const std::string& identity) {
    rt::ProcessSpec spec;
    spec.argv = {KOPPER_ELECTION_CANDIDATE, cluster().kubeconfig(), ns, identity};
    spec.output_file = output(identity);
    return std::make_unique<rt::Process>(spec);
  }
  std::vector<std::string> lines() {
    const auto log = run(client.of<ConfigMap>().get(key("log")));
    const auto found = log.data.find("lines");
    std::istringstream text(found == log.data.end() ? "" : found->second);
    std::vector<std::string> all;
    for (std::string line; std::getline(text, line);) all.push_back(line);
    return all;
  }
  template <class Condition>
  void wait_until(Condition condition) {
    const auto end = loop.now() + 2min;
    while (!condition()) {
      ASSERT_LT(loop.now(), end) << "a says:\n" << said("a") << "b says:\n" << said("b");
      run(rt::sleep(50ms));
    }
  }
  // A leads and writes, b stands by and knows it.
  void start_both() {
    a = start("a");
    wait_until([&] { return !lines().empty(); });
    b = start("b");
    wait_until([&] { return said("b").contains("new leader"); });
  }
  void wait_for_writes(const std::string& identity, std::size_t more) {
    const auto from = lines().size();
    wait_until([&] {
      const auto all = lines();
      return all.size() >= from + more && all.back().starts_with(identity + " ");
    });
  }
  Lease lease() { return run(client.of<Lease>().get(key("operator"))); }

  // One holder a term, and no term comes back: no two ever wrote at the same time.
  void expect_fenced() {
    std::map<int, std::string> holders;
    int last = 0;
    for (const auto& line : lines()) {
      std::istringstream text(line);
      std::string holder;
      int term = 0;
      text >> holder >> term;
      EXPECT_GE(term, last) << line;
      last = term;
      EXPECT_EQ(holders.try_emplace(term, holder).first->second, holder) << line;
    }
    EXPECT_GE(holders.size(), 2U);
  }

  std::unique_ptr<rt::Process> a;
  std::unique_ptr<rt::Process> b;
};

TEST_F(LeaderElection, AKilledLeaderIsFollowedWithinTheLease) {
  start_both();
  a->signal(SIGKILL);
  run(a->wait());
  const auto before = lease().spec;
  EXPECT_EQ(before.holderIdentity, "a");
  wait_for_writes("b", 5);
  const auto after = lease().spec;
  EXPECT_EQ(after.holderIdentity, "b");
  EXPECT_EQ(after.leaseTransitions, 1);
  const auto gap = after.acquireTime.point() - before.renewTime.point();
  EXPECT_GE(gap, 15s) << "not before the lease ends";
  EXPECT_LE(gap, 17s) << "and as soon as it does";
  RecordProperty("seconds", std::to_string(std::chrono::duration<double>(gap).count()));
  expect_fenced();
}

TEST_F(LeaderElection, AStoppedLeaderIsFollowedWithinASecond) {
  start_both();
  const auto asked = std::chrono::system_clock::now();
  a->signal(SIGTERM);
  EXPECT_TRUE(run(a->wait()).ok()) << said("a");
  wait_for_writes("b", 5);
  const auto gap = lease().spec.acquireTime.point() - asked;
  EXPECT_LE(gap, 1s);
  RecordProperty("seconds", std::to_string(std::chrono::duration<double>(gap).count()));
  expect_fenced();
}

TEST_F(LeaderElection, HardCase15_APausedLeaderNeverWritesBesideTheNext) {
  start_both();
  a->signal(SIGSTOP);
  wait_for_writes("b", 5);
  a->signal(SIGCONT);
  wait_until([&] { return said("a").contains("leading no more"); });
  wait_for_writes("b", 20);
  // And back again.
  b->signal(SIGSTOP);
  wait_for_writes("a", 5);
  b->signal(SIGCONT);
  wait_until([&] { return said("b").contains("leading no more"); });
  wait_for_writes("a", 20);
  expect_fenced();
}

}  // namespace
}  // namespace kopper::testing
