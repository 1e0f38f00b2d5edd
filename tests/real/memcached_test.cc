// The Memcached operator as users run it: against a real server, in this process to look inside, and as the program
// operator-manager to kill it.
#include <csignal>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/kopper.h"
#include "kopper/rt/file.h"
#include "kopper/rt/process.h"

#include "operators/memcached/types.h"
#include "real/operated.h"

namespace kopper::testing {
namespace {

using namespace std::chrono_literals;
using memcached::Memcached;
using ::testing::HasSubstr;

struct MemcachedOperator : Operated {
  void SetUp() override {
    Operated::SetUp();
    install(meta::crd<Memcached>());
  }

  void start(std::shared_ptr<http::Handler> transport = client::make_transport(admin_config())) {
    Operated::start(memcached::memcached(), std::move(transport));
  }

  Memcached create(std::string name, std::int32_t size) {
    Memcached mc;
    mc.metadata.name = std::move(name);
    mc.metadata.namespace_ = ns;
    mc.spec.size = size;
    return run(client.of<Memcached>().create(mc));
  }
  Memcached get(const std::string& name) { return run(client.of<Memcached>().get(key(name))); }
  std::optional<Deployment> deployment(const std::string& name) { return run(client.of<Deployment>().find(key(name))); }

  const Condition* condition(const Memcached& mc, std::string_view type) {
    return api::find_condition(mc.status.conditions, type);
  }
};

TEST_F(MemcachedOperator, MakesADeploymentAndTellsOfIt) {
  const auto mc = create("demo", 3);
  start();
  wait_until("a status", [&] { return !get("demo").status.conditions.empty(); });
  const auto made = deployment("demo");
  ASSERT_TRUE(made);
  EXPECT_EQ(made->spec.replicas, 3);
  ASSERT_TRUE(api::is_controlled_by(made->metadata, mc.metadata.uid)) << "no garbage collector runs here";
  const auto status = get("demo").status;
  EXPECT_EQ(status.observedGeneration, 1);
  EXPECT_EQ(status.selector, "app=memcached,memcached_cr=demo");
  const auto table = cluster().kubectl({"get", "memcached", "-n", ns});
  EXPECT_THAT(table.out, HasSubstr("SIZE"));
  EXPECT_THAT(table.out, HasSubstr("READY"));
}

TEST_F(MemcachedOperator, ScalesThroughTheScaleSubresource) {
  create("demo", 3);
  start();
  wait_until("a Deployment", [&] { return deployment("demo").has_value(); });
  settle();
  const auto scaled = cluster().kubectl({"scale", "memcached", "demo", "--replicas=5", "-n", ns});
  ASSERT_EQ(scaled.exit, 0) << scaled.err;
  wait_until("five", [&] { return deployment("demo")->spec.replicas == 5; });
}

TEST_F(MemcachedOperator, RevertsDriftAndLeavesWhatOthersAdd) {
  create("demo", 3);
  start();
  wait_until("a Deployment", [&] { return deployment("demo").has_value(); });
  settle();
  const auto change =
      json::parse(R"({"metadata":{"labels":{"team":"a"}},"spec":{"replicas":7,"template":{"spec":{"containers":[)"
                  R"({"name":"memcached","image":"evil:1","command":["sh"]}]}}}})");
  run(client.of<Deployment>().patch(key("demo"), client::PatchType::Strategic, *change));
  wait_until("the image is back", [&] {
    const auto live = deployment("demo");
    const auto& container = live->spec.template_.spec.containers.at(0);
    return live->spec.replicas == 3 && container.image == "memcached:1.6-alpine" && container.command.size() == 6;
  });
  EXPECT_EQ(deployment("demo")->metadata.labels.at("team"), "a");
  run(client.of<Deployment>().remove(key("demo")));
  wait_until("the Deployment is back", [&] { return deployment("demo").has_value(); });
}

TEST_F(MemcachedOperator, SecondPassMakesZeroWrites) {
  for (int i = 0; i < 5; ++i) create(fmt::format("demo-{}", i), 2);
  start();
  wait_until("all have a status", [&] {
    for (int i = 0; i < 5; ++i) {
      if (get(fmt::format("demo-{}", i)).status.conditions.empty()) return false;
    }
    return true;
  });
  settle();
  const auto before = writes();
  EXPECT_EQ(before, 10U) << "a Deployment and a status each";
  auto& queue = manager->controllers().front()->queue();
  for (int i = 0; i < 5; ++i) queue.add(key(fmt::format("demo-{}", i)));
  settle();
  EXPECT_EQ(writes(), before) << "the second pass";
  stop();
  start();
  wait_until("the first list", [&] { return manager->waiting_for().empty(); });
  settle();
  EXPECT_EQ(writes(), 0U) << "after a restart";
}

TEST_F(MemcachedOperator, NeverTakesOverAForeignDeployment) {
  auto foreign = memcached::desired(Memcached());
  foreign.metadata.name = "demo";
  foreign.metadata.namespace_ = ns;
  foreign.spec.replicas = 9;
  run(client.of<Deployment>().create(foreign));
  create("demo", 3);
  create("other", 1);
  start();
  wait_until("a condition", [&] { return condition(get("demo"), "Degraded") != nullptr; });
  const auto degraded = *condition(get("demo"), "Degraded");
  EXPECT_EQ(degraded.status, "True");
  EXPECT_EQ(degraded.reason, "NameConflict");
  EXPECT_THAT(degraded.message, HasSubstr("demo is not ours"));
  EXPECT_EQ(deployment("demo")->spec.replicas, 9);
  EXPECT_EQ(api::controller_of(deployment("demo")->metadata), nullptr);
  wait_until("the other goes on", [&] { return deployment("other").has_value(); });
  run(client.of<Deployment>().remove(key("demo")));
  wait_until("it is made once the name is free", [&] { return deployment("demo").has_value(); });
  wait_until("and the condition is taken back", [&] { return condition(get("demo"), "Degraded")->status == "False"; });
}

TEST_F(MemcachedOperator, PausedObjectsAreLeftAlone) {
  Memcached mc;
  mc.metadata.name = "demo";
  mc.metadata.namespace_ = ns;
  mc.metadata.annotations["kopper.dev/paused"] = "true";
  run(client.of<Memcached>().create(mc));
  create("other", 1);
  start();
  wait_until("the other", [&] { return deployment("other").has_value(); });
  settle();
  EXPECT_FALSE(deployment("demo"));
  cluster().kubectl({"annotate", "memcached", "demo", "kopper.dev/paused-", "-n", ns});
  wait_until("it goes on", [&] { return deployment("demo").has_value(); });
}

// A size that is a text can only be stored when the schema lets it in: that of an older version, say.
TEST_F(MemcachedOperator, AnObjectThatDoesNotDecodeIsReportedAndStopsNobody) {
  auto loose = meta::crd<Memcached>();
  auto& version = (*loose["spec"]["versions"].as_array())[0];
  version["schema"]["openAPIV3Schema"] =
      *json::parse(R"({"type":"object","x-kubernetes-preserve-unknown-fields":true})");
  version["subresources"].as_object()->erase("scale");
  version["additionalPrinterColumns"] = json::Array();
  install(loose);
  wait_until("the server knows the loose schema", [&] {
    const auto made = cluster().kubectl({"create", "--validate=false", "-n", ns, "-f", "-"},
                                        R"({"apiVersion":"cache.example.com/v1alpha1","kind":"Memcached",)"
                                        R"("metadata":{"name":"bad"},"spec":{"size":"three"}})");
    return made.exit == 0;
  });
  create("good", 1);
  start();
  wait_until("the good one", [&] { return deployment("good").has_value(); });
  wait_until("an event",
             [&] { return cluster().kubectl({"get", "events", "-n", ns}).out.contains("expected an integer"); });
  EXPECT_THAT(manager->metrics().text(), HasSubstr("kopper_undecodable_objects_total{controller=\"memcached\"} 1"));
  EXPECT_FALSE(deployment("bad"));
  install(meta::crd<Memcached>());
}

// It may read and tell, but not make Deployments.
TEST_F(MemcachedOperator, RbacRefusedIsAConditionAndABackOff) {
  const auto role = fmt::format(R"(
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {{name: weak, namespace: {0}}}
rules:
- {{apiGroups: [""], resources: [pods], verbs: [get, list, watch]}}
- {{apiGroups: [apps], resources: [deployments], verbs: [get, list, watch]}}
- {{apiGroups: [cache.example.com], resources: [memcacheds, memcacheds/status], verbs: [get, list, watch, patch]}}
- {{apiGroups: ["", events.k8s.io], resources: [events], verbs: [create, patch]}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {{name: weak, namespace: {0}}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: weak}}
subjects: [{{kind: ServiceAccount, name: weak, namespace: {0}}}]
)",
                                ns);
  ASSERT_EQ(cluster().kubectl({"apply", "-f", "-"}, role).exit, 0);
  create("demo", 3);
  auto config = admin_config();
  config.impersonate.user = fmt::format("system:serviceaccount:{}:weak", ns);
  config.impersonate.groups = {"system:serviceaccounts", "system:authenticated"};
  start(client::make_transport(config));
  wait_until("a condition", [&] { return condition(get("demo"), "Degraded") != nullptr; });
  const auto degraded = *condition(get("demo"), "Degraded");
  EXPECT_EQ(degraded.reason, "Forbidden");
  EXPECT_THAT(degraded.message, HasSubstr("cannot patch resource \"deployments\""));
  EXPECT_GT(manager->controllers().front()->queue().failures(key("demo")), 0U) << "it is tried again, later and later";
  cluster().kubectl({"create", "role", "more", "-n", ns, "--verb=create,patch", "--resource=deployments.apps"});
  cluster().kubectl({"create", "rolebinding", "more", "-n", ns, "--role=more", "--serviceaccount=" + ns + ":weak"});
  wait_until("it goes on by itself", [&] { return deployment("demo").has_value(); });
}

struct OperatorManager : MemcachedOperator {
  void TearDown() override {
    a.reset();
    b.reset();
    for (const auto* name : {"a", "b"}) std::filesystem::remove(output(name));
  }
  std::string output(const std::string& name) const {
    return std::filesystem::temp_directory_path() / (ns + "-" + name);
  }
  std::string said(const std::string& name) const { return rt::read_file(output(name)); }

