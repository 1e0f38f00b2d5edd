// The `kopper` program as a person uses it, against a real API server: what it prints and how it exits.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

#include "kopper/json/value.h"

#include "real/cluster.h"

namespace kopper::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

Output kopper(std::vector<std::string> args, const std::string& input = "", const std::string& kubeconfig = {}) {
  args.insert(args.begin(), {KOPPER_PROGRAM, "--kubeconfig", kubeconfig.empty() ? cluster().kubeconfig() : kubeconfig});
  return run(std::move(args), input);
}

std::string config_map(const std::string& name, const std::string& value) {
  return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata: {a: \"" + value + "\"}\n";
}

// A copy of the kubeconfig with `from` replaced by `to`.
std::string changed_kubeconfig(const std::string& from, const std::string& to) {
  std::ifstream in(cluster().kubeconfig());
  std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const auto at = text.find(from);
  if (at == std::string::npos) throw std::runtime_error("the kubeconfig has no " + from);
  text.replace(at, from.size(), to);
  const auto path = cluster().kubeconfig() + ".changed";
  std::ofstream(path) << text;
  return path;
}

TEST(Cli, AppliesGetsAndDeletes) {
  const auto created = kopper({"apply", "-f", "-"}, config_map("one", "1"));
  EXPECT_EQ(created.out, "configmap/one created\n") << created.err;
  EXPECT_EQ(kopper({"apply", "-f", "-"}, config_map("one", "1")).out, "configmap/one unchanged\n");
  EXPECT_EQ(kopper({"apply", "-f", "-"}, config_map("one", "2")).out, "configmap/one configured\n");
  EXPECT_THAT(kopper({"get", "cm", "one"}).out, MatchesRegex("NAME +DATA +AGE\none +1 +[0-9]+s\n"));
  EXPECT_EQ(kopper({"get", "configmaps/one", "-o", "name"}).out, "configmap/one\n");
  const auto object = json::parse(kopper({"get", "cm", "one", "-o", "json"}).out);
  ASSERT_TRUE(object.has_value());
  EXPECT_EQ((*object)["data"].text("a"), "2");
  EXPECT_TRUE((*object)["metadata"]["managedFields"].is_null());
  EXPECT_THAT(kopper({"get", "cm", "one", "-o", "yaml"}).out, HasSubstr("\ndata:\n  a: \"2\"\n"));
  EXPECT_EQ(kopper({"delete", "cm", "one", "--wait"}).out, "configmap/one deleted\n");
  const auto again = kopper({"delete", "cm", "one"});
  EXPECT_EQ(again.exit, 1);
  EXPECT_EQ(again.err, "error: configmap/one not found\n");
  EXPECT_EQ(kopper({"delete", "cm", "one", "--ignore-not-found"}).exit, 0);
}

TEST(Cli, DryRunChangesNothing) {
  EXPECT_EQ(kopper({"apply", "-f", "-", "--dry-run"}, config_map("dry", "1")).out, "configmap/dry created (dry run)\n");
  EXPECT_EQ(kopper({"get", "cm", "dry"}).err, "error: configmaps \"dry\" not found\n");
}

TEST(Cli, AConflictNamesTheManagerAndExitsWith4) {
  ASSERT_EQ(kopper({"apply", "-f", "-", "--field-manager", "first"}, config_map("fought", "1")).exit, 0);
  const auto conflict = kopper({"apply", "-f", "-", "--field-manager", "second"}, config_map("fought", "2"));
  EXPECT_EQ(conflict.exit, 4);
  EXPECT_THAT(conflict.err, HasSubstr("conflict with \"first\": .data.a"));
  EXPECT_EQ(
      kopper({"apply", "-f", "-", "--field-manager", "second", "--force-conflicts"}, config_map("fought", "2")).exit,
      0);
}

TEST(Cli, ADefinitionAndItsObjectsInOneFile) {
  const std::string file = R"(apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.cli.kopper.dev}
spec:
  group: cli.kopper.dev
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, shortNames: [wg]}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer, minimum: 1}}}}}}
---
apiVersion: cli.kopper.dev/v1
kind: Widget
metadata: {name: good}
spec: {size: 3}
---
apiVersion: cli.kopper.dev/v1
kind: Widget
metadata: {name: bad}
spec: {size: 0}
---
apiVersion: cli.kopper.dev/v1
kind: Widget
metadata: {name: also-good}
spec: {size: 1}
)";
  const auto applied = kopper({"apply", "-f", "-"}, file);
  EXPECT_EQ(applied.exit, 5);
  EXPECT_THAT(applied.out, HasSubstr("widget.cli.kopper.dev/good created"));
  EXPECT_THAT(applied.out, HasSubstr("widget.cli.kopper.dev/also-good created"));
  EXPECT_THAT(applied.err, HasSubstr("standard input:19: "));
  EXPECT_THAT(applied.err, HasSubstr("spec.size"));
  EXPECT_THAT(kopper({"get", "wg"}).out, HasSubstr("good"));
}

