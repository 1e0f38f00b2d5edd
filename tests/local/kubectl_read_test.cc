// kubectl as people look with it: get in its forms, watch, wait, explain, describe, events, what the server has.
#include <fmt/format.h>

#include "local/kubectl.h"

namespace kopper::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

using KubectlRead = Kubectl;

TEST_F(KubectlRead, ShowsADeploymentInEveryForm) {
  ok({"create", "deployment", "web", "--image=nginx", "--replicas=2"});
  EXPECT_THAT(ok({"get", "deploy", "web"}),
              MatchesRegex("NAME +READY +UP-TO-DATE +AVAILABLE +AGE\nweb +0/2 +0 +0 +[0-9]+s\n"));
  EXPECT_THAT(ok({"get", "deploy", "-o", "wide"}),
              ContainsRegex("CONTAINERS +IMAGES +SELECTOR\nweb .* nginx +nginx +app=web\n"));
  EXPECT_THAT(ok({"get", "deploy", "web", "-o", "yaml"}), StartsWith("apiVersion: apps/v1\nkind: Deployment\n"));
  EXPECT_EQ(ok({"get", "deploy", "web", "-o", "jsonpath={.spec.replicas} {.spec.template.spec.containers[0].image}"}),
            "2 nginx");
  EXPECT_THAT(ok({"get", "deploy", "-o", "custom-columns=NAME:.metadata.name,STRATEGY:.spec.strategy.type"}),
              MatchesRegex("NAME +STRATEGY\nweb +RollingUpdate\n"));
  EXPECT_EQ(ok({"get", "deploy", "-o", "go-template={{range .items}}{{.metadata.name}}{{end}}"}), "web");
  EXPECT_EQ(ok({"get", "deployments.apps", "-o", "name"}), "deployment.apps/web\n");
  EXPECT_EQ(ok({"get", "deployments.v1.apps", "web", "-o", "name"}), "deployment.apps/web\n");
  EXPECT_THAT(refused({"get", "deploy", "none"}), HasSubstr("deployments.apps \"none\" not found"));
  EXPECT_THAT(refused({"get", "unicorns"}), HasSubstr("doesn't have a resource type \"unicorns\""));
}

TEST_F(KubectlRead, SelectsSortsAndPages) {
  for (const char* name : {"b", "a", "c"})
    ok({"create", "-f", "-"}, config_map(name, std::string("k: ") + (name[0] == 'b' ? "one" : "two")));
  const auto names = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"get", "configmap", "-o", "name"});
    return ok(more);
  };
  EXPECT_EQ(names({"-l", "app in (a, b)"}), "configmap/a\nconfigmap/b\n");
  EXPECT_EQ(names({"-l", "app,app!=a"}), "configmap/b\nconfigmap/c\n");
  EXPECT_EQ(names({"--field-selector=metadata.name=c"}), "configmap/c\n");
  EXPECT_EQ(names({"-l", "app", "--chunk-size=1"}), "configmap/a\nconfigmap/b\nconfigmap/c\n");
  EXPECT_THAT(ok({"get", "configmap", "-l", "app", "--sort-by=.data.k", "--no-headers"}),
              ContainsRegex("^b .*\na .*\nc "));
  EXPECT_THAT(ok({"get", "configmap", "-A"}), ContainsRegex(ns + " +a "));
  EXPECT_THAT(refused({"get", "configmap", "--field-selector=data.x=y"}), HasSubstr("not a known field selector"));
}

TEST_F(KubectlRead, ShowsAllOfANamespace) {
  ok({"create", "deployment", "web", "--image=nginx"});
  ok({"create", "service", "clusterip", "web", "--tcp=80"});
  ok({"run", "p", "--image=busybox"});
  EXPECT_THAT(ok({"get", "all"}),
              AllOf(ContainsRegex("pod/p +0/1 +Pending +0 "), ContainsRegex("service/web +ClusterIP +10"),
                    ContainsRegex("deployment.apps/web +0/1 ")));
  EXPECT_EQ(ok({"get", "deploy,svc", "-o", "name"}), "deployment.apps/web\nservice/web\n");
}