  std::unique_ptr<rt::Process> start_program(const std::string& name) {
    const auto renew = lease - lease / 3;
    rt::ProcessSpec spec;
    spec.argv = {KOPPER_OPERATOR_MANAGER,
                 "--kubeconfig=" + cluster().kubeconfig(),
                 "--namespace=" + ns,
                 "--leader-elect",
                 "--leader-elect-resource-namespace=" + ns,
                 fmt::format("--leader-elect-lease-duration={}s", lease.count()),
                 fmt::format("--leader-elect-renew-deadline={}s", renew.count()),
                 "--health-probe-bind-address=0",
                 "--metrics-bind-address=0"};
    spec.output_file = output(name);
    return std::make_unique<rt::Process>(spec);
  }
  void wait_for(const std::string& name, const std::string& text) {
    wait_until(name + " says: " + text, [&] { return said(name).contains(text); });
  }
  void start_both() {
    a = start_program("a");
    wait_for("a", "controller starts");
    b = start_program("b");
    wait_for("b", "waits to lead");
    create("first", 1);
    wait_until("a works", [&] { return deployment("first").has_value(); });
  }

  std::chrono::seconds lease = 15s;
  std::unique_ptr<rt::Process> a, b;
};

TEST_F(OperatorManager, AnotherTakesOverFromOneThatIsKilled) {
  start_both();
  a->signal(SIGKILL);
  run(a->wait());
  create("second", 1);
  wait_until("b works", [&] { return deployment("second").has_value(); });  // within the lease time and a try
  EXPECT_THAT(said("b"), HasSubstr("leads"));
}

// A lease of an hour: only one that was given back passes on.
TEST_F(OperatorManager, ACleanStopHandsOverAtOnce) {
  lease = 1h;
  start_both();
  a->signal(SIGTERM);
  EXPECT_EQ(run(a->wait()).code, 0) << said("a");
  create("second", 1);
  wait_until("b works", [&] { return deployment("second").has_value(); });
}

TEST_F(OperatorManager, SaysWhatIsWrongInOneLine) {
  const auto no_file = kopper::testing::run({KOPPER_OPERATOR_MANAGER, "--kubeconfig=/does/not/exist"});
  EXPECT_EQ(no_file.exit, 5);
  EXPECT_THAT(no_file.err, HasSubstr("/does/not/exist"));
  const auto no_flag = kopper::testing::run({KOPPER_OPERATOR_MANAGER, "--frobnicate"});
  EXPECT_EQ(no_flag.exit, 2);
  EXPECT_THAT(no_flag.err, HasSubstr("--frobnicate"));
  const auto crds = kopper::testing::run({KOPPER_OPERATOR_MANAGER, "--print-crds"});
  EXPECT_EQ(crds.exit, 0);
  std::vector<std::string> apply = {"apply", "--dry-run=server", "-f", "-"};
  // kubectl checks against the server's schema, and before 1.23 that has no x-kubernetes-validations.
  if (cluster().before(23)) apply.emplace_back("--validate=false");
  const auto applied = cluster().kubectl(apply, crds.out);
  EXPECT_EQ(applied.exit, 0) << applied.err;
}

}  // namespace
}  // namespace kopper::testing
