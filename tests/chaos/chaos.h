#pragma once

#include <cstdlib>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/base/log.h"
#include "kopper/testing/cluster.h"

namespace chaos {

// KOPPER_CHAOS_SEEDS=500 looks further than every build can afford to.
inline auto seeds() {
  const char* more = std::getenv("KOPPER_CHAOS_SEEDS");
  return testing::Range(1U, 1U + (more == nullptr ? 8U : static_cast<unsigned>(std::strtoul(more, nullptr, 10))));
}

using kopper::plane::Fault;
using kopper::plane::FaultEffect;

// People change things, requests fail, watches break, the operator is restarted, in any order. When all is well again,
// everything is as the objects say, and nothing more is written. The parameter is the seed.
class Chaos : public testing::TestWithParam<unsigned> {
 protected:
  Chaos(kopper::runtime::ControllerSpec controller, std::vector<std::string> resources)
      : resources_(std::move(resources)), cluster_({std::move(controller)}, options()) {
    kopper::log::configure(
        {.level = kopper::log::Level::Error, .format = kopper::log::Format::Human, .sink = [](std::string_view) {}});
  }
  ~Chaos() override { kopper::log::configure(kopper::log::Options()); }

  // Somebody changes something.
  virtual void people() = 0;
  virtual bool is_right() = 0;
  // What holds at any time.
  virtual void expect_safe() {}

  void run() {
    for (int i = 0; i < 60 && !HasFailure(); ++i) {
      step();
      expect_safe();
    }
    cluster_.faults().clear();
    cluster_.until("all is as the objects say", [this] { return is_right(); });
    cluster_.advance(std::chrono::hours(1));  // what was tried in vain is tried once more
    (void)cluster_.writes();
    cluster_.advance(std::chrono::hours(11));
    EXPECT_THAT(cluster_.writes(), testing::IsEmpty());
    EXPECT_TRUE(is_right());
  }

  int any(int below) { return std::uniform_int_distribution<int>(0, below - 1)(random_); }
  template <class T>
  const T& any_of(const std::vector<T>& things) {
    return things.at(static_cast<std::size_t>(any(static_cast<int>(things.size()))));
  }

 private:
  // An operator that is not told of an end makes what the garbage collector deletes, again and again: slowly, please.
  static kopper::testing::ClusterOptions options() {
    kopper::testing::ClusterOptions out;
    out.burst = 100;
    out.qps = 5;
    out.patience = std::chrono::hours(1);  // more than the longest back-off
    return out;
  }

  void step() {
    switch (any(10)) {
      case 0:
      case 1: return cluster_.faults().add(any_fault());
      case 2: return cluster_.faults().clear();
      case 3:
      case 4: return cluster_.advance(std::chrono::milliseconds(any(300'000)));
      case 5:
        if (any(2) == 0) cluster_.restart();
        return;
      default: return people();
    }
  }

  Fault any_fault() {
    static const std::vector<std::vector<std::string>> kVerbs{{}, {"patch", "create", "delete"}, {"watch"}, {"list"}};
    static const std::vector<int> kStatuses{400, 401, 403, 404, 409, 410, 422, 429, 500, 503, 504};
    static const std::vector<FaultEffect> kEffects{FaultEffect::Refuse, FaultEffect::Refuse,  FaultEffect::HangUp,
                                                   FaultEffect::Lose,   FaultEffect::Silence, FaultEffect::Expire,
                                                   FaultEffect::Stale,  FaultEffect::Pass};
    Fault out;
    out.match.verbs = any_of(kVerbs);
    if (any(3) > 0) out.match.resource = any_of(resources_);
    out.effect = any_of(kEffects);
    out.status = any_of(kStatuses);
    out.retryAfterSeconds = any(3) * 5;
    out.delayMilliseconds = any(2) * any(100'000);
    out.times = any(5);
    out.onlyOpen = (out.effect == FaultEffect::HangUp || out.effect == FaultEffect::Expire) && any(2) == 0;
    return out;
  }

  std::mt19937 random_{GetParam()};
  const std::vector<std::string> resources_;

 protected:
  kopper::testing::Cluster cluster_;
};

}  // namespace chaos
