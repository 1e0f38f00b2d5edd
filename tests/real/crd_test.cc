// A CRD made from C++ types: the server takes it, and enforces what the types say.
#include "kopper/meta/crd.h"

#include "kopper/client/discovery.h"

#include "real/connect.h"

namespace kopper::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;

struct GadgetSpec {
  std::int32_t size = 1;
  std::string image = "gadget:1";
  std::optional<std::string> color;
  static constexpr auto rules = kopper::rules(kopper::field<&GadgetSpec::size>.min(1).max(5),
                                              kopper::field<&GadgetSpec::color>.pattern("^[a-z]+$"));
};
struct GadgetStatus {
  std::int32_t ready = 0;
};
struct Gadget {
  static constexpr Kind kind{.group = "suite.example.com", .version = "v1", .kind = "Gadget", .short_names = {"gdg"}};
  ObjectMeta metadata;
  GadgetSpec spec;
  GadgetStatus status;
};

Task<client::ApiResource> until_served(client::Client client) {
  client::RestMapper mapper(client);
  while (true) {
    bool served = false;
    try {
      const auto found = co_await mapper.find("gdg");
      co_await client.of(found.resource).list();
      served = true;
    } catch (const Error& error) {
      if (error.code != Code::NotFound && error.code != Code::Unsupported) throw;
    }
    if (served) co_return co_await mapper.find("gdg");
  }
}

struct Crds : Real {
  Gadget gadget(std::string name, std::int32_t size) const {
    Gadget made;
    made.metadata.name = std::move(name);
    made.metadata.namespace_ = ns;
    made.spec.size = size;
    return made;
  }
};

TEST_F(Crds, TheServerEnforcesWhatTheTypesSay) {
  const client::Resource crds{.group = "apiextensions.k8s.io",
                              .version = "v1",
                              .plural = "customresourcedefinitions",
                              .kind = "CustomResourceDefinition",
                              .namespaced = false};
  run(client.of(crds).apply(meta::crd<Gadget>()));
  const auto served = run(until_served(client));
  EXPECT_EQ(served.resource, client::resource_of<Gadget>());

  const auto gadgets = client.of<Gadget>();
  EXPECT_EQ(run(gadgets.create(gadget("good", 5))).spec.image, "gadget:1");

  const auto refused = error_of(gadgets.create(gadget("bad", 9)));
  EXPECT_EQ(refused.code, Code::Invalid);
  EXPECT_EQ(refused.http_status, 422);
  EXPECT_THAT(refused.causes, Contains(Field(&Cause::field, "spec.size")));
  EXPECT_THAT(refused.what(), AllOf(HasSubstr("spec.size"), HasSubstr("less than or equal to 5")));

  // Defaults come from the member initialisers, by the server's hand.
  auto bare =
      *json::parse(R"({"apiVersion":"suite.example.com/v1","kind":"Gadget","metadata":{"name":"bare"},"spec":{}})");
  bare["metadata"]["namespace"] = ns;
  EXPECT_EQ(run(client.of(served.resource).create(bare))["spec"]["image"], json::Value("gadget:1"));

  // The status is a subresource of its own.
  const auto counted =
      run(gadgets.modify(key("good"), [](Gadget& live) { live.status.ready = 2; }, {.subresource = "status"}));
  EXPECT_EQ(counted.status.ready, 2);

  auto painted = gadget("painted", 1);
  painted.spec.color = "Red!";
  EXPECT_THAT(error_of(gadgets.apply(painted)).causes, Contains(Field(&Cause::field, "spec.color")));
  run(client.of(crds).remove(Key("", "gadgets.suite.example.com")));
}

}  // namespace
}  // namespace kopper::testing
