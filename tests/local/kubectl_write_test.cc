// kubectl as people write with it: create, apply, edit, patch, scale, replace, delete.
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "local/kubectl.h"

namespace kopper::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

using KubectlWrite = Kubectl;

TEST_F(KubectlWrite, CreatesEveryKindItHasAVerbFor) {
  EXPECT_EQ(ok({"create", "deployment", "web", "--image=nginx", "--replicas=2"}), "deployment.apps/web created\n");
  EXPECT_EQ(ok({"create", "configmap", "c", "--from-literal=a=1"}), "configmap/c created\n");
  EXPECT_EQ(ok({"create", "secret", "generic", "s", "--from-literal=password=x"}), "secret/s created\n");
  EXPECT_EQ(ok({"create", "service", "clusterip", "web", "--tcp=80:8080"}), "service/web created\n");
  EXPECT_EQ(ok({"create", "service", "nodeport", "outside", "--tcp=80"}), "service/outside created\n");
  EXPECT_EQ(ok({"create", "serviceaccount", "app"}), "serviceaccount/app created\n");
  EXPECT_EQ(ok({"create", "role", "r", "--verb=get", "--resource=pods"}), "role.rbac.authorization.k8s.io/r created\n");
  EXPECT_EQ(ok({"create", "rolebinding", "r", "--role=r", "--serviceaccount=" + ns + ":app"}),
            "rolebinding.rbac.authorization.k8s.io/r created\n");
  EXPECT_EQ(ok({"create", "job", "once", "--image=busybox", "--", "true"}), "job.batch/once created\n");
  EXPECT_EQ(ok({"create", "quota", "q", "--hard=pods=5"}), "resourcequota/q created\n");
  EXPECT_EQ(ok({"create", "ingress", "i", "--rule=example.com/=web:80"}), "ingress.networking.k8s.io/i created\n");
  if (client_minor() >= 21) {  // before, they speak of beta versions that are gone
    EXPECT_EQ(ok({"create", "cronjob", "nightly", "--image=busybox", "--schedule=0 3 * * *"}),
              "cronjob.batch/nightly created\n");
    EXPECT_EQ(ok({"create", "job", "now", "--from=cronjob/nightly"}), "job.batch/now created\n");
    EXPECT_EQ(ok({"create", "poddisruptionbudget", "p", "--selector=app=web", "--min-available=1"}),
              "poddisruptionbudget.policy/p created\n");
  }
  EXPECT_EQ(field("secret/s", ".data.password"), "eA==");
  EXPECT_EQ(field("service/web", ".spec.ports[0].targetPort"), "8080");
  EXPECT_THAT(field("service/web", ".spec.clusterIP"), StartsWith("10.96."));
  EXPECT_NE(field("service/outside", ".spec.ports[0].nodePort"), "");
}

TEST_F(KubectlWrite, SaysWhyItCannotCreate) {
  ok({"create", "configmap", "c"});
  EXPECT_THAT(refused({"create", "configmap", "c"}), HasSubstr("configmaps \"c\" already exists"));
  EXPECT_THAT(refused({"create", "configmap", "Not_A_Name"}), HasSubstr("a lowercase RFC 1123 subdomain must consist"));
  EXPECT_THAT(refused({"create", "-f", "-"}, "apiVersion: v1\nkind: Unicorn\nmetadata: {name: u}\n"),
              HasSubstr("no matches for kind \"Unicorn\""));
  EXPECT_THAT(refused({"create", "configmap", "c", "-n", "nowhere"}), HasSubstr("namespaces \"nowhere\" not found"));
}

// The old ones ask the server's OpenAPI, the newer ones ask the server.
TEST_F(KubectlWrite, RefusesAMisspelledField) {
  const std::string misspelled =
      "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicaz: 2\n  selector: {matchLabels: "
      "{a: b}}\n  template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}\n";
  EXPECT_THAT(refused({"create", "--validate=true", "-f", "-"}, misspelled),
              AllOf(HasSubstr("unknown field"), HasSubstr("replicaz")));
  EXPECT_EQ(ok({"create", "--validate=false", "-f", "-"}, misspelled), "deployment.apps/web created\n");
}

