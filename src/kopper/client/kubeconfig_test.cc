#include "kopper/client/kubeconfig.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kopper::client {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::filesystem::path kGolden = std::filesystem::path(KOPPER_SOURCE_DIR) / "tests/golden/kubeconfig";

std::string slurp(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".yaml" || entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

std::string describe(std::string_view name, const Pem& pem) {
  if (!pem.data.empty()) return fmt::format("  {}: {} bytes inline\n", name, pem.data.size());
  return pem.file.empty() ? "" : fmt::format("  {}: {}\n", name, pem.file);
}

std::string describe(std::string_view name, std::string_view text) {
  return text.empty() ? "" : fmt::format("  {}: {}\n", name, text);
}

std::string describe(const Config& config) {
  std::string out = fmt::format("{}\n", config.source);
  out += describe("server", config.server) + describe("ca", config.ca);
  if (config.insecure) out += "  insecure\n";
  out += describe("tls_server_name", config.tls_server_name) + describe("proxy_url", config.proxy_url);
  if (config.disable_compression) out += "  disable_compression\n";
  out += describe("client_cert", config.client_cert) + describe("client_key", config.client_key);
  out += describe("token", config.token) + describe("token_file", config.token_file);
  out += describe("username", config.username) + describe("password", config.password);
  if (const auto& exec = config.exec) {
    out += fmt::format("  exec: {} {} mode {}{}\n", exec->command, fmt::join(exec->args, " "),
                       static_cast<int>(exec->interactive_mode), exec->provide_cluster_info ? " cluster-info" : "");
    for (const auto& [name, value] : exec->env) out += fmt::format("    {}={}\n", name, value);
  }
  const auto& as = config.impersonate;
  out += describe("as", as.user) + describe("as_uid", as.uid);
  for (const auto& group : as.groups) out += describe("as_group", group);
  for (const auto& [key, values] : as.extra) out += fmt::format("  as_extra: {} = {}\n", key, fmt::join(values, "|"));
  return out + describe("namespace", config.namespace_);
}

Kubeconfig parsed(std::string_view text, std::string_view file = "/k/config") {
  auto result = parse_kubeconfig(text, file);
  if (!result) throw result.error();
  return *std::move(result);
}

std::string failure(const Kubeconfig& kubeconfig, const Overrides& overrides = {}) {
  const auto config = resolve(kubeconfig, overrides);
  return config ? "no error" : config.error().what();
}

constexpr std::string_view kSmall = R"(
current-context: x
clusters:
- name: c
  cluster: {server: "https://10.0.0.1"}
contexts:
- name: x
  context: {cluster: c, user: u}
users:
- name: u
  user: {token: one}
)";

// Each file resolves, in every context, to what stands beside it in a .txt. KOPPER_UPDATE_GOLDEN=1 rewrites those.
TEST(Kubeconfig, ReadsWhatOthersWrite) {
  for (const auto& path : files_in(kGolden)) {
    SCOPED_TRACE(path.filename());
    const auto kubeconfig = parse_kubeconfig(slurp(path), "/etc/kube/config");
    ASSERT_TRUE(kubeconfig) << kubeconfig.error().what();
    std::string got = fmt::format("current: {}\n", kubeconfig->current_context);
    for (const auto& context : kubeconfig->contexts) {
      const auto config = resolve(*kubeconfig, {.context = context.name});
      ASSERT_TRUE(config) << config.error().what();
      got += describe(*config);
    }
    auto expected = path;
    expected.replace_extension(".txt");
    if (std::getenv("KOPPER_UPDATE_GOLDEN")) std::ofstream(expected) << got;
    EXPECT_EQ(got, slurp(expected));
  }
}

TEST(Kubeconfig, WrittenFilesReadTheSame) {
  for (const auto& path : files_in(kGolden)) {
    SCOPED_TRACE(path.filename());
    const auto first = parsed(slurp(path));
    const auto text = to_yaml(first);
    const auto second = parsed(text);
    EXPECT_EQ(to_yaml(second), text);
    EXPECT_EQ(second.other, first.other);
    for (const auto& context : first.contexts) {
      const Overrides chosen{.context = context.name};
      EXPECT_EQ(describe(resolve(second, chosen).value()), describe(resolve(first, chosen).value()));
    }
    for (const auto& cluster : first.clusters) EXPECT_EQ(second.cluster(cluster.name)->other, cluster.other);
  }
}

// The first line of each bad file says what the error is, behind the file's name.
TEST(Kubeconfig, BadOnesNameFileAndField) {
  constexpr std::string_view kMark = "# error: ";
  for (const auto& path : files_in(kGolden / "bad")) {
    SCOPED_TRACE(path.filename());
    const auto text = slurp(path);
    ASSERT_TRUE(text.starts_with(kMark));
    const auto line = text.substr(kMark.size(), text.find('\n') - kMark.size());
    const auto kubeconfig = parse_kubeconfig(text, "/k/config");
    const std::string got = kubeconfig ? failure(*kubeconfig) : kubeconfig.error().what();
    EXPECT_EQ(got, fmt::format("kubeconfig /k/config: {}", line));
    EXPECT_THAT(got, Not(HasSubstr("s3cret")));
    EXPECT_THAT(got, Not(HasSubstr("\n")));
  }
}

