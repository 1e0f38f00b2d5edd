#include "kopper/client/exec_plugin.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/client/detail/temp_dir.h"
#include "kopper/rt/file.h"
#include "kopper/rt/scope.h"

namespace kopper::client {
namespace {

using testing::HasSubstr;
using testing::Not;
using namespace std::chrono_literals;

constexpr std::string_view kV1 = "client.authentication.k8s.io/v1";

class ExecPluginTest : public testing::Test {
 protected:
  ExecPluginTest() {
    config_.server = "https://10.0.0.1:6443";
    config_.exec.emplace();
    config_.exec->api_version = kV1;
    config_.exec->interactive_mode = InteractiveMode::Never;
  }

  // A plugin that counts its runs in $n and writes the count to `count`.
  void use_script(std::string_view body) {
    config_.exec->command = dir_.write_script("plugin", fmt::format(R"(#!/bin/bash
n=$(( $(cat {0}/count 2>/dev/null || echo 0) + 1 )); echo $n > {0}/count
{1}
)",
                                                                    dir_.path(), body));
  }

  void print(std::string_view status, std::string_view version = kV1) {
    use_script(fmt::format(R"(cat <<END
{{"kind":"ExecCredential","apiVersion":"{}","status":{}}}
END)",
                           version, status));
  }

  int runs() const {
    const auto file = dir_.path("count");
    return rt::file_stamp(file) ? std::stoi(rt::read_file(file)) : 0;
  }

  ExecPlugin::Credential get(ExecPlugin& plugin) { return loop_.run(plugin.get()); }
  std::string failure(Code code = Code::Unauthorized) {
    ExecPlugin plugin(config_);
    try {
      get(plugin);
    } catch (const Error& error) {
      EXPECT_EQ(error.code, code);
      EXPECT_THAT(error.what(), Not(HasSubstr("\n")));
      EXPECT_THAT(error.what(), Not(HasSubstr("s3cret")));
      return error.what();
    }
    return "no error";
  }
  std::string name() const { return fmt::format("exec plugin {}: ", config_.exec->command); }

  rt::Loop loop_{rt::ClockMode::Manual};
  detail::TempDir dir_;
  Config config_;
};

TEST_F(ExecPluginTest, KeepsATokenThatDoesNotExpire) {
  print(R"({"token":"t$n"})");
  ExecPlugin plugin(config_);
  EXPECT_EQ(get(plugin)->token, "t1");
  loop_.advance(24h);
  EXPECT_EQ(get(plugin)->token, "t1");
  EXPECT_EQ(runs(), 1);
}

TEST_F(ExecPluginTest, RunsAgainWhenTheTokenExpired) {
  print(R"({"token":"t$n","expirationTimestamp":"2026-01-01T00:10:00Z"})");
  ExecPlugin plugin(config_);
  EXPECT_EQ(get(plugin)->token, "t1");
  loop_.advance(9min + 59s);
  EXPECT_EQ(get(plugin)->token, "t1");
  loop_.advance(1s);
  EXPECT_EQ(get(plugin)->token, "t2");
}

TEST_F(ExecPluginTest, RenewsWhatWasRefusedOnce) {
  print(R"({"token":"t$n"})");
  ExecPlugin plugin(config_);
  const auto first = get(plugin);
  EXPECT_EQ(loop_.run(plugin.renew(first))->token, "t2");
  EXPECT_EQ(loop_.run(plugin.renew(first))->token, "t2");
  EXPECT_EQ(runs(), 2);
}

// outlives: both are locals of the test that joins
Task<> store(ExecPlugin& plugin, std::vector<std::string>& tokens) {
  const auto credential = co_await plugin.get();
  tokens.push_back(credential->token);
}

TEST_F(ExecPluginTest, ManyCallersShareOneRun) {
  print(R"({"token":"t$n"})");
  ExecPlugin plugin(config_);
  std::vector<std::string> tokens;
  rt::Scope scope;
  for (int i = 0; i < 8; ++i) scope.spawn(store(plugin, tokens));
  loop_.run(scope.join());
  EXPECT_THAT(tokens, testing::AllOf(testing::SizeIs(8), testing::Each("t1")));
  EXPECT_EQ(runs(), 1);
}

TEST_F(ExecPluginTest, TheNextCallerTakesOverFromACancelledOne) {
  print(R"({"token":"t$n"})");
  ExecPlugin plugin(config_);
  std::vector<std::string> tokens;
  rt::Scope first;
  rt::Scope second;
  first.spawn(store(plugin, tokens));
  loop_.poll();
  second.spawn(store(plugin, tokens));
  loop_.poll();
  first.cancel();
  loop_.run(second.join());
  EXPECT_EQ(tokens.size(), 1U);
}

TEST_F(ExecPluginTest, GivesArgumentsAndEnvironment) {
  print(R"({"token":"$1-$2-$FLAVOUR"})");
  config_.exec->args = {"a b", "c"};
  config_.exec->env = {{"FLAVOUR", "mint"}};
  EXPECT_THAT(failure(), HasSubstr("status.token: not a token"));
  config_.exec->args = {"a", "c"};
  ExecPlugin plugin(config_);
  EXPECT_EQ(get(plugin)->token, "a-c-mint");
}