TEST_F(KubectlRead, WatchesEachChangeOnce) {
  ok({"create", "-f", "-"}, config_map("a", "x: '1'"));
  Running watch(command({"get", "configmap", "-l", "app=a", "-w", "--output-watch-events"}));
  const auto line = [&] { return watch.line().value_or("the watch has ended"); };
  EXPECT_THAT(line(), MatchesRegex("EVENT +NAME +DATA +AGE"));
  EXPECT_THAT(line(), MatchesRegex("ADDED +a +1 +.*"));
  ok({"patch", "configmap", "a", "-p", R"({"data": {"y": "2"}})"});
  EXPECT_THAT(line(), MatchesRegex("MODIFIED +a +2 +.*"));
  ok({"label", "configmap", "a", "app=b", "--overwrite"});  // out of what was asked for
  EXPECT_THAT(line(), MatchesRegex("DELETED +a +2 +.*"));
  ok({"label", "configmap", "a", "app=a", "--overwrite"});
  EXPECT_THAT(line(), MatchesRegex("ADDED +a +2 +.*"));
  ok({"delete", "configmap", "a"});
  EXPECT_THAT(line(), MatchesRegex("DELETED +a +2 +.*"));
}

TEST_F(KubectlRead, WaitsForAConditionAndForTheEnd) {
  ok({"create", "deployment", "web", "--image=nginx"});
  EXPECT_THAT(refused({"wait", "--for=condition=Available", "deploy/web", "--timeout=0"}), HasSubstr("condition"));
  Running available(command({"wait", "--for=condition=Available", "deploy/web", "--timeout=120s"}));
  set_status("/apis/apps/v1/namespaces/*/deployments/web",
             R"({"conditions": [{"type": "Available", "status": "True", "reason": "x", "message": "y"}]})");
  EXPECT_EQ(available.line(), "deployment.apps/web condition met");
  EXPECT_EQ(available.wait(), 0);
  if (client_minor() >= 23) {
    EXPECT_EQ(ok({"wait", "--for=jsonpath={.spec.replicas}=1", "deploy/web"}), "deployment.apps/web condition met\n");
  }
  Running gone(command({"wait", "--for=delete", "deploy/web", "--timeout=120s"}));
  ok({"delete", "deploy", "web"});
  expect_gone(gone);
}

TEST_F(KubectlRead, ExplainsWhatTheServerHas) {
  EXPECT_THAT(ok({"explain", "deployment.spec.replicas"}), ContainsRegex("FIELD: +replicas <integer>"));
  EXPECT_THAT(
      ok({"explain", "pod.spec"}),
      AllOf(ContainsRegex("KIND: +Pod"), ContainsRegex("containers\t<\\[\\]Container>|containers\t<\\[\\]Object>")));
  EXPECT_THAT(ok({"explain", "deploy", "--recursive"}), HasSubstr("maxUnavailable"));
  EXPECT_THAT(ok({"explain", "jobs", "--api-version=batch/v1"}), ContainsRegex("KIND: +Job"));
  EXPECT_THAT(refused({"explain", "pod.spec.nothing"}), HasSubstr("does not exist"));
}

// What our server has no words of is in other tests; each row here is one that kubectl prints.
TEST_F(KubectlRead, ListsItsResourcesAndVersions) {
  EXPECT_THAT(ok({"api-resources"}), AllOf(ContainsRegex("\npods +po +v1 +true +Pod\n"),
                                           ContainsRegex("\ndeployments +deploy +apps/v1 +true +Deployment\n"),
                                           ContainsRegex("\nnodes +no +v1 +false +Node\n")));
  EXPECT_THAT(ok({"api-resources", "--namespaced=false", "-o", "name"}),
              AllOf(HasSubstr("clusterroles.rbac.authorization.k8s.io\n"), Not(HasSubstr("pods\n"))));
  EXPECT_THAT(ok({"api-resources", "--api-group=apps", "--verbs=list,watch", "-o", "name"}),
              AllOf(HasSubstr("statefulsets.apps\n"), Not(HasSubstr("pods"))));
  EXPECT_THAT(ok({"api-versions"}),
              AllOf(HasSubstr("apps/v1\n"), HasSubstr("\nrbac.authorization.k8s.io/v1\n"), HasSubstr("\nv1\n")));
  EXPECT_THAT(ok({"cluster-info"}), HasSubstr(cluster().url()));
  EXPECT_THAT(ok({"version"}), HasSubstr(cluster().version()));
  EXPECT_EQ(ok({"get", "--raw", "/readyz"}), "ok");
}

