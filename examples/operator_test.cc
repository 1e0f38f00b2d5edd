// How an operator is tested: one that greets, and what its author wants to be sure of. Any test framework will do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/kopper.h"
#include "kopper/testing/cluster.h"

struct GreetingSpec {
  std::string text = "hello";
};
struct Greeting {
  static constexpr kopper::Kind kind{"example.com", "v1", "Greeting"};
  kopper::ObjectMeta metadata;
  GreetingSpec spec;
};

kopper::Task<kopper::Next> reconcile(kopper::Context<Greeting> greeting) {
  kopper::ConfigMap wanted;
  wanted.metadata.name = greeting->metadata.name;
  wanted.data["text"] = greeting->spec.text;
  co_await greeting.apply(wanted);
  co_return kopper::Next::wait();
}

kopper::ControllerSpec greeter() {
  return kopper::controller<Greeting>().owns<kopper::ConfigMap>().reconcile(reconcile);
}

bool says_hi(const kopper::ConfigMap& it) { return it.data.at("text") == "hi"; }

TEST(Greeter, PutsBackWhatOthersChangeWhateverGoesWrong) {
  kopper::testing::Cluster cluster(greeter());
  cluster.apply("{apiVersion: example.com/v1, kind: Greeting, metadata: {name: a}, spec: {text: hi}}");
  cluster.until<kopper::ConfigMap>("a", says_hi);

  cluster.faults().add({.match = {.verbs = {"patch"}, .resource = "configmaps"}, .status = 409, .times = 2});
  cluster.faults().add({.effect = kopper::plane::FaultEffect::HangUp, .onlyOpen = true});  // all watches
  cluster.modify<kopper::ConfigMap>("a", [](kopper::ConfigMap& it) { it.data["text"] = "bye"; });
  cluster.until<kopper::ConfigMap>("a", says_hi);

  (void)cluster.writes();
  cluster.advance(std::chrono::hours(11));  // a resync, and watches that ended and began again
  EXPECT_THAT(cluster.writes(), testing::IsEmpty());
}
