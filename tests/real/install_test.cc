// operator-manager installed as its manifests say: under the service account and the roles that it prints, with nothing
// else, it does its work.
#include <csignal>
#include <filesystem>

#include "kopper/client/request.h"
#include "kopper/rt/file.h"
#include "kopper/rt/process.h"

#include "real/connect.h"

namespace kopper::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr auto kMemcached = R"(
apiVersion: cache.example.com/v1alpha1
kind: Memcached
metadata: {{name: cache, namespace: {}}}
spec: {{size: {}}}
)";

struct Install : Real {
  void SetUp() override {
    Real::SetUp();
    std::filesystem::create_directories(dir());
    manifests = testing::run({KOPPER_OPERATOR_MANAGER, "--print-manifests", "--deploy-namespace", ns}).out;
    const auto applied = cluster().kubectl({"apply", "-f", "-"}, manifests);
    ASSERT_EQ(applied.exit, 0) << applied.err;
  }
  void TearDown() override {
    program.reset();
    // The namespace stays: nobody finishes deleting one here.
    cluster().kubectl({"delete", "--wait=false", "-f", "-"}, manifests);
    std::filesystem::remove_all(dir());
  }

  std::filesystem::path dir() const { return std::filesystem::temp_directory_path() / ("kopper-install-" + ns); }
  std::string log() const { return rt::read_file(dir() / "log"); }

  std::string token() {
    http::Request request;
    request.method = "POST";
    request.target = fmt::format("/api/v1/namespaces/{}/serviceaccounts/operator-manager/token", ns);
    request.headers.set("Content-Type", "application/json");
    request.body = R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{}})";
    const auto made = json::parse(run(client.call(request))).value();
    return std::string(made["status"].text("token"));
  }

  void start() {
    const auto kubeconfig = dir() / "kubeconfig";
    rt::write_file_atomic(kubeconfig,
                          fmt::format(R"(
clusters: [{{name: c, cluster: {{server: "{}", certificate-authority: "{}"}}}}]
users: [{{name: u, user: {{token: "{}"}}}}]
contexts: [{{name: x, context: {{cluster: c, user: u, namespace: {}}}}}]
current-context: x
)",
                                      cluster().url(), cluster().ca_file(), token(), ns),
                          0600);
    rt::ProcessSpec spec;
    spec.argv = {KOPPER_OPERATOR_MANAGER,
                 "--kubeconfig",
                 kubeconfig,
                 "--leader-elect",
                 "--leader-elect-resource-namespace",
                 ns,
                 "--health-probe-bind-address=0",
                 "--metrics-bind-address=0"};
    spec.output_file = dir() / "log";
    program.emplace(spec);
  }
  void apply(int size) {
    const auto applied = cluster().kubectl({"apply", "-f", "-"}, fmt::format(kMemcached, ns, size));
    ASSERT_EQ(applied.exit, 0) << applied.err;
  }
  // Reads until it is so.
  void until(const std::function<bool(const json::Value& live)>& so, const client::Resource& resource) {
    const auto deadline = loop.now() + std::chrono::minutes(1);
    while (loop.now() < deadline) {
      const auto live = run(client.of(resource).find(key("cache")));
      if (live && so(*live)) return;
    }
    FAIL() << log();
  }

  std::string manifests;
  std::optional<rt::Process> program;
};

TEST_F(Install, IsEnoughToWork) {
  const client::Resource memcacheds{
      .group = "cache.example.com", .version = "v1alpha1", .plural = "memcacheds", .kind = "Memcached"};
  const auto deployments = client::resource_of<Deployment>();
  const auto replicas = [](std::int64_t wanted) {
    return [wanted](const json::Value& live) {
      const auto* number = live["spec"]["replicas"].as_int();
      return number != nullptr && *number == wanted;
    };
  };
  apply(2);
  start();
  until(replicas(2), deployments);
  until([](const json::Value& live) { return live["status"]["conditions"].is_array(); }, memcacheds);
  apply(3);
  until(replicas(3), deployments);
  // What is taken away comes back.
  EXPECT_TRUE(run(client.of(deployments).remove(key("cache"))));
  until(replicas(3), deployments);

  program->signal(SIGTERM);
  EXPECT_EQ(run(program->wait()).str(), "exit code 0") << log();
  EXPECT_THAT(log(), Not(HasSubstr("forbidden")));
  EXPECT_THAT(log(), Not(HasSubstr("ERROR")));
}

}  // namespace
}  // namespace kopper::testing
