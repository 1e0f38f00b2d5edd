// kubectl's verbs for workloads, services and nodes.
#include <fmt/format.h>

#include "local/kubectl.h"

namespace kopper::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

class KubectlWorkload : public Kubectl {
 protected:
  void make_node(const std::string& name) {
    ok({"create", "-f", "-"}, "apiVersion: v1\nkind: Node\nmetadata: {name: " + name + "}\n");
  }
  // What the deployment controller would have made for a revision.
  void make_replica_set(int revision, const std::string& image) {
    ok({"create", "-f", "-"},
       fmt::format(R"({{"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {{"name": "web-{0}",
        "labels": {{"app": "web"}}, "annotations": {{"deployment.kubernetes.io/revision": "{0}"}},
        "ownerReferences": [{{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "{2}",
        "controller": true}}]}}, "spec": {{"replicas": 0,
        "selector": {{"matchLabels": {{"app": "web", "pod-template-hash": "h{0}"}}}},
        "template": {{"metadata": {{"labels": {{"app": "web", "pod-template-hash": "h{0}"}}}},
        "spec": {{"containers": [{{"name": "nginx", "image": "{1}"}}]}}}}}}}})",
                   revision, image, field("deploy/web", ".metadata.uid")));
  }
};

TEST_F(KubectlWorkload, FollowsARollout) {
  ok({"create", "deployment", "web", "--image=nginx"});
  Running status(command({"rollout", "status", "deployment/web"}));
  EXPECT_THAT(status.line().value_or(""), HasSubstr("Waiting for deployment"));
  set_status("/apis/apps/v1/namespaces/*/deployments/web",
             R"({"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1,
                 "availableReplicas": 1})");
  std::string last;
  while (const auto line = status.line()) last = *line;
  EXPECT_EQ(last, "deployment \"web\" successfully rolled out");
  EXPECT_EQ(status.wait(), 0);
}

TEST_F(KubectlWorkload, KnowsAndUndoesRevisions) {
  ok({"create", "deployment", "web", "--image=nginx:2"});
  ok({"annotate", "deployment", "web", "deployment.kubernetes.io/revision=2"});
  make_replica_set(1, "nginx:1");
  make_replica_set(2, "nginx:2");
  EXPECT_THAT(ok({"rollout", "history", "deployment/web"}), AllOf(HasSubstr("\n1 "), HasSubstr("\n2 ")));
  EXPECT_THAT(ok({"rollout", "history", "deployment/web", "--revision=1"}), ContainsRegex("Image:[ \t]+nginx:1\n"));
  EXPECT_THAT(ok({"rollout", "undo", "deployment/web", "--to-revision=1"}),
              HasSubstr("deployment.apps/web rolled back"));
  EXPECT_EQ(field("deploy/web", ".spec.template.spec.containers[0].image"), "nginx:1");
  EXPECT_EQ(ok({"rollout", "restart", "deployment/web"}), "deployment.apps/web restarted\n");
  EXPECT_THAT(field("deploy/web", ".spec.template.metadata.annotations"),
              HasSubstr("kubectl.kubernetes.io/restartedAt"));
  EXPECT_EQ(ok({"rollout", "pause", "deployment/web"}), "deployment.apps/web paused\n");
  EXPECT_EQ(field("deploy/web", ".spec.paused"), "true");
  EXPECT_EQ(ok({"rollout", "resume", "deployment/web"}), "deployment.apps/web resumed\n");
}

TEST_F(KubectlWorkload, RunsAndExposes) {
  EXPECT_EQ(ok({"run", "p", "--image=busybox", "--restart=Never", "--env=A=b", "--", "sleep", "9"}), "pod/p created\n");
  EXPECT_EQ(field("pod/p", ".spec.restartPolicy"), "Never");
  EXPECT_EQ(field("pod/p", ".spec.containers[0].args"), R"(["sleep","9"])");
  EXPECT_THAT(ok({"run", "q", "--image=nginx", "--port=80", "--expose"}),
              AllOf(HasSubstr("service/q created\n"), HasSubstr("pod/q created\n")));
  ok({"create", "deployment", "web", "--image=nginx"});
  EXPECT_EQ(ok({"expose", "deployment", "web", "--port=80", "--target-port=8080"}), "service/web exposed\n");
  EXPECT_EQ(field("service/web", ".spec.selector"), R"({"app":"web"})");
  EXPECT_EQ(field("service/web", ".spec.ports[0]"), R"({"port":80,"protocol":"TCP","targetPort":8080})");
}

