#include "kopper/testing/cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/api/names.h"
#include "kopper/base/log.h"

namespace kopper::testing {
namespace {

using namespace std::chrono_literals;
using plane::FaultEffect;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

struct GreetingSpec {
  std::string text = "hello";
};
struct GreetingStatus {
  std::string said;
};
struct Greeting {
  static constexpr Kind kind{"example.com", "v1", "Greeting"};
  ObjectMeta metadata;
  GreetingSpec spec;
  GreetingStatus status;
};

Task<runtime::Next> reconcile(runtime::Context<Greeting> greeting) {
  ConfigMap wanted;
  wanted.metadata.name = greeting->metadata.name;
  wanted.data["text"] = greeting->spec.text;
  const auto live = co_await greeting.apply(std::move(wanted));
  GreetingStatus status;
  status.said = live.data.at("text");
  co_await greeting.set_status(std::move(status));
  co_return runtime::Next::wait();
}

runtime::ControllerSpec greeter() { return runtime::controller<Greeting>().owns<ConfigMap>().reconcile(reconcile); }

constexpr const char* kGreeting = "{apiVersion: example.com/v1, kind: Greeting, metadata: {name: a}, spec: {text: hi}}";

class ClusterTest : public ::testing::Test {
 protected:
  // Failures are asked for here.
  void SetUp() override {
    log::configure({.level = log::Level::Error, .format = log::Format::Human, .sink = [](std::string_view) {}});
  }
  void TearDown() override { log::configure(log::Options()); }

  void greet() {
    cluster_.apply(kGreeting);
    cluster_.until<Greeting>("a", [](const Greeting& it) { return it.status.said == "hi"; });
    (void)cluster_.requests();
  }