TEST_F(KubectlRead, TellsEventsAndDescribes) {
  ok({"run", "p", "--image=busybox", "--labels=app=p"});
  ok({"create", "-f", "-"}, fmt::format(R"({{"apiVersion": "v1", "kind": "Event", "metadata": {{"name": "p.1"}},
    "involvedObject": {{"apiVersion": "v1", "kind": "Pod", "name": "p", "namespace": "{}", "uid": "{}"}},
    "type": "Warning", "reason": "Spilled", "message": "the milk", "count": 3,
    "firstTimestamp": "2026-01-02T03:04:05Z", "lastTimestamp": "2026-01-02T03:04:05Z"}})",
                                        ns, field("pod/p", ".metadata.uid")));
  EXPECT_THAT(ok({"get", "events"}), ContainsRegex("Warning +Spilled +pod/p +the milk"));
  EXPECT_EQ(ok({"get", "events", "--field-selector=involvedObject.name=p,type=Warning", "-o", "name"}), "event/p.1\n");
  EXPECT_THAT(ok({"describe", "pod", "p"}), AllOf(ContainsRegex("Name: +p\n"), ContainsRegex("Image: +busybox"),
                                                  ContainsRegex("Spilled .* the milk")));
  if (client_minor() >= 26) {
    EXPECT_THAT(ok({"events", "--for", "pod/p"}), ContainsRegex("Warning +Spilled +Pod/p +the milk"));
    EXPECT_THAT(ok({"events", "--types=Normal"}), Not(HasSubstr("Spilled")));
  }
  ok({"create", "deployment", "web", "--image=nginx"});
  EXPECT_THAT(ok({"describe", "deployment", "web"}),
              AllOf(ContainsRegex("Selector: +app=web"), ContainsRegex("Replicas: +1 desired")));
  ok({"create", "service", "clusterip", "web", "--tcp=80"});
  EXPECT_THAT(ok({"describe", "service", "web"}), ContainsRegex("Type: +ClusterIP"));
  EXPECT_THAT(ok({"describe", "namespace", ns}), ContainsRegex("Status: +Active"));
}

constexpr const char* kDefinition = R"(apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: boats.{0}.example.com}}
spec:
  group: {0}.example.com
  scope: Namespaced
  names: {{kind: Boat, plural: boats, singular: boat, shortNames: [bo], categories: [fleet{0}]}}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {{status: {{}}, scale: {{specReplicasPath: .spec.crew, statusReplicasPath: .status.crew}}}}
    additionalPrinterColumns: [{{name: Crew, type: integer, jsonPath: .spec.crew}}]
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            description: What it should be.
            properties:
              crew: {{type: integer, minimum: 1, default: 2, description: How many sail it.}}
              flag: {{type: string}}
            x-kubernetes-validations: [{{rule: "!has(self.flag) || self.crew > 1", message: "who raises the flag?"}}]
          status: {{type: object, properties: {{crew: {{type: integer}}}}}}
)";

TEST_F(KubectlRead, TakesACustomResourceForItsOwn) {
  const std::string group = ns + ".example.com";
  EXPECT_EQ(ok({"apply", "-f", "-"}, fmt::format(kDefinition, ns)),
            "customresourcedefinition.apiextensions.k8s.io/boats." + group + " created\n");
  ok({"wait", "--for=condition=Established", "crd/boats." + group, "--timeout=120s"});
  const auto boat = [&](const std::string& spec) {
    return "apiVersion: " + group + "/v1\nkind: Boat\nmetadata: {name: b}\nspec: {" + spec + "}\n";
  };
  const std::string name = "boat." + group + "/b";
  EXPECT_EQ(ok({"apply", "-f", "-"}, boat("flag: red")), name + " created\n");
  EXPECT_THAT(ok({"get", "bo"}), MatchesRegex("NAME +CREW\nb +2\n"));
  EXPECT_EQ(ok({"get", "fleet" + ns, "-o", "name"}), name + "\n");
  EXPECT_EQ(ok({"scale", "boat/b", "--replicas=5"}), name + " scaled\n");
  EXPECT_EQ(field("boat/b", ".spec.crew"), "5");
  EXPECT_THAT(refused({"apply", "-f", "-"}, boat("crew: 0")), HasSubstr("should be greater than or equal to 1"));
  EXPECT_THAT(refused({"apply", "-f", "-"}, boat("crew: 1, flag: red")), HasSubstr("who raises the flag?"));
  EXPECT_THAT(refused({"apply", "--validate=true", "-f", "-"}, boat("sails: 3")),
              AllOf(HasSubstr("unknown field"), HasSubstr("sails")));
  EXPECT_EQ(ok({"apply", "--server-side", "--force-conflicts", "-f", "-"}, boat("crew: 7")),
            name + " serverside-applied\n");
  EXPECT_EQ(field("boat/b", ".spec.crew"), "7");
  EXPECT_THAT(ok({"explain", "boat.spec.crew"}),
              AllOf(ContainsRegex("FIELD: +crew <integer>"), HasSubstr("How many sail it.")));
  EXPECT_THAT(ok({"describe", "boat", "b"}), ContainsRegex("Crew: +7"));
  ok({"delete", "crd", "boats." + group, "--timeout=120s"});
  EXPECT_THAT(refused({"get", "boats." + group}), HasSubstr("boats"));
}

}  // namespace
}  // namespace kopper::testing
