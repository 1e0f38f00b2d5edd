// People change things, requests fail, watches break, the operator is restarted, in any order. When all is well again,
// everything is as the objects say, and nothing more is written.
#include <map>
#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/base/log.h"
#include "kopper/testing/cluster.h"

#include "operators/memcached/types.h"

namespace {

using namespace std::chrono_literals;
using kopper::Deployment;
using kopper::plane::Fault;
using kopper::plane::FaultEffect;
using memcached::Memcached;
using testing::IsEmpty;

class Chaos : public testing::TestWithParam<unsigned> {
 protected:
  Chaos() {
    kopper::log::configure(
        {.level = kopper::log::Level::Error, .format = kopper::log::Format::Human, .sink = [](std::string_view) {}});
  }
  ~Chaos() override { kopper::log::configure(kopper::log::Options()); }

  int any(int below) { return std::uniform_int_distribution<int>(0, below - 1)(random_); }
  std::string any_name() { return fmt::format("demo-{}", any(4)); }

  Fault any_fault() {
    static const std::vector<std::vector<std::string>> kVerbs{{}, {"patch"}, {"watch"}, {"list"}, {"get"}};
    static const std::vector<std::string> kResources{"", "deployments", "memcacheds", "memcacheds/status", "pods"};
    static const std::vector<int> kStatuses{400, 401, 403, 404, 409, 410, 422, 429, 500, 503, 504};
    static const std::vector<FaultEffect> kEffects{FaultEffect::Refuse, FaultEffect::Refuse,  FaultEffect::HangUp,
                                                   FaultEffect::Lose,   FaultEffect::Silence, FaultEffect::Expire,
                                                   FaultEffect::Stale,  FaultEffect::Pass};
    Fault out;
    out.match.verbs = kVerbs[any(static_cast<int>(kVerbs.size()))];
    out.match.resource = kResources[any(static_cast<int>(kResources.size()))];
    out.effect = kEffects[any(static_cast<int>(kEffects.size()))];
    out.status = kStatuses[any(static_cast<int>(kStatuses.size()))];
    out.retryAfterSeconds = any(3) * 5;
    out.delayMilliseconds = any(2) * any(100'000);
    out.times = any(5);
    out.onlyOpen = (out.effect == FaultEffect::HangUp || out.effect == FaultEffect::Expire) && any(2) == 0;
    return out;
  }

  void step() {
    switch (any(10)) {
      case 0:
      case 1: return cluster_.faults().add(any_fault());
      case 2: return cluster_.faults().clear();
      case 3:
      case 4: return resize(any_name(), any(6));
      case 5: return remove(any_name());
      case 6: return drift(any_name());
      case 7: cluster_.remove<Deployment>(any_name()); return;
      case 8: return cluster_.advance(std::chrono::milliseconds(any(300'000)));
      default:
        if (any(3) == 0) cluster_.restart();
    }
  }
  void resize(const std::string& name, std::int32_t size) {
    Memcached wanted;
    wanted.metadata.name = name;
    wanted.spec.size = size;
    cluster_.apply(wanted);
    sizes_[name] = size;
  }
  void remove(const std::string& name) {
    cluster_.remove<Memcached>(name);
    sizes_.erase(name);
  }
  void drift(const std::string& name) {
    if (!cluster_.find<Deployment>(name)) return;
    cluster_.modify<Deployment>(name, [this](Deployment& it) {
      it.spec.replicas = 10 + any(10);
      it.spec.template_.spec.containers.at(0).image = "evil:1";
    });
  }

  bool is_right() {
    const auto found = cluster_.list<Deployment>();
    if (found.size() != sizes_.size()) return false;
    return std::ranges::all_of(found, [&](const Deployment& it) {
      const auto wanted = sizes_.find(it.metadata.name);
      if (wanted == sizes_.end()) return false;
      const auto mc = cluster_.get<Memcached>(it.metadata.name);
      return it.spec.replicas == wanted->second &&
             it.spec.template_.spec.containers.at(0).image == "memcached:1.6-alpine" &&
             kopper::api::is_controlled_by(it.metadata, mc.metadata.uid) &&
             mc.status.observedGeneration == mc.metadata.generation;
    });
  }

  // An operator that is not told of an end makes what the garbage collector deletes, again and again: slowly, please.
  static kopper::testing::ClusterOptions options() {
    kopper::testing::ClusterOptions out;
    out.burst = 100;
    out.qps = 5;
    return out;
  }

  std::mt19937 random_{GetParam()};
  std::map<std::string, std::int32_t> sizes_;
  kopper::testing::Cluster cluster_{{memcached::memcached()}, options()};
};

TEST_P(Chaos, EndsInOrder) {
  for (int i = 0; i < 60; ++i) step();
  cluster_.faults().clear();
  cluster_.until("all is as the objects say", [this] { return is_right(); });
  cluster_.advance(20min);  // what was tried in vain is tried once more
  (void)cluster_.writes();
  cluster_.advance(11h);
  EXPECT_THAT(cluster_.writes(), IsEmpty());
  EXPECT_TRUE(is_right());
}

INSTANTIATE_TEST_SUITE_P(Seeds, Chaos, testing::Range(1U, 9U));

}  // namespace