TEST_F(KubectlWrite, DryRunsChangeNothing) {
  EXPECT_EQ(ok({"create", "configmap", "c", "--dry-run=server"}), "configmap/c created (server dry run)\n");
  EXPECT_THAT(ok({"create", "configmap", "c", "--dry-run=client", "-o", "yaml"}), HasSubstr("name: c"));
  EXPECT_EQ(ok({"apply", "--dry-run=server", "-f", "-"}, config_map("c", "a: '1'")),
            "configmap/c created (server dry run)\n");
  EXPECT_EQ(ok({"get", "configmap", "c", "--ignore-not-found"}), "");
}

TEST_F(KubectlWrite, AppliesAndRemovesWhatIsNoLongerSaid) {
  EXPECT_EQ(ok({"apply", "-f", "-"}, config_map("c", "a: '1', b: '2'")), "configmap/c created\n");
  EXPECT_EQ(ok({"apply", "-f", "-"}, config_map("c", "a: '1', b: '2'")), "configmap/c unchanged\n");
  EXPECT_EQ(ok({"patch", "configmap", "c", "--type=merge", "-p", R"({"data": {"mine": "x"}})"}),
            "configmap/c patched\n");
  EXPECT_EQ(ok({"apply", "-f", "-"}, config_map("c", "a: '3'")), "configmap/c configured\n");
  EXPECT_EQ(field("configmap/c", ".data"), R"({"a":"3","mine":"x"})");
  EXPECT_THAT(ok({"apply", "view-last-applied", "configmap/c"}), HasSubstr("a: \"3\""));
}

TEST_F(KubectlWrite, AppliesALargerObjectTwiceWithoutAChange) {
  const std::string web = R"(apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: main
        image: nginx
        ports: [{containerPort: 80}]
        resources: {requests: {cpu: 100m, memory: 64Mi}}
        readinessProbe: {httpGet: {path: /, port: 80}}
      volumes: [{name: tmp, emptyDir: {}}]
)";
  EXPECT_EQ(ok({"apply", "-f", "-"}, web), "deployment.apps/web created\n");
  EXPECT_EQ(ok({"apply", "-f", "-"}, web), "deployment.apps/web unchanged\n");
  EXPECT_EQ(kubectl({"diff", "-f", "-"}, web).out, "");
  EXPECT_EQ(field("deploy/web", ".metadata.generation"), "1");
}

TEST_F(KubectlWrite, DiffShowsWhatApplyWouldChange) {
  ok({"apply", "-f", "-"}, config_map("c", "a: '1'"));
  const Output same = kubectl({"diff", "-f", "-"}, config_map("c", "a: '1'"));
  EXPECT_EQ(same.exit, 0) << same.err;
  EXPECT_EQ(same.out, "");
  const Output changed = kubectl({"diff", "-f", "-"}, config_map("c", "a: '2'"));
  EXPECT_EQ(changed.exit, 1) << changed.err;
  EXPECT_THAT(changed.out, AllOf(HasSubstr("\n-  a: \"1\"\n"), HasSubstr("\n+  a: \"2\"\n")));
  const Output made = kubectl({"diff", "--server-side", "-f", "-"}, config_map("fresh", "a: '1'"));
  EXPECT_EQ(made.exit, 1) << made.err;
  EXPECT_THAT(made.out, HasSubstr("+  name: fresh"));
  EXPECT_EQ(field("configmap/c", ".data.a"), "1");
}

TEST_F(KubectlWrite, ServerSideApplyGuardsWhatOthersOwn) {
  const auto apply = [&](const char* manager, const char* data, std::vector<std::string> more = {}) {
    std::vector<std::string> args{"apply", "--server-side", std::string("--field-manager=") + manager, "-f", "-"};
    args.insert(args.end(), more.begin(), more.end());
    return kubectl(args, config_map("c", data));
  };
  EXPECT_EQ(apply("first", "a: '1'").out, "configmap/c serverside-applied\n");
  EXPECT_EQ(apply("second", "b: '2'").out, "configmap/c serverside-applied\n");
  const Output fought = apply("second", "a: '2', b: '2'");
  EXPECT_EQ(fought.exit, 1);
  EXPECT_THAT(fought.err, AllOf(HasSubstr("Apply failed with 1 conflict: conflict with \"first\": .data.a"),
                                HasSubstr("--force-conflicts")));
  EXPECT_EQ(field("configmap/c", ".data.a"), "1");
  EXPECT_EQ(apply("second", "a: '2', b: '2'", {"--force-conflicts"}).exit, 0);
  EXPECT_EQ(apply("second", "b: '2'").exit, 0);  // who stops saying what only he owns takes it away
  EXPECT_EQ(field("configmap/c", ".data"), R"({"b":"2"})");
  EXPECT_EQ(field("configmap/c", ".metadata.managedFields[?(@.manager=='second')].operation"), "Apply");
}

