// The PodSet operator against a real server. Nobody runs pods here: they stay pending, and are gone when deleted.
#include <algorithm>
#include <filesystem>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/rt/file.h"
#include "kopper/rt/process.h"

#include "operators/podset/types.h"
#include "real/operated.h"

namespace kopper::testing {
namespace {

using namespace std::chrono_literals;
using podset::PodSet;
using ::testing::HasSubstr;

struct PodSetOperator : Operated {
  void SetUp() override {
    Operated::SetUp();
    install(meta::crd<PodSet>());
  }
  void start() { Operated::start(podset::podset()); }

  PodSet create(std::string name, std::int32_t size) {
    PodSet set;
    set.metadata.name = std::move(name);
    set.metadata.namespace_ = ns;
    set.spec.size = size;
    return run(client.of<PodSet>().create(set));
  }
  PodSet get(const std::string& name) { return run(client.of<PodSet>().get(key(name))); }
  std::vector<Pod> pods() {
    client::ListOptions options;
    options.namespace_ = ns;
    return run(client.of<Pod>().list(options)).items;
  }
  void scale(const std::string& name, std::int64_t size) { run(client.of<PodSet>().set_scale(key(name), size)); }
  // The status names exactly the pods that there are.
  bool has(const std::string& name, std::size_t size) {
    const auto there = pods();
    if (there.size() != size) return false;
    std::vector<std::string> names;
    for (const auto& pod : there) names.push_back(pod.metadata.name);
    std::ranges::sort(names);
    return get(name).status.nodes == names;
  }
};

TEST_F(PodSetOperator, ScalesFrom0To500To10) {
  const auto set = create("demo", 0);
  start();
  wait_until("a status", [&] { return !get("demo").status.conditions.empty(); });
  scale("demo", 500);
  wait_until("500 pods", [&] { return has("demo", 500); });
  settle();
  const auto made = writes();
  for (const auto& pod : pods()) ASSERT_TRUE(api::is_controlled_by(pod.metadata, set.metadata.uid));
  EXPECT_EQ(get("demo").status.replicas, 500);
  EXPECT_EQ(std::ranges::count_if(operator_wire->targets, [](const auto& t) { return t.starts_with("POST "); }), 500)
      << "no pod too many was even asked for";
  manager->controllers().front()->queue().add(key("demo"));
  settle();
  EXPECT_EQ(writes(), made) << "the second pass";
  scale("demo", 10);
  wait_until("10 pods", [&] { return has("demo", 10); });
}

TEST_F(PodSetOperator, ReplacesAPodThatIsDeletedOrFailed) {
  create("demo", 3);
  start();
  wait_until("3 pods", [&] { return has("demo", 3); });
  const auto before = pods();
  run(client.of<Pod>().remove(api::key_of(before[0])));
  const auto is_gone = [&](const Pod& pod) {
    return std::ranges::none_of(pods(), [&](const Pod& one) { return one.metadata.uid == pod.metadata.uid; });
  };
  wait_until("another", [&] { return has("demo", 3) && is_gone(before[0]); });
  auto failed = before[1];
  failed.status.phase = "Failed";
  client::WriteOptions status;
  status.subresource = "status";
  failed.metadata.resourceVersion.clear();
  ASSERT_TRUE(run(client.of<Pod>().update(failed, status)));
  wait_until("one for the failed", [&] { return has("demo", 3) && is_gone(failed); });
}

TEST_F(PodSetOperator, TakesOverOrphansAndLetsGoOfWhatLostItsLabels) {
  create("demo", 2);
  auto orphan = podset::desired(get("demo"), "orphan");
  orphan.metadata.namespace_ = ns;
  run(client.of<Pod>().create(orphan));
  start();
  wait_until("2 pods", [&] { return has("demo", 2); });
  const auto adopted = run(client.of<Pod>().get(key("orphan")));
  EXPECT_TRUE(api::is_controlled_by(adopted.metadata, get("demo").metadata.uid));

  ASSERT_EQ(cluster().kubectl({"label", "pod", "orphan", "podset_cr-", "-n", ns}).exit, 0);
  wait_until("it is let go", [&] {
    const auto now = run(client.of<Pod>().get(key("orphan")));
    return now.metadata.ownerReferences.empty();
  });
  wait_until("another takes its place", [&] { return get("demo").status.replicas == 2 && pods().size() == 3; });
}

// Events reach the operator late, or it starts while half is done: the answers that it did not get are those of pods.
TEST_F(PodSetOperator, NoPodTooManyWhenAnswersAreLost) {
  create("demo", 40);
  start();
  for (int i = 0; i < 5; ++i) {
    wait_until("some writes", [&] { return writes() > static_cast<std::size_t>(4 * i); });
    operator_wire->cut();
    run(rt::sleep(20ms));
    operator_wire->mend();
  }
  wait_until("40 pods", [&] { return has("demo", 40); });
}

TEST_F(PodSetOperator, RefusesWhatIsNoSize) {
  const auto apply = [&](std::string_view size) {
    return cluster().kubectl({"apply", "-n", ns, "-f", "-"},
                             fmt::format("apiVersion: apps.jicki.cn/v1alpha1\nkind: PodSet\nmetadata: {{name: bad}}\n"
                                         "spec: {{size: {}}}\n",
                                         size));
  };
  EXPECT_THAT(apply("-1").err, HasSubstr("spec.size"));
  EXPECT_THAT(apply("three").err, HasSubstr("spec.size"));
  EXPECT_EQ(apply("0").exit, 0);
}

TEST_F(PodSetOperator, AQuotaIsAConditionAndOthersGoOn) {
  if (cluster().local()) GTEST_SKIP() << "it keeps quotas, and holds nobody to them";
  const auto quota = cluster().kubectl({"create", "quota", "few", "--hard=pods=3", "-n", ns});
  ASSERT_EQ(quota.exit, 0) << quota.err;
  // No controller counts what is used; the quota's status must be there for the admission to look at it.
  client::WriteOptions status;
  status.subresource = "status";
  const auto counted = [](api::corev1::ResourceQuota& it) {
    it.status.hard = {{"pods", 3}};
    it.status.used = {{"pods", 0}};
  };
  run(client.of<api::corev1::ResourceQuota>().modify(key("few"), counted, status));
  create("demo", 10);
  start();
  wait_until("a condition", [&] { return api::is_true(get("demo").status.conditions, "Degraded"); });
  EXPECT_THAT(api::find_condition(get("demo").status.conditions, "Degraded")->message, HasSubstr("exceeded quota"));
  EXPECT_EQ(get("demo").status.replicas, 3);
  ASSERT_EQ(cluster().kubectl({"delete", "quota", "few", "-n", ns}).exit, 0);
  wait_until("all once the quota is gone", [&] { return has("demo", 10); });
  wait_until("and the condition", [&] { return !api::is_true(get("demo").status.conditions, "Degraded"); });
}

// As the program, killed in the middle again and again.
TEST_F(PodSetOperator, TheSameEndWhereverItIsKilled) {
  create("demo", 0);
  const auto output = std::filesystem::temp_directory_path() / (ns + "-manager");
  const auto start_program = [&] {
    rt::ProcessSpec spec;
    spec.argv = {KOPPER_OPERATOR_MANAGER, "--kubeconfig=" + cluster().kubeconfig(), "--namespace=" + ns,
                 "--leader-elect=false",  "--health-probe-bind-address=0",          "--metrics-bind-address=0"};
    spec.output_file = output;
    return std::make_unique<rt::Process>(spec);
  };
  for (std::size_t i = 0; i < 20; ++i) {
    const auto before = pods().size();
    const std::size_t wanted = i % 2 == 0 ? 200 : 20;
    scale("demo", static_cast<std::int64_t>(wanted));
    auto program = start_program();
    wait_until("it is on its way", [&] {
      const auto now = pods().size();
      return now == wanted || std::max(now, before) - std::min(now, before) > 5 * i;
    });
    program->signal(SIGKILL);
    run(program->wait());
  }
  scale("demo", 10);
  auto program = start_program();
  wait_until("10 pods", [&] { return has("demo", 10); });
  program->signal(SIGTERM);
  EXPECT_EQ(run(program->wait()).code, 0) << rt::read_file(output.string());
  std::filesystem::remove(output);
}

}  // namespace
}  // namespace kopper::testing
