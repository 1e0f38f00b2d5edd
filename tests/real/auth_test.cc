// Who we are to a real server, and what a person reads when that goes wrong.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "kopper/client/discovery.h"

#include "real/connect.h"

namespace kopper::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

struct Auth : Real {
  // One call with these settings.
  Error refusal(const client::Config& config) {
    return error_of(
        client::Client(client::make_transport(config), {.max_retries = 0}).of<Pod>().list({.namespace_ = ns}));
  }
  // Who the server takes us for.
  std::string user(const client::Config& config) {
    const client::Resource reviews{.group = "authentication.k8s.io",
                                   .version = "v1",
                                   .plural = "selfsubjectreviews",
                                   .kind = "SelfSubjectReview",
                                   .namespaced = false};
    const json::Value review{json::Object{{"apiVersion", "authentication.k8s.io/v1"}, {"kind", "SelfSubjectReview"}}};
    const client::Client asking(client::make_transport(config));
    return std::string(run(asking.of(reviews).create(review))["status"]["userInfo"].text("username"));
  }
};

TEST_F(Auth, KubeconfigContexts) {
  KOPPER_NEEDS_MINOR(28, "SelfSubjectReview");
  for (const auto& [context, name] :
       std::map<std::string, std::string>{{"token", "token-admin"}, {"cert", "cert-admin"}}) {
    client::LoadOptions options;
    options.kubeconfig = cluster().kubeconfig();
    options.context = context;
    EXPECT_EQ(user(client::load_config(options)), name);
  }
}

TEST_F(Auth, AWrongTokenIsOneClearLine) {
  auto config = admin_config();
  config.token = "wrong";
  const auto error = refusal(config);
  EXPECT_EQ(error.code, Code::Unauthorized);
  EXPECT_EQ(error.http_status, 401);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("credentials"), Not(HasSubstr("\n"))));
  EXPECT_EQ(exit_code(error.code), 1);
}

TEST_F(Auth, WhatIsForbiddenNamesTheUserAndTheVerb) {
  auto config = admin_config();
  config.token = cluster().nobody_token();
  const auto error = refusal(config);
  EXPECT_EQ(error.code, Code::Forbidden);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("pods is forbidden: User"), HasSubstr("cannot list resource \"pods\"")));
}

TEST_F(Auth, AServerOfAnotherAuthorityIsRefused) {
  auto config = admin_config();
  config.ca.file = cluster().other_ca_file();
  const auto error = refusal(config);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("certificate"), Not(HasSubstr("\n"))));
  EXPECT_EQ(error.http_status, 0);
}

TEST_F(Auth, AnUnreachableServerIsNamed) {
  auto config = admin_config();
  config.server = "https://127.0.0.1:1";
  const auto error = refusal(config);
  EXPECT_EQ(error.code, Code::Unavailable);
  EXPECT_EQ(exit_code(error.code), 6);
  EXPECT_THAT(error.what(), HasSubstr("127.0.0.1"));
}

TEST_F(Auth, ExecPlugin) {
  KOPPER_NEEDS_MINOR(28, "SelfSubjectReview");
  std::string folder = (std::filesystem::temp_directory_path() / "kopper-plugin-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const auto path = folder + "/plugin";
  std::ofstream(path)
      << "#!/bin/sh\nprintf '{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\","
         "\"status\":{\"token\":\"%s\"}}' \"$TOKEN\"\n";
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  auto config = admin_config();
  config.token.clear();
  client::ExecSpec exec;
  exec.api_version = "client.authentication.k8s.io/v1";
  exec.command = path;
  exec.env = {{"TOKEN", cluster().admin_token()}};
  config.exec = exec;
  EXPECT_EQ(user(config), "token-admin");
  std::filesystem::remove_all(folder);
}

TEST_F(Auth, Impersonation) {
  KOPPER_NEEDS_MINOR(28, "SelfSubjectReview");
  auto config = admin_config();
  config.impersonate.user = "jane";
  EXPECT_EQ(user(config), "jane");
}

}  // namespace
}  // namespace kopper::testing
