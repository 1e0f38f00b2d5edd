#include "kopper/client/config.h"

#include <map>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/base/error.h"
#include "kopper/client/detail/proxy_env.h"
#include "kopper/client/detail/temp_dir.h"
#include "kopper/client/in_cluster.h"
#include "kopper/client/kubeconfig.h"

namespace kopper::client {
namespace {

using testing::HasSubstr;

std::string kubeconfig(std::string_view name) {
  return fmt::format(R"(
current-context: {0}
clusters: [{{name: {0}, cluster: {{server: "https://{0}"}}}}]
contexts: [{{name: {0}, context: {{cluster: {0}}}}}]
)",
                     name);
}

class LoadConfig : public testing::Test {
 protected:
  LoadConfig() {
    env_["HOME"] = dir_.path("home");
    options_.env = [this](std::string_view name) { return env_[std::string(name)]; };
    options_.service_account_dir = dir_.path("sa");
  }

  void be_a_pod() {
    env_["KUBERNETES_SERVICE_HOST"] = "10.96.0.1";
    env_["KUBERNETES_SERVICE_PORT"] = "443";
    dir_.write("sa/token", "abc\n");
    dir_.write("sa/ca.crt", "pem");
    dir_.write("sa/namespace", "apps\n");
  }

  Config load() const { return load_config(options_); }
  std::string failure() const {
    try {
      load();
    } catch (const Error& error) {
      EXPECT_EQ(error.code, Code::Invalid);
      return error.what();
    }
    return "no error";
  }