TEST(Cli, ErrorsAreOneClearLineAndTheirExitCode) {
  const auto unknown = kopper({"get", "foos"});
  EXPECT_EQ(unknown.exit, 1);
  EXPECT_THAT(unknown.err, MatchesRegex("error: [^\n]*foos[^\n]*\n"));

  const auto token =
      kopper({"get", "pods"}, "", changed_kubeconfig("token: " + cluster().admin_token(), "token: wrong"));
  EXPECT_EQ(token.exit, 1);
  EXPECT_EQ(token.err, "error: the server does not accept these credentials (401 Unauthorized)\n");

  const auto dead = kopper({"get", "pods"}, "", changed_kubeconfig(cluster().url(), "https://127.0.0.1:1"));
  EXPECT_EQ(dead.exit, 6);
  EXPECT_THAT(dead.err, MatchesRegex("error: [^\n]*127.0.0.1:1[^\n]*refused[^\n]*\n"));

  const auto file = kopper({"get", "pods"}, "", "/no/such/kubeconfig");
  EXPECT_EQ(file.exit, 5);
  EXPECT_THAT(file.err, MatchesRegex("error: [^\n]*/no/such/kubeconfig[^\n]*\n"));

  const auto forbidden = kopper({"get", "pods", "--as", "nobody"});
  EXPECT_EQ(forbidden.exit, 1);
  EXPECT_THAT(forbidden.err, HasSubstr("User \"nobody\" cannot list resource \"pods\""));
}

TEST(Cli, VersionNamesBoth) {
  const auto version = kopper({"version"});
  EXPECT_THAT(version.out, HasSubstr("kopper: "));
  EXPECT_THAT(version.out, HasSubstr("server: " + cluster().version()));
  EXPECT_THAT(kopper({"version", "--client"}).out, Not(HasSubstr("server")));
}

// One line a change while it happens, over a restart of the server, nothing twice.
TEST(Cli, WatchGoesOnOverARestart) {
  const std::string command = std::string("exec ") + KOPPER_PROGRAM + " --kubeconfig " + cluster().kubeconfig() +
                              " watch cm -l watched=yes -o json & echo $!; wait";
  FILE* pipe = ::popen(command.c_str(), "r");  // NOLINT(cert-env33-c)
  ASSERT_NE(pipe, nullptr);
  const auto line = [pipe] {
    std::string text;
    for (int c = std::fgetc(pipe); c != EOF && c != '\n'; c = std::fgetc(pipe)) text += static_cast<char>(c);
    return text;
  };
  const auto change = [&line] {
    const auto event = json::parse(line()).value();
    return std::string(event.text("type")) + " " + std::string(event["object"]["metadata"].text("name"));
  };
  const auto create = [](const std::string& name) {
    const auto made =
        cluster().kubectl({"create", "-f", "-"}, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name +
                                                     ", labels: {watched: \"yes\"}}\n");
    ASSERT_EQ(made.exit, 0) << made.err;
  };
  const int pid = std::stoi(line());
  create("w1");
  EXPECT_EQ(change(), "ADDED w1");
  cluster().restart_apiserver();
  create("w2");
  EXPECT_EQ(change(), "ADDED w2");
  ASSERT_EQ(cluster().kubectl({"delete", "cm", "w1"}).exit, 0);
  EXPECT_EQ(change(), "DELETED w1");
  EXPECT_EQ(run({"kill", "-INT", std::to_string(pid)}).exit, 0);
  EXPECT_EQ(line(), "");
  EXPECT_EQ(::pclose(pipe), 0);
}

}  // namespace
}  // namespace kopper::testing
