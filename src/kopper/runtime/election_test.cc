#include "kopper/runtime/election.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/metrics/metrics.h"
#include "kopper/runtime/test_lease_server.h"

namespace kopper::runtime {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::MatchesRegex;

// One process that would lead.
struct Candidate {
  Candidate(LeaseServer& server, std::string identity, metrics::Registry* metrics = nullptr)
      : line(server.line()), election(client::Client(line, client::ClientOptions{.max_retries = 0}), [&] {
          ElectionOptions options;
          options.namespace_ = "system";
          options.name = "operator";
          options.identity = std::move(identity);
          options.on_leader = [this](const std::string& leader) { leaders.push_back(leader); };
          options.metrics = metrics;
          return options;
        }()) {}

  void campaign() { tasks.spawn(run()); }
  Task<> run() {
    co_await election.campaign();
    ++terms;
    co_await election.lost();
    ++losses;
  }

  std::shared_ptr<LeaseServer::Line> line;
  std::vector<std::string> leaders;
  int terms = 0;
  int losses = 0;
  Election election;
  rt::Scope tasks;
};

struct ElectionTest : testing::Test {
  std::string_view holder() const { return server.lease["spec"].text("holderIdentity"); }

  rt::Loop loop{rt::ClockMode::Manual};
  LeaseServer server;
  metrics::Registry metrics;
  Candidate a{server, "a", &metrics};
  Candidate b{server, "b"};
};

TEST_F(ElectionTest, TheFirstLeadsAndRenewsWithoutReading) {
  a.campaign();
  loop.poll();
  EXPECT_TRUE(a.election.is_leader());
  EXPECT_EQ(holder(), "a");
  EXPECT_EQ(server.lease["spec"].text("acquireTime"), "2026-01-01T00:00:00.000000Z");
  const auto reads = a.line->count("GET");
  loop.advance(60s);
  EXPECT_TRUE(a.election.is_leader());
  EXPECT_EQ(a.line->count("GET"), reads);
  EXPECT_EQ(a.line->count("PUT"), 30U);
  EXPECT_EQ(server.lease["spec"].text("acquireTime"), "2026-01-01T00:00:00.000000Z");
  EXPECT_EQ(server.lease["spec"].text("renewTime"), "2026-01-01T00:01:00.000000Z");
  EXPECT_EQ(server.lease["spec"]["leaseTransitions"], json::Value(0));
  EXPECT_THAT(a.leaders, ElementsAre("a"));
  EXPECT_THAT(metrics.text(), HasSubstr("leader_election_master_status{name=\"operator\"} 1\n"));
}

TEST_F(ElectionTest, AStandbyTakesOverWhenTheLeaseExpires) {
  a.campaign();
  loop.poll();
  b.campaign();
  loop.advance(60s);
  EXPECT_FALSE(b.election.is_leader());
  EXPECT_THAT(b.leaders, ElementsAre("a"));
  a.line->cut = true;  // dead, or cut off: the same for the others
  loop.advance(10s);   // the last renewal was at 60 s
  EXPECT_FALSE(a.election.is_leader());
  EXPECT_EQ(a.losses, 1);
  loop.advance(4999ms);
  EXPECT_FALSE(b.election.is_leader());
  loop.advance(1ms);
  EXPECT_TRUE(b.election.is_leader());
  EXPECT_EQ(b.election.term(), 1);
  EXPECT_THAT(b.leaders, ElementsAre("a", "b"));
  EXPECT_THAT(metrics.text(), HasSubstr("leader_election_master_status{name=\"operator\"} 0\n"));
}

TEST_F(ElectionTest, AReleasedLeaseIsTakenAtOnce) {
  a.campaign();
  loop.poll();
  b.campaign();
  loop.advance(5s);
  loop.run(a.election.release());
  EXPECT_FALSE(a.election.is_leader());
  EXPECT_EQ(a.losses, 1);
  loop.poll();  // no time passes
  EXPECT_TRUE(b.election.is_leader());
  EXPECT_EQ(b.election.term(), 1);
}

TEST_F(ElectionTest, WithoutAWatchItAsks) {
  b.line->watchable = false;
  a.campaign();
  loop.poll();
  b.campaign();
  loop.advance(5s);
  loop.run(a.election.release());
  loop.advance(4400ms);  // the retry period with all of its jitter
  EXPECT_TRUE(b.election.is_leader());
}

TEST_F(ElectionTest, WhoIsReleasedMayCampaignAgain) {
  a.campaign();
  loop.poll();
  loop.run(a.election.release());
  loop.run(a.election.release());  // nothing to do
  EXPECT_EQ(holder(), "");
  EXPECT_EQ(server.lease["spec"]["leaseDurationSeconds"], json::Value(1));
  a.campaign();
  loop.poll();
  EXPECT_TRUE(a.election.is_leader());
  EXPECT_EQ(a.election.term(), 1);
}

TEST_F(ElectionTest, ReleasingGoesThroughConflicts) {
  a.campaign();
  loop.poll();
  auto spec = server.lease["spec"];
  server.put(spec);  // another version
  loop.run(a.election.release());
  EXPECT_EQ(holder(), "");
}

TEST_F(ElectionTest, ReleasingLeavesTheLeaseOfAnother) {
  a.campaign();
  loop.poll();
  server.put(json::Object{{"holderIdentity", "c"}});
  loop.run(a.election.release());
  EXPECT_EQ(holder(), "c");
}

TEST_F(ElectionTest, ReleasingGivesUpWhenTheServerIsAway) {
  a.campaign();
  loop.poll();
  a.line->deaf = true;
  rt::Scope scope;
  scope.spawn(a.election.release());
  loop.advance(5s);
  EXPECT_TRUE(scope.empty());
}

TEST_F(ElectionTest, AConflictTakesTheSlowPath) {
  a.campaign();
  loop.poll();
  auto spec = server.lease["spec"];
  spec["somethingNew"] = "kept";
  server.put(spec);
  loop.advance(2s);
  EXPECT_TRUE(a.election.is_leader());
  EXPECT_THAT(metrics.text(), HasSubstr("leader_election_slowpath_total{name=\"operator\"} 1\n"));
  EXPECT_EQ(server.lease["spec"].text("somethingNew"), "kept");
  EXPECT_EQ(server.lease["spec"].text("renewTime"), "2026-01-01T00:00:02.000000Z");
}

TEST_F(ElectionTest, ALeaseInOtherHandsIsLostAtOnce) {
  a.campaign();
  loop.poll();
  server.put(json::Object{{"holderIdentity", "c"}, {"leaseDurationSeconds", 15}});
  loop.advance(2s);
  EXPECT_FALSE(a.election.is_leader());
  EXPECT_EQ(a.losses, 1);
  EXPECT_EQ(a.election.leader(), "c");
}

TEST_F(ElectionTest, ADeletedLeaseIsMadeAgain) {
  a.campaign();
  loop.poll();
  b.campaign();
  loop.advance(1s);
  server.remove();
  loop.advance(60s);
  EXPECT_EQ(holder(), "a");
  EXPECT_TRUE(a.election.is_leader());
  EXPECT_EQ(a.losses, 0);
}

TEST_F(ElectionTest, AServerThatDoesNotAnswerLosesTheLease) {
  a.campaign();
  loop.poll();
  loop.advance(4s);
  a.line->deaf = true;  // renewals arrive, but we do not know
  loop.advance(9999ms);
  EXPECT_TRUE(a.election.is_leader());
  loop.advance(1ms);
  EXPECT_FALSE(a.election.is_leader());
  EXPECT_EQ(a.losses, 1);
}

TEST_F(ElectionTest, AShortOutageIsSurvived) {
  a.campaign();
  loop.poll();
  a.line->cut = true;
  loop.advance(7s);
  EXPECT_THAT(a.election.problem(), HasSubstr("connection refused"));
  a.line->cut = false;
  loop.advance(60s);
  EXPECT_EQ(a.election.problem(), "");
  EXPECT_TRUE(a.election.is_leader());
  EXPECT_EQ(a.losses, 0);
}

TEST_F(ElectionTest, CampaigningGoesOnThroughErrors) {
  a.line->cut = true;
  a.campaign();
  loop.advance(10min);
  EXPECT_FALSE(a.election.is_leader());
  a.line->cut = false;
  loop.advance(4400ms);
  EXPECT_TRUE(a.election.is_leader());
}

// What is not known while it happens: the clock moves on though no code of ours runs.
TEST_F(ElectionTest, IsLeaderGoesByTheClockAlone) {
  a.campaign();
  loop.poll();
  a.line->cut = true;
  bool still = true;
  struct Probe final : rt::Timer {
    Probe(Election& e, bool& s) : election(e), still(s) { arm_in(10s); }
    void on_timer() override { still = election.is_leader(); }
    Election& election;
    bool& still;
  } probe(a.election, still);  // armed before the deadline's own timer: fires first
  loop.advance(10s);
  EXPECT_FALSE(still);
}

TEST(Election, NeedsAName) {
  const rt::Loop loop{rt::ClockMode::Manual};
  LeaseServer server;
  EXPECT_THROW(Election(client::Client(server.line()), ElectionOptions{.namespace_ = "a"}), Error);
  EXPECT_THROW(Election(client::Client(server.line()), ElectionOptions{.name = "a"}), Error);
}

TEST(Election, IdentitiesAreUniqueAndTellTheHost) {
  const auto one = make_identity();
  EXPECT_THAT(one, MatchesRegex(".+_[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"));
  EXPECT_NE(one, make_identity());
}

TEST(Election, OldLocksMeanALease) {
  EXPECT_FALSE(check_resource_lock("leases"));
  for (const auto* old : {"configmaps", "endpoints", "configmapsleases", "endpointsleases"})
    EXPECT_THAT(check_resource_lock(old).value_or(""), HasSubstr("a Lease is used instead"));
  EXPECT_THROW(check_resource_lock("etcd"), Error);
}

}  // namespace
}  // namespace kopper::runtime