TEST_F(KubectlWrite, PrunesWhatTheFilesNoLongerName) {
  const std::string labels = "app in (old, kept)";
  ok({"apply", "-f", "-"}, config_map("old", "a: '1'") + "---\n" + config_map("kept", "a: '1'"));
  const std::string allowed = client_minor() >= 26 ? "--prune-allowlist" : "--prune-whitelist";
  const std::string said =
      ok({"apply", "--prune", "-l", labels, allowed + "=core/v1/ConfigMap", "-f", "-"}, config_map("kept", "a: '1'"));
  EXPECT_THAT(said, AllOf(HasSubstr("configmap/kept unchanged"), HasSubstr("configmap/old pruned")));
  EXPECT_EQ(ok({"get", "configmap", "-l", labels, "-o", "name"}), "configmap/kept\n");
}

TEST_F(KubectlWrite, EditsWithAnEditor) {
  ok({"create", "configmap", "c", "--from-literal=colour=red"});
  {
    const Editor editor("sed -i s/red/blue/");
    EXPECT_EQ(ok({"edit", "configmap", "c"}), "configmap/c edited\n");
  }
  EXPECT_EQ(field("configmap/c", ".data.colour"), "blue");
  const Editor idle("true");
  const Output same = kubectl({"edit", "configmap", "c"});
  EXPECT_THAT(same.out + same.err, HasSubstr("Edit cancelled, no changes made."));
}

TEST_F(KubectlWrite, LabelsAndAnnotates) {
  ok({"create", "configmap", "a"});
  ok({"create", "configmap", "b"});
  EXPECT_EQ(ok({"label", "configmap", "a", "tier=back"}), "configmap/a labeled\n");
  EXPECT_THAT(refused({"label", "configmap", "a", "tier=front"}), HasSubstr("already has a value (back)"));
  EXPECT_EQ(ok({"label", "configmap", "a", "tier=front", "--overwrite"}), "configmap/a labeled\n");
  EXPECT_EQ(ok({"get", "configmap", "-l", "tier=front", "-o", "name"}), "configmap/a\n");
  EXPECT_THAT(ok({"get", "configmap", "a", "-L", "tier"}), ContainsRegex("TIER\na .* front\n"));
  EXPECT_THAT(ok({"get", "configmap", "a", "--show-labels"}), ContainsRegex("LABELS\na .* tier=front\n"));
  EXPECT_THAT(refused({"label", "configmap", "a", "tier=not valid"}), HasSubstr("tier"));
  ok({"label", "configmap", "a", "tier-"});
  EXPECT_EQ(field("configmap/a", ".metadata.labels"), "");
  EXPECT_EQ(ok({"annotate", "configmap", "a", "note=hello world"}), "configmap/a annotated\n");
  EXPECT_EQ(field("configmap/a", ".metadata.annotations.note"), "hello world");
}