TEST_F(KubectlWorkload, SetsPartsOfATemplate) {
  ok({"create", "deployment", "web", "--image=nginx"});
  const std::string container = ".spec.template.spec.containers[0]";
  EXPECT_EQ(ok({"set", "image", "deployment/web", "nginx=nginx:1.27"}), "deployment.apps/web image updated\n");
  EXPECT_EQ(field("deploy/web", container + ".image"), "nginx:1.27");
  EXPECT_EQ(ok({"set", "env", "deployment/web", "LEVEL=debug"}), "deployment.apps/web env updated\n");
  EXPECT_EQ(field("deploy/web", container + ".env"), R"([{"name":"LEVEL","value":"debug"}])");
  EXPECT_EQ(ok({"set", "resources", "deployment/web", "--limits=cpu=200m,memory=64Mi"}),
            "deployment.apps/web resource requirements updated\n");
  EXPECT_EQ(field("deploy/web", container + ".resources.limits"), R"({"cpu":"200m","memory":"64Mi"})");
  EXPECT_EQ(ok({"set", "serviceaccount", "deployment/web", "app"}), "deployment.apps/web serviceaccount updated\n");
  EXPECT_EQ(field("deploy/web", ".spec.template.spec.serviceAccountName"), "app");
  EXPECT_EQ(field("deploy/web", ".metadata.generation"), "5");
}

TEST_F(KubectlWorkload, Autoscales) {
  ok({"create", "deployment", "web", "--image=nginx"});
  EXPECT_THAT(ok({"autoscale", "deployment", "web", "--min=1", "--max=3"}),
              HasSubstr("horizontalpodautoscaler.autoscaling/web autoscaled"));
  EXPECT_THAT(ok({"get", "hpa"}), ContainsRegex("web +Deployment/web .* 1 +3 "));
  const auto at = [&](const std::string& version, const std::string& path) {
    return ok(
        {"get", "horizontalpodautoscalers." + version + ".autoscaling", "web", "-o", "jsonpath={.spec." + path + "}"});
  };
  EXPECT_EQ(at("v2", "metrics[0].resource.target.averageUtilization"), "80");
  EXPECT_EQ(at("v1", "targetCPUUtilizationPercentage"), "80");
}

TEST_F(KubectlWorkload, DebugsAPodWithAnEphemeralContainer) {
  if (client_minor() < 22 && !cluster().before(22))
    GTEST_SKIP() << "kubectl before 1.22 speaks of a kind that only servers of its time have";
  ok({"run", "p", "--image=busybox"});
  ok({"debug", "p", "--image=busybox", "--container=first", "--target=p"});
  ok({"debug", "p", "--image=busybox", "--container=second"});
  EXPECT_THAT(field("pod/p", ".spec.ephemeralContainers[*].name"), AllOf(HasSubstr("first"), HasSubstr("second")));
  EXPECT_EQ(field("pod/p", ".spec.ephemeralContainers[?(@.name=='first')].targetContainerName"), "p");
  EXPECT_THAT(refused({"debug", "p", "--image=busybox", "--container=p"}), HasSubstr("p"));
}

TEST_F(KubectlWorkload, TaintsCordonsAndDrains) {
  const std::string node = ns;
  make_node(node);
  EXPECT_EQ(ok({"taint", "nodes", node, "dedicated=db:NoSchedule"}), "node/" + node + " tainted\n");
  EXPECT_EQ(field("node/" + node, ".spec.taints[?(@.key=='dedicated')].effect"), "NoSchedule");
  EXPECT_EQ(ok({"taint", "nodes", node, "dedicated-"}), "node/" + node + " untainted\n");
  EXPECT_EQ(ok({"cordon", node}), "node/" + node + " cordoned\n");
  EXPECT_THAT(ok({"get", "nodes"}), ContainsRegex(node + " .*SchedulingDisabled"));
  ok({"create", "-f", "-"}, "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {nodeName: " + node +
                                ", containers: [{name: c, image: busybox}]}\n");
  EXPECT_THAT(ok({"drain", node, "--force", "--grace-period=0"}),
              AllOf(HasSubstr("evicting pod " + ns + "/p\n"), ContainsRegex("node/" + node + " (drained|evicted)\n")));
  EXPECT_EQ(ok({"get", "pod", "p", "--ignore-not-found"}), "");
  EXPECT_EQ(ok({"uncordon", node}), "node/" + node + " uncordoned\n");
  ok({"delete", "node", node});
}

}  // namespace
}  // namespace kopper::testing