TEST(Kubeconfig, SyntaxErrorsAreOneLine) {
  for (const std::string_view text : {"clusters: [", "a: b: c", "\tx", "{\"clusters\": [}", "a: 1\na: 2\n"}) {
    SCOPED_TRACE(text);
    const auto result = parse_kubeconfig(text, "/k/config");
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Code::Invalid);
    EXPECT_THAT(result.error().what(), testing::StartsWith("kubeconfig /k/config: "));
    EXPECT_THAT(result.error().what(), Not(HasSubstr("\n")));
  }
}

TEST(Kubeconfig, EmptyIsEmpty) {
  for (const std::string_view text : {"", "\n", "# nothing\n", "{}", "clusters: null\ncontexts: null\nusers: null\n"}) {
    SCOPED_TRACE(text);
    const auto kubeconfig = parsed(text);
    EXPECT_TRUE(kubeconfig.clusters.empty());
    EXPECT_EQ(failure(kubeconfig), "kubeconfig /k/config: current-context: not set, name a context (there is none)");
  }
}

TEST(Kubeconfig, TooLargeIsRefused) { EXPECT_FALSE(parse_kubeconfig(std::string(9U << 20U, ' '), "/k/config")); }

TEST(Kubeconfig, OnlyWhatIsUsedIsChecked) {
  const auto kubeconfig = parsed(std::string(kSmall) + R"(
- name: old
  user: {exec: {apiVersion: client.authentication.k8s.io/v1alpha1, command: old}}
)");
  EXPECT_TRUE(resolve(kubeconfig, {}));
  EXPECT_THAT(failure(kubeconfig, {.user = "old"}), HasSubstr("users[1].user.exec.apiVersion"));
}

TEST(Kubeconfig, Overrides) {
  const auto kubeconfig = parsed(R"(
clusters:
- {name: c1, cluster: {server: "https://one"}}
- {name: c2, cluster: {server: "https://two"}}
contexts:
- {name: x, context: {cluster: c1, user: u1}}
users:
- {name: u1, user: {token: one}}
- {name: u2, user: {token: two}}
)");
  const auto config = resolve(kubeconfig, {.context = "x", .cluster = "c2", .user = "u2", .namespace_ = "apps"});
  ASSERT_TRUE(config);
  EXPECT_EQ(config->server, "https://two");
  EXPECT_EQ(config->token, "two");
  EXPECT_EQ(config->namespace_, "apps");
  EXPECT_EQ(resolve(kubeconfig, {.cluster = "c1"})->server, "https://one");
  EXPECT_EQ(failure(kubeconfig, {.context = "z"}), "kubeconfig /k/config: no context named \"z\" (there is x)");
  EXPECT_EQ(failure(kubeconfig, {.context = "x", .cluster = "z"}), "kubeconfig /k/config: no cluster named \"z\"");
}

TEST(Kubeconfig, ServerWithoutScheme) {
  const auto server = [](std::string_view cluster) {
    return resolve(parsed(fmt::format("clusters: [{{name: c, cluster: {}}}]", cluster)), {.cluster = "c"})->server;
  };
  EXPECT_EQ(server("{server: 'localhost:8080'}"), "http://localhost:8080");
  EXPECT_EQ(server("{server: 'host:6443', certificate-authority: ca.crt}"), "https://host:6443");
}

TEST(Kubeconfig, MergeTakesTheFirstOfEachName) {
  const std::vector<Kubeconfig> list{
      parsed("users: [{name: red, user: {username: first}}]", "/a/one"),
      parsed(R"(
current-context: x
users: [{name: red, user: {username: second, password: second}}, {name: blue, user: {tokenFile: blue.token}}]
contexts: [{name: x, context: {cluster: c, user: blue}}, {name: "y", context: {cluster: c, user: red}}]
)",
             "/b/two"),
      parsed(R"(
current-context: never
clusters: [{name: c, cluster: {server: "https://c", certificate-authority: ca.crt}}]
contexts: [{name: "y", context: {cluster: gone}}]
)",
             "/c/three"),
  };
  const auto merged = merge_kubeconfigs(list);
  EXPECT_EQ(merged.current_context, "x");
  const auto x = resolve(merged, {});
  ASSERT_TRUE(x) << x.error().what();
  EXPECT_EQ(x->ca.file, "/c/ca.crt");
  EXPECT_EQ(x->token_file, "/b/blue.token");
  const auto y = resolve(merged, {.context = "y"});
  ASSERT_TRUE(y) << y.error().what();
  EXPECT_EQ(y->username, "first");
  EXPECT_EQ(y->password, "");
  EXPECT_EQ(failure(merged, {.context = "z"}),
            "kubeconfig /a/one:/b/two:/c/three: no context named \"z\" (there is x, y)");
}

TEST(Kubeconfig, PluginGetsTheClusterExtension) {
  const auto kubeconfig = parsed(R"(
clusters:
- name: c
  cluster:
    server: https://c
    extensions:
    - {name: other, extension: {a: 1}}
    - {name: client.authentication.k8s.io/exec, extension: {audience: "06e3fbd1"}}
users:
- {name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: login}}}
)");
  const auto config = resolve(kubeconfig, {.cluster = "c", .user = "u"});
  ASSERT_TRUE(config && config->exec);
  EXPECT_EQ(config->exec->cluster_config.text("audience"), "06e3fbd1");
}

}  // namespace
}  // namespace kopper::client