TEST_F(KubectlWrite, PatchesInEveryForm) {
  ok({"create", "deployment", "web", "--image=nginx"});
  EXPECT_EQ(ok({"patch", "deployment", "web", "-p",
                R"({"spec": {"template": {"spec": {"containers": [{"name": "side", "image": "busybox"}]}}}})"}),
            "deployment.apps/web patched\n");
  EXPECT_EQ(field("deploy/web", ".spec.template.spec.containers[*].name"), "side nginx");  // merged by name
  ok({"patch", "deployment", "web", "--type=merge", "-p", R"({"metadata": {"labels": {"app": null, "x": "y"}}})"});
  EXPECT_EQ(field("deploy/web", ".metadata.labels"), R"({"x":"y"})");
  ok({"patch", "deployment", "web", "--type=json", "-p",
      R"([{"op": "test", "path": "/spec/replicas", "value": 1}, {"op": "replace", "path": "/spec/replicas", "value": 4}])"});
  EXPECT_EQ(field("deploy/web", ".spec.replicas"), "4");
  EXPECT_EQ(ok({"patch", "deployment", "web", "-p", R"({"spec": {"replicas": 4}})"}),
            "deployment.apps/web patched (no change)\n");
  EXPECT_THAT(
      refused({"patch", "deployment", "web", "--type=json", "-p", R"([{"op": "remove", "path": "/spec/nothing"}])"}),
      StartsWith("The request is invalid"));
  EXPECT_THAT(refused({"patch", "deployment", "web", "-p", R"({"spec": {"selector": {"matchLabels": {"a": "b"}}}})"}),
              AllOf(HasSubstr("The Deployment \"web\" is invalid"), HasSubstr("field is immutable")));
  if (client_minor() >= 24) {
    ok({"patch", "deployment", "web", "--subresource=status", "--type=merge", "-p", R"({"status": {"replicas": 3}})"});
    EXPECT_EQ(field("deploy/web", ".status.replicas"), "3");
  }
}

TEST_F(KubectlWrite, Scales) {
  ok({"create", "deployment", "web", "--image=nginx"});
  EXPECT_EQ(ok({"scale", "deployment/web", "--replicas=3"}), "deployment.apps/web scaled\n");
  EXPECT_EQ(field("deploy/web", ".spec.replicas"), "3");
  EXPECT_THAT(refused({"scale", "deployment/web", "--replicas=9", "--current-replicas=5"}),
              HasSubstr("Expected replicas to be 5, was 3"));
  EXPECT_EQ(field("deploy/web", ".spec.replicas"), "3");
}

TEST_F(KubectlWrite, ReplacesAndRefusesWhatIsStale) {
  ok({"create", "-f", "-"}, config_map("c", "a: '1'"));
  const std::string stale = ok({"get", "configmap", "c", "-o", "json"});
  EXPECT_EQ(ok({"replace", "-f", "-"}, config_map("c", "a: '2'")), "configmap/c replaced\n");
  EXPECT_THAT(refused({"replace", "-f", "-"}, stale),
              AllOf(HasSubstr("(Conflict)"), HasSubstr("the object has been modified")));
  EXPECT_THAT(refused({"replace", "-f", "-"}, config_map("none", "a: '2'")), HasSubstr("(NotFound)"));
  const std::string before = field("configmap/c", ".metadata.uid");
  EXPECT_THAT(ok({"replace", "--force", "-f", "-"}, config_map("c", "a: '3'")), HasSubstr("configmap/c replaced"));
  EXPECT_NE(field("configmap/c", ".metadata.uid"), before);
}

TEST_F(KubectlWrite, Deletes) {
  for (const char* name : {"a", "b", "c", "d"}) ok({"create", "-f", "-"}, config_map(name, "k: v"));
  EXPECT_THAT(ok({"delete", "configmap", "a"}), StartsWith("configmap \"a\" deleted"));
  EXPECT_THAT(refused({"delete", "configmap", "a"}), HasSubstr("configmaps \"a\" not found"));
  EXPECT_EQ(kubectl({"delete", "configmap", "a", "--ignore-not-found"}).exit, 0);
  EXPECT_THAT(ok({"delete", "configmap", "-l", "app=b"}), StartsWith("configmap \"b\" deleted"));
  EXPECT_THAT(ok({"delete", "-f", "-"}, config_map("c", "k: v")), StartsWith("configmap \"c\" deleted"));
  ok({"delete", "configmap", "--all"});
  EXPECT_THAT(ok({"get", "configmap", "-o", "name"}), Not(HasSubstr("configmap/d")));
  ok({"run", "p", "--image=busybox"});
  EXPECT_EQ(kubectl({"delete", "pod", "p", "--force", "--grace-period=0"}).exit, 0);
  EXPECT_EQ(ok({"get", "pod", "p", "--ignore-not-found"}), "");
}