  Cluster cluster_{greeter()};
};

TEST_F(ClusterTest, RunsAnOperatorWithoutTimePassing) {
  cluster_.apply(kGreeting);
  cluster_.settle();
  EXPECT_EQ(cluster_.get<ConfigMap>("default/a").data.at("text"), "hi");
  EXPECT_EQ(cluster_.get<Greeting>("a").status.said, "hi");
  EXPECT_THAT(cluster_.writes(),
              ElementsAre(StartsWith("PATCH /api/v1/namespaces/default/configmaps/a?"),
                          StartsWith("PATCH /apis/example.com/v1/namespaces/default/greetings/a/status?")));
  EXPECT_EQ(cluster_.loop().now().time_since_epoch(), 0s);
}

TEST_F(ClusterTest, ObjectsAreGotMadeChangedAndRemoved) {
  EXPECT_FALSE(cluster_.find<ConfigMap>("mine"));
  ConfigMap mine;
  mine.metadata.name = "mine";
  EXPECT_EQ(cluster_.apply(mine).metadata.namespace_, "default");
  cluster_.modify<ConfigMap>("mine", [](ConfigMap& it) { it.data["k"] = "v"; });
  EXPECT_EQ(cluster_.get<ConfigMap>("mine").data.at("k"), "v");
  EXPECT_EQ(cluster_.list<ConfigMap>({.namespace_ = "default"}).size(), 1U);
  EXPECT_TRUE(cluster_.remove<ConfigMap>("mine"));
  EXPECT_FALSE(cluster_.remove<ConfigMap>("mine"));
  EXPECT_THROW(cluster_.get<ConfigMap>("mine"), Error);
  EXPECT_EQ(cluster_.get<Namespace>("default").status.phase, "Active");
}

TEST_F(ClusterTest, AppliesDefinitionsAndWhatTheyDefine) {
  cluster_.apply(R"(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: toys.example.org}
spec:
  group: example.org
  scope: Cluster
  names: {plural: toys, singular: toy, kind: Toy}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
---
apiVersion: example.org/v1
kind: Toy
metadata: {name: ball}
)");
  client::Resource toys{.group = "example.org", .version = "v1", .plural = "toys", .kind = "Toy", .namespaced = false};
  EXPECT_EQ(cluster_.run(cluster_.client().of(toys).get(Key("", "ball"))).text("kind"), "Toy");
  EXPECT_THROW(cluster_.apply("\n{apiVersion: v1, kind: Nothing, metadata: {name: x}}"), Error);
}

TEST_F(ClusterTest, ConflictsRetriesAndRefusalsAreSurvived) {
  cluster_.faults().add({.match = {.verbs = {"patch"}, .resource = "configmaps"}, .status = 409, .times = 2});
  cluster_.faults().add(
      {.match = {.verbs = {"patch"}, .resource = "configmaps"}, .status = 429, .retryAfterSeconds = 5, .times = 1});
  cluster_.faults().add({.match = {.resource = "greetings/status"}, .status = 500, .times = 1});
  greet();
  EXPECT_GE(cluster_.loop().now().time_since_epoch(), 5s);
  EXPECT_THAT(cluster_.faults().rules(), IsEmpty());
}

TEST_F(ClusterTest, DroppedWatchesAndLostHistoryAreSurvived) {
  greet();
  cluster_.faults().add({.effect = FaultEffect::HangUp, .onlyOpen = true});
  cluster_.faults().add({.match = {.verbs = {"watch"}}, .effect = FaultEffect::Expire, .times = 2});
  cluster_.modify<ConfigMap>("a", [](ConfigMap& it) { it.data["text"] = "drift"; });
  cluster_.until<ConfigMap>("a", [](const ConfigMap& it) { return it.data.at("text") == "hi"; });
  EXPECT_THAT(cluster_.faults().rules(), IsEmpty());
}

TEST_F(ClusterTest, APartitionHeals) {
  greet();
  cluster_.faults().add({.effect = FaultEffect::Silence});
  cluster_.modify<ConfigMap>("a", [](ConfigMap& it) { it.data["text"] = "drift"; });
  cluster_.advance(5min);
  EXPECT_EQ(cluster_.get<ConfigMap>("a").data.at("text"), "drift");
  cluster_.faults().clear();
  cluster_.until<ConfigMap>("a", [](const ConfigMap& it) { return it.data.at("text") == "hi"; });
}

TEST_F(ClusterTest, ARestartedOperatorHasNothingToDo) {
  greet();
  cluster_.restart();
  EXPECT_THAT(cluster_.writes(), IsEmpty());
  cluster_.advance(11h);
  EXPECT_THAT(cluster_.writes(), IsEmpty()) << "nor when it looks at everything again";
}

TEST_F(ClusterTest, InVainItTellsWhatIsThere) {
  greet();
  try {
    cluster_.until<Greeting>("a", [](const Greeting& it) { return it.status.said == "bye"; });
    FAIL() << "it never says bye";
  } catch (const Error& error) {
    EXPECT_EQ(error.code, Code::Timeout);
    EXPECT_THAT(error.what(), HasSubstr("waited in vain for 600 s: Greeting a"));
    EXPECT_THAT(error.what(), HasSubstr("      said: hi\n"));
    EXPECT_THAT(error.what(), HasSubstr("  controller greeting: 0 keys in its queue\n"));
    EXPECT_THAT(error.what(), HasSubstr("    PATCH /api/v1/namespaces/default/configmaps/a?"));
  }
  EXPECT_THROW(cluster_.until("nothing", [] { return false; }), Error);
}

Task<runtime::Next> never_content(runtime::Context<Greeting> greeting) {
  GreetingStatus status;
  status.said = greeting->status.said + ".";
  co_await greeting.set_status(std::move(status));
  co_return runtime::Next::in(std::chrono::nanoseconds(1));
}

TEST_F(ClusterTest, OperatorsThatGoRoundInCirclesHangNobody) {
  ClusterOptions options;
  options.burst = 100;
  options.qps = 1;
  Cluster cluster({runtime::controller<Greeting>().reconcile(never_content)}, options);
  cluster.apply(kGreeting);
  cluster.advance(1min);
  EXPECT_LE(cluster.requests().size(), 161U);
}

// Two processes, of which one is cut off.
TEST_F(ClusterTest, AnotherTakesOverWhenTheLeaderIsCutOff) {
  ClusterOptions options;
  options.manager.name = "first";
  options.manager.election.emplace();
  options.manager.election->name = "greeter";
  options.manager.election->namespace_ = "default";
  options.manager.election->identity = "first";
  Cluster cluster({greeter()}, options);
  cluster.until("the first leads", [&] { return cluster.manager().leads(); });
  auto others = options.manager;
  others.name = "second";
  others.election->identity = "second";
  runtime::Manager second(cluster.transport(), others);
  second.add(greeter());
  rt::Scope scope;
  scope.spawn(second.run());
  cluster.advance(1min);
  EXPECT_FALSE(second.leads());

  cluster.faults().add({.match = {.agent = "first"}, .effect = FaultEffect::Silence});
  cluster.until("the second leads", [&] { return second.leads(); });
  EXPECT_FALSE(cluster.manager().leads());
  cluster.apply(kGreeting);
  cluster.until<Greeting>("a", [](const Greeting& it) { return it.status.said == "hi"; });
  EXPECT_EQ(cluster.get<ConfigMap>("a").metadata.managedFields.at(0).manager, "second");
}

TEST_F(ClusterTest, OperatorsMayBeHeldToTheirRoles) {
  ClusterOptions options;
  options.user = "system:serviceaccount:default:greeter";
  options.objects = R"(
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: greeter}
rules:
- {apiGroups: [example.com], resources: [greetings, greetings/status], verbs: [get, list, watch, patch]}
- {apiGroups: [""], resources: [configmaps], verbs: [get, list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: greeter}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: greeter}
subjects: [{kind: ServiceAccount, name: greeter, namespace: default}]
)";
  Cluster cluster({greeter()}, options);
  cluster.apply(kGreeting);
  cluster.settle();
  EXPECT_THAT(cluster.writes(),
              ::testing::Contains(::testing::AllOf(HasSubstr("configmaps/a?"), ::testing::EndsWith(" 403"))));
  EXPECT_FALSE(cluster.find<ConfigMap>("a"));
}

}  // namespace
}  // namespace kopper::testing