TEST_F(ExecPluginTest, GivesClusterInfoWhenAsked) {
  use_script(fmt::format(R"(echo "$KUBERNETES_EXEC_INFO" > {}/info
echo '{{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1","status":{{"token":"t"}}}}')",
                         dir_.path()));
  config_.exec->api_version = "client.authentication.k8s.io/v1beta1";
  ExecPlugin without(config_);
  get(without);
  EXPECT_EQ(
      rt::read_file(dir_.path("info")),
      R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1","spec":{"interactive":false}})"
      "\n");

  config_.exec->provide_cluster_info = true;
  config_.exec->cluster_config = json::Object{{"audience", "x"}};
  config_.ca.file = dir_.write("ca.crt", "pem");
  config_.tls_server_name = "api";
  config_.proxy_url = "http://proxy:3128";
  ExecPlugin with(config_);
  get(with);
  EXPECT_EQ(rt::read_file(dir_.path("info")),
            R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1","spec":{"cluster":{)"
            R"("server":"https://10.0.0.1:6443","tls-server-name":"api","certificate-authority-data":"cGVt",)"
            R"("proxy-url":"http://proxy:3128","config":{"audience":"x"}},"interactive":false}})"
            "\n");
}

TEST_F(ExecPluginTest, AMissingAuthorityIsNotAMissingPlugin) {
  config_.exec->provide_cluster_info = true;
  config_.ca.file = dir_.path("ca.crt");
  print(R"({"token":"t"})");
  EXPECT_THAT(failure(Code::Invalid), HasSubstr(config_.ca.file));
}

TEST_F(ExecPluginTest, AcceptsACertificate) {
  print(R"({"clientCertificateData":"cert","clientKeyData":"key"})");
  ExecPlugin plugin(config_);
  const auto credential = get(plugin);
  EXPECT_EQ(credential->client_certificate, "cert");
  EXPECT_EQ(credential->client_key, "key");
}

TEST_F(ExecPluginTest, FailureCarriesThePluginsWords) {
  use_script("echo 'line one' >&2; echo 'please log in' >&2; echo s3cret; exit 3");
  EXPECT_EQ(failure(), name() + "exit code 3: line one please log in");
}

TEST_F(ExecPluginTest, FailureWithoutWords) {
  use_script("kill -9 $$");
  EXPECT_EQ(failure(), name() + "killed by signal 9 (Killed)");
}

TEST_F(ExecPluginTest, FailureIsBounded) {
  use_script("for i in {1..2000}; do echo 0123456789 >&2; done; echo last >&2; exit 1");
  const auto text = failure();
  EXPECT_LT(text.size(), 1500U);
  EXPECT_TRUE(text.ends_with("last"));
}

TEST_F(ExecPluginTest, MissingCommandShowsTheInstallHint) {
  config_.exec->command = "kopper-no-such-plugin";
  config_.exec->install_hint = "\n  Get it from\n  https://example.com\n";
  EXPECT_EQ(failure(), "exec plugin kopper-no-such-plugin: not found: Get it from https://example.com");
}

TEST_F(ExecPluginTest, BadOutput) {
  use_script("echo s3cret");
  EXPECT_THAT(failure(), HasSubstr(name() + "its output is not JSON"));
  use_script("echo '{\"token\":\"s3cret\"}'");
  EXPECT_EQ(failure(), name() + "its output is not an ExecCredential");
  print(R"({"token":"s3cret"})", "client.authentication.k8s.io/v1beta1");
  EXPECT_EQ(failure(), name() +
                           "apiVersion: expected \"client.authentication.k8s.io/v1\", found "
                           "\"client.authentication.k8s.io/v1beta1\"");
  print("null");
  EXPECT_EQ(failure(), name() + "status: missing");
  print("{}");
  EXPECT_EQ(failure(), name() + "status: has neither a token nor a client certificate");
  print(R"({"clientKeyData":"s3cret"})");
  EXPECT_EQ(failure(), name() + "status: clientCertificateData and clientKeyData come together");
  print(R"({"token":["s3cret"]})");
  EXPECT_EQ(failure(), name() + "status.token: expected a string");
  print(R"({"token":"s3cret","expirationTimestamp":"tomorrow"})");
  EXPECT_EQ(failure(), name() + "status.expirationTimestamp: not a time");
}

TEST_F(ExecPluginTest, AlwaysInteractiveNeedsATerminal) {
  config_.exec->interactive_mode = InteractiveMode::Always;
  EXPECT_THAT(failure(), HasSubstr("interactiveMode is Always"));
  EXPECT_EQ(runs(), 0);
}

TEST_F(ExecPluginTest, GivesUpAfterAMinute) {
  use_script("exec sleep 600");
  ExecPlugin plugin(config_);
  rt::Scope scope;
  std::vector<std::string> tokens;
  scope.spawn(store(plugin, tokens));
  loop_.poll();
  loop_.advance(61s);
  try {
    loop_.run(scope.join());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code, Code::Timeout);
    EXPECT_THAT(error.what(), HasSubstr(name()));
  }
}

}  // namespace
}  // namespace kopper::client
