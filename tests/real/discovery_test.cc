// What a real server says it serves.
#include "kopper/client/discovery.h"

#include "real/connect.h"

namespace kopper::testing {
namespace {

using ::testing::Contains;
using ::testing::Field;

struct Discovery : Real {};

TEST_F(Discovery, AllNamesOfAKind) {
  client::RestMapper mapper(client);
  for (const auto* name :
       {"deployments", "deployment", "deploy", "Deployment", "deployments.apps", "deployments.v1.apps"}) {
    EXPECT_EQ(run(mapper.find(name)).resource, client::resource_of<Deployment>()) << name;
  }
  EXPECT_EQ(run(mapper.find("ns")).resource, client::resource_of<Namespace>());
  EXPECT_EQ(run(mapper.find("events")).resource.group, "");
  EXPECT_THAT(run(mapper.find("pods")).subresources, Contains("eviction"));
  // A namespace made, and two documents read; before 1.26, one more for each version of each group.
  if (!cluster().before(26)) {
    EXPECT_EQ(wire->targets.size(), 3U);
  }
  EXPECT_EQ(error_of(mapper.find("unicorns")).code, Code::NotFound);
}

TEST_F(Discovery, Version) { EXPECT_EQ(run(client::server_version(client)).git_version, cluster().version()); }

// The old documents say the same.
TEST_F(Discovery, LegacyDocumentsAgree) {
  const auto catalog = run(client::discover(client));
  http::Request request;
  request.target = "/apis/apps/v1";
  const auto legacy = client::parse_legacy_resources(run(client.call(std::move(request))));
  ASSERT_TRUE(legacy);
  for (const auto& resource : legacy->resources) {
    const auto* found = catalog.find(resource.resource.plural + ".v1.apps");
    ASSERT_NE(found, nullptr) << resource.resource.plural;
    EXPECT_EQ(found->resource, resource.resource);
    EXPECT_EQ(found->short_names, resource.short_names);
  }
}

Task<client::Catalog> until_broken(client::Client client) {
  while (true) {
    auto catalog = co_await client::discover(client);
    if (!catalog.broken.empty()) co_return catalog;
  }
}

TEST_F(Discovery, ABrokenApiServiceSpoilsNothing) {
  if (cluster().local()) GTEST_SKIP() << "it keeps APIServices and asks nobody";
  const client::Resource services{.group = "apiregistration.k8s.io",
                                  .version = "v1",
                                  .plural = "apiservices",
                                  .kind = "APIService",
                                  .namespaced = false};
  const auto broken = *json::parse(
      R"({"apiVersion":"apiregistration.k8s.io/v1","kind":"APIService","metadata":{"name":"v1.broken.example.com"},
    "spec":{"group":"broken.example.com","version":"v1","groupPriorityMinimum":100,"versionPriority":100,"insecureSkipTLSVerify":true,
            "service":{"namespace":"default","name":"nobody"}}})");
  run(client.of(services).create(broken));
  const auto catalog = run(until_broken(client));
  EXPECT_THAT(catalog.broken, Contains(Field(&client::BrokenApi::api_version, "broken.example.com/v1")));
  EXPECT_NE(catalog.find("deployments"), nullptr);
  run(client.of(services).remove(Key("", "v1.broken.example.com")));
}

}  // namespace
}  // namespace kopper::testing
