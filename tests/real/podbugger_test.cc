// The Podbuggertool operator against a real server: a new one, which shows the pod at its subresource, and 1.20, which
// has a kind of its own there.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operators/podbugger/types.h"
#include "real/operated.h"

namespace kopper::testing {
namespace {

using podbugger::Podbuggertool;
using ::testing::HasSubstr;

struct PodbuggerOperator : Operated {
  void SetUp() override {
    Operated::SetUp();
    install(meta::crd<Podbuggertool>());
  }
  void start() { Operated::start(podbugger::podbugger()); }

  void create(std::string name, std::string label, std::string image = "busybox") {
    Podbuggertool tool;
    tool.metadata.name = std::move(name);
    tool.metadata.namespace_ = ns;
    tool.spec.label = std::move(label);
    tool.spec.image = std::move(image);
    run(client.of<Podbuggertool>().create(tool));
  }
  Podbuggertool get(const std::string& name) { return run(client.of<Podbuggertool>().get(key(name))); }
  // Nobody runs pods here: the status is what the node would say.
  void create_pod(std::string name, Labels labels, std::string phase = "Running") {
    Pod pod;
    pod.metadata.name = std::move(name);
    pod.metadata.namespace_ = ns;
    pod.metadata.labels = std::move(labels);
    pod.spec.containers.push_back({.name = "main", .image = "nginx"});
    auto made = run(client.of<Pod>().create(pod));
    made.status.phase = std::move(phase);
    client::WriteOptions status;
    status.subresource = "status";
    ASSERT_TRUE(run(client.of<Pod>().update(made, status)));
  }
  std::vector<std::string> tools_in(const std::string& pod) {
    std::vector<std::string> images;
    for (const auto& container : run(client.of<Pod>().get(key(pod))).spec.ephemeralContainers) {
      images.push_back(container.image);
    }
    return images;
  }
};

TEST_F(PodbuggerOperator, InstallsInPodsThatAreThereAndThatCome) {
  create_pod("there", {{"app", "web"}});
  create_pod("other", {{"app", "db"}});
  create("demo", "app=web");
  start();
  wait_until("the one that is there", [&] { return tools_in("there").size() == 1; });
  create_pod("comes", {{"app", "web"}});
  wait_until("the one that comes", [&] { return tools_in("comes").size() == 1; });
  EXPECT_TRUE(tools_in("other").empty());
  wait_until("a status", [&] { return get("demo").status.installed == 2; });
  const auto status = get("demo").status;
  EXPECT_EQ(status.matched, 2);
  EXPECT_EQ(status.failed, 0);
  EXPECT_TRUE(api::is_true(status.conditions, "Ready"));
  settle();
  const auto before = writes();
  manager->controllers().front()->queue().add(key("demo"));
  settle();
  EXPECT_EQ(writes(), before) << "the second pass";
}

TEST_F(PodbuggerOperator, AppendsToWhatIsThere) {
  create_pod("web", {{"app", "web"}, {"tier", "front"}});
  create("one", "app=web", "busybox");
  create("two", "tier in (front, back)", "nicolaka/netshoot:v0.13");
  start();
  wait_until("both", [&] { return tools_in("web").size() == 2; });
  create("three", "app=web", "busybox");
  wait_until("the third, of an image that is there", [&] { return tools_in("web").size() == 3; });
  run(client.of<Podbuggertool>().modify(key("one"), [](Podbuggertool& tool) { tool.spec.image = "busybox:1.36"; }));
  wait_until("the new image beside the old", [&] { return tools_in("web").size() == 4; });
  wait_until("and it says so", [&] { return get("one").status.stale == 1; });
}

TEST_F(PodbuggerOperator, WaitsUntilThePodRuns) {
  create_pod("web", {{"app", "web"}}, "Pending");
  create("demo", "app=web");
  start();
  wait_until("it knows the pod", [&] { return get("demo").status.matched == 1; });
  EXPECT_TRUE(tools_in("web").empty());
  auto pod = run(client.of<Pod>().get(key("web")));
  pod.status.phase = "Running";
  client::WriteOptions status;
  status.subresource = "status";
  ASSERT_TRUE(run(client.of<Pod>().update(pod, status)));
  wait_until("the pod runs", [&] { return tools_in("web").size() == 1; });
}

TEST_F(PodbuggerOperator, WhatIsNoSelectorIsToldAndOthersGoOn) {
  create_pod("web", {{"app", "web"}});
  create("bad", "a=b=c");
  create("good", "app=web");
  start();
  wait_until("the good one", [&] { return tools_in("web").size() == 1; });
  wait_until("a condition", [&] { return api::is_true(get("bad").status.conditions, "Degraded"); });
  const auto status = get("bad").status;
  EXPECT_EQ(api::find_condition(status.conditions, "Degraded")->reason, "InvalidSelector");
  EXPECT_THAT(api::find_condition(status.conditions, "Degraded")->message, HasSubstr("a=b=c"));
}

TEST_F(PodbuggerOperator, ServerRefusesAToolWithoutImage) {
  const auto apply = [&](std::string_view spec) {
    return cluster().kubectl({"apply", "-n", ns, "-f", "-"},
                             fmt::format("apiVersion: ualter.com/v1beta1\nkind: Podbuggertool\n"
                                         "metadata: {{name: bad}}\nspec: {}\n",
                                         spec));
  };
  EXPECT_THAT(apply("{label: app=web}").err, HasSubstr("image"));
}

}  // namespace
}  // namespace kopper::testing