// A finalizer holds it; kubectl waits until somebody takes that away.
TEST_F(KubectlWrite, DeleteWaitsForFinalizers) {
  ok({"create", "configmap", "held"});
  ok({"patch", "configmap", "held", "-p", R"({"metadata": {"finalizers": ["example.com/hold"]}})"});
  Running deletion(command({"delete", "configmap", "held"}));
  EXPECT_THAT(deletion.line().value_or(""), StartsWith("configmap \"held\" deleted"));
  EXPECT_NE(field("configmap/held", ".metadata.deletionTimestamp"), "");
  ok({"patch", "configmap", "held", "-p", R"({"metadata": {"finalizers": null}})"});
  EXPECT_EQ(deletion.wait(), 0);
  EXPECT_EQ(ok({"get", "configmap", "held", "--ignore-not-found"}), "");
}

class KubectlCascade : public Kubectl {
 protected:
  void SetUp() override {
    Kubectl::SetUp();
    if (!cluster().local()) GTEST_SKIP() << "no garbage collector runs beside this kube-apiserver";
    ok({"create", "configmap", "owner"});
    ok({"create", "-f", "-"}, fmt::format(R"({{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {{"name": "owned",
        "finalizers": ["example.com/hold"], "ownerReferences": [{{"apiVersion": "v1", "kind": "ConfigMap",
        "name": "owner", "uid": "{}", "blockOwnerDeletion": true}}]}}}})",
                                          field("configmap/owner", ".metadata.uid")));
  }
  void release() { ok({"patch", "configmap", "owned", "-p", R"({"metadata": {"finalizers": null}})"}); }
};

TEST_F(KubectlCascade, ForegroundEndsTheOwnerLast) {
  ok({"delete", "configmap", "owner", "--cascade=foreground", "--wait=false"});
  EXPECT_EQ(field("configmap/owner", ".metadata.finalizers"), R"(["foregroundDeletion"])");
  Running gone(command({"wait", "--for=delete", "configmap/owner", "--timeout=120s"}));
  release();
  expect_gone(gone);
  EXPECT_EQ(ok({"get", "configmap", "owned", "owner", "--ignore-not-found"}), "");
}

TEST_F(KubectlCascade, BackgroundEndsTheOwnerFirst) {
  ok({"delete", "configmap", "owner", "--cascade=background"});
  EXPECT_EQ(ok({"get", "configmap", "owner", "--ignore-not-found"}), "");
  release();
  while (!ok({"get", "configmap", "owned", "--ignore-not-found"}).empty()) {
  }
}

TEST_F(KubectlCascade, OrphansStay) {
  ok({"delete", "configmap", "owner", "--cascade=orphan"});
  EXPECT_EQ(field("configmap/owned", ".metadata.ownerReferences"), "");
  EXPECT_EQ(field("configmap/owned", ".metadata.deletionTimestamp"), "");
}

TEST_F(KubectlCascade, ANamespaceTakesAllItHas) {
  release();
  Running deletion(command({"delete", "namespace", ns}));
  std::string said;
  while (const auto line = deletion.line()) said += *line + "\n";
  EXPECT_EQ(deletion.wait(), 0);
  EXPECT_THAT(said, HasSubstr("namespace \"" + ns + "\" deleted"));
  EXPECT_THAT(refused({"create", "configmap", "late"}), HasSubstr("not found"));
}

TEST_F(KubectlWrite, Kustomizes) {
  const auto folder = std::filesystem::path(::testing::TempDir()) / ns;
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "c.yaml") << config_map("c", "a: '1'");
  std::ofstream(folder / "kustomization.yaml") << "namePrefix: dev-\ncommonLabels: {team: x}\nresources: [c.yaml]\n"
                                                  "configMapGenerator: [{name: made, literals: [k=v]}]\n";
  EXPECT_THAT(ok({"kustomize", folder.string()}), HasSubstr("name: dev-c"));
  EXPECT_THAT(ok({"apply", "-k", folder.string()}),
              AllOf(HasSubstr("configmap/dev-c created"), ContainsRegex("configmap/dev-made-[a-z0-9]+ created")));
  EXPECT_EQ(field("configmap/dev-c", ".metadata.labels.team"), "x");
  EXPECT_THAT(ok({"delete", "-k", folder.string()}), HasSubstr("configmap \"dev-c\" deleted"));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace kopper::testing