  detail::TempDir dir_;
  std::map<std::string, std::string> env_;
  LoadOptions options_;
};

TEST_F(LoadConfig, TakesTheFlagBeforeAllElse) {
  be_a_pod();
  env_["KUBECONFIG"] = dir_.write("env", kubeconfig("env"));
  options_.kubeconfig = dir_.write("flag", kubeconfig("flag"));
  EXPECT_EQ(load().server, "https://flag");
  EXPECT_EQ(load().source, fmt::format("kubeconfig {}, context flag", dir_.path("flag")));
}

TEST_F(LoadConfig, TakesTheListBeforeThePod) {
  be_a_pod();
  env_["KUBECONFIG"] = dir_.write("env", kubeconfig("env"));
  EXPECT_EQ(load().server, "https://env");
}

TEST_F(LoadConfig, TakesThePodBeforeHome) {
  be_a_pod();
  dir_.write("home/.kube/config", kubeconfig("home"));
  EXPECT_EQ(load().server, "https://10.96.0.1:443");
  options_.context = "home";
  EXPECT_EQ(load().server, "https://home");
}

TEST_F(LoadConfig, TakesHomeLast) {
  dir_.write("home/.kube/config", kubeconfig("home"));
  EXPECT_EQ(load().server, "https://home");
}

TEST_F(LoadConfig, MergesTheListAndSkipsMissingFiles) {
  const auto one = dir_.write("one", kubeconfig("one"));
  const auto two = dir_.write("two", kubeconfig("two"));
  env_["KUBECONFIG"] = fmt::format(":{}::{}:{}:{}", dir_.path("none"), one, one, two);
  EXPECT_EQ(load().server, "https://one");
  options_.context = "two";
  EXPECT_EQ(load().server, "https://two");
}

TEST_F(LoadConfig, AMissingFlagFileIsAnError) {
  options_.kubeconfig = dir_.path("none");
  EXPECT_EQ(failure(), fmt::format("kubeconfig {}: no such file", dir_.path("none")));
}

TEST_F(LoadConfig, AFolderIsAnError) {
  options_.kubeconfig = dir_.path();
  EXPECT_THAT(failure(), HasSubstr(fmt::format("kubeconfig {}: ", dir_.path())));
}

TEST_F(LoadConfig, SaysWhatWasTried) {
  env_["KUBECONFIG"] = dir_.path("none");
  EXPECT_EQ(failure(),
            fmt::format("no cluster configured: give --kubeconfig; tried KUBECONFIG={} (no such file), in-cluster "
                        "(KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT not set), {} (no such file)",
                        dir_.path("none"), dir_.path("home/.kube/config")));
}

TEST_F(LoadConfig, ABadFileInTheListIsAnErrorEvenWhenOthersAreGood) {
  const auto bad = dir_.write("bad", "users: 1");
  env_["KUBECONFIG"] = fmt::format("{}:{}", dir_.write("one", kubeconfig("one")), bad);
  EXPECT_EQ(failure(), fmt::format("kubeconfig {}: users: expected a list, found an integer", bad));
}

TEST_F(LoadConfig, PodNamesItsFiles) {
  be_a_pod();
  const auto config = load();
  EXPECT_EQ(config.token_file, dir_.path("sa/token"));
  EXPECT_EQ(config.ca.file, dir_.path("sa/ca.crt"));
  EXPECT_EQ(config.token, "");
  EXPECT_EQ(config.namespace_, "apps");
  EXPECT_EQ(config.source, "in-cluster");
}

TEST_F(LoadConfig, PodWithAnIpv6Service) {
  be_a_pod();
  env_["KUBERNETES_SERVICE_HOST"] = "fd00:10:96::1";
  EXPECT_EQ(load().server, "https://[fd00:10:96::1]:443");
}

TEST_F(LoadConfig, PodWithoutATokenOrWithABadPort) {
  be_a_pod();
  std::filesystem::remove(dir_.path("sa/token"));
  EXPECT_THAT(failure(), HasSubstr(fmt::format("in-cluster: {}: no such file", dir_.path("sa/token"))));
  env_["KUBERNETES_SERVICE_PORT"] = "https";
  EXPECT_EQ(failure(), "in-cluster: KUBERNETES_SERVICE_PORT: \"https\" is not a port");
}

TEST_F(LoadConfig, AProxyFromTheEnvironment) {
  options_.kubeconfig = dir_.write("config", kubeconfig("api.example.com"));
  EXPECT_EQ(load().proxy_url, "");
  env_["HTTP_PROXY"] = "http://wrong:1";
  env_["https_proxy"] = "proxy:3128";
  EXPECT_EQ(load().proxy_url, "http://proxy:3128");
  env_["HTTPS_PROXY"] = "socks5://upper:1080";
  EXPECT_EQ(load().proxy_url, "socks5://upper:1080");
  env_["NO_PROXY"] = "other.com, .Example.com";
  EXPECT_EQ(load().proxy_url, "");
}

TEST(ProxyFromEnv, NoProxy) {
  const auto proxied = [](std::string_view server, std::string_view no_proxy) {
    return !detail::proxy_from_env(server, [&](const char* name) {
              return std::string_view(name) == "NO_PROXY" ? std::string(no_proxy) : std::string("http://proxy");
            }).empty();
  };
  EXPECT_TRUE(proxied("https://api.example.com", ""));
  EXPECT_TRUE(proxied("http://api.example.com", ",,"));
  EXPECT_FALSE(proxied("https://api.example.com", "*"));
  EXPECT_FALSE(proxied("https://api.example.com", "example.com"));
  EXPECT_FALSE(proxied("https://example.com", "example.com"));
  EXPECT_TRUE(proxied("https://example.com", ".example.com"));
  EXPECT_TRUE(proxied("https://badexample.com", "example.com"));
  EXPECT_FALSE(proxied("https://api.example.com:6443", "example.com:6443"));
  EXPECT_TRUE(proxied("https://api.example.com:6443", "example.com:443"));
  EXPECT_FALSE(proxied("https://10.1.2.3:6443", "10.1.2.3"));
  EXPECT_FALSE(proxied("https://10.1.2.3:6443", "10.0.0.0/8"));
  EXPECT_TRUE(proxied("https://11.1.2.3:6443", "10.0.0.0/8,10.0.0.0/99,10/8,x/8"));
  EXPECT_FALSE(proxied("https://[fd00::1]:6443", "fd00::/8"));
  EXPECT_FALSE(proxied("https://[fd00::1]:6443", "[fd00::1]:6443"));
  EXPECT_FALSE(proxied("https://[fd00::1]:6443", "fd00::1"));
  EXPECT_FALSE(proxied("https://localhost:6443", ""));
  EXPECT_FALSE(proxied("https://127.8.0.1:6443", ""));
  EXPECT_FALSE(proxied("https://[::1]:6443", ""));
}

TEST_F(LoadConfig, WritesForTheOwnerOnly) {
  const auto parsed = parse_kubeconfig(kubeconfig("x"), "");
  ASSERT_TRUE(parsed);
  const auto file = dir_.path("new/folder/config");
  write_kubeconfig(file, *parsed);
  using std::filesystem::perms;
  EXPECT_EQ(std::filesystem::status(file).permissions(), perms::owner_read | perms::owner_write);
  options_.kubeconfig = file;
  EXPECT_EQ(load().server, "https://x");
}

}  // namespace
}  // namespace kopper::client
