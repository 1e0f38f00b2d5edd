// What app/ prints is what a real server takes, lets in and allows: no field it does not know, no pod that the
// restricted standard refuses, no right missing or to spare.
#include "kopper/app/manifests.h"

#include "kopper/api/gen/authorization_v1.h"
#include "kopper/api/gen/coordination_v1.h"
#include "kopper/app/rbac.h"
#include "kopper/runtime/webhook_server.h"

#include "real/connect.h"

namespace kopper::testing {
namespace {

using ::testing::HasSubstr;

struct Manifests : Real {
  // As that service account, with no rights but those given.
  client::Client as(const std::string& account) const {
    auto config = admin_config();
    config.impersonate.user = fmt::format("system:serviceaccount:{}:{}", ns, account);
    config.impersonate.groups = {"system:serviceaccounts", "system:authenticated"};
    return client::Client(client::make_transport(config));
  }
  void apply(const std::string& yaml) {
    const auto applied = cluster().kubectl({"apply", "--validate=true", "-f", "-"}, yaml);
    EXPECT_EQ(applied.exit, 0) << applied.err << yaml;
    EXPECT_THAT(applied.err, ::testing::Not(HasSubstr("Warning"))) << yaml;
  }
  // Roles reach the authorizer through a watch: a moment after they were made.
  void until_allowed(const client::Client& program, const Key& secret) {
    const auto secrets = program.of<Secret>();
    while (true) {
      try {
        run(secrets.find(secret));
        return;
      } catch (const Error& error) {
        if (error.code != Code::Forbidden) throw;
      }
    }
  }
};

TEST_F(Manifests, AreTakenByTheServer) {
  if (cluster().before(25)) GTEST_SKIP() << "PodDisruptionBudget is policy/v1beta1, and there is no PodSecurity";
  app::DeployOptions options;
  options.name = "op";
  options.namespace_ = ns + "-op";
  options.webhook_port = 9443;
  apply(app::deployment_yaml(options));
  apply(app::deployment_yaml(options));  // and again

  // The pods themselves are let in, by a namespace that lets only restricted ones in.
  const auto made = run(client.of<Deployment>().get(Key(options.namespace_, "op")));
  Pod pod;
  pod.metadata = made.spec.template_.metadata;
  pod.metadata.name = "op-0";
  pod.metadata.namespace_ = options.namespace_;
  pod.spec = made.spec.template_.spec;
  EXPECT_EQ(run(client.of<Pod>().create(pod)).spec.serviceAccountName, "op");
  if (!cluster().local()) {  // which knows no pod security standards
    pod.metadata.name = "op-1";
    pod.spec.securityContext->runAsNonRoot = false;
    EXPECT_EQ(error_of(client.of<Pod>().create(pod)).code, Code::Forbidden);
  }
  run(client.of<Namespace>().remove(Key("", options.namespace_)));
}

TEST_F(Manifests, RolesAllowWhatAProgramDoesAndNoMore) {
  app::RbacOptions options;
  options.name = ns + "-op";
  options.namespace_ = ns;
  const auto uses = app::watches(Pod::kind) + app::owns(Deployment::kind) + app::keeps_secret("certs") +
                    app::holds_lease("lock") + app::writes_events();
  apply(app::to_yaml(app::rbac(uses, options)));
  const auto program = as(options.name);
  until_allowed(program, key("certs"));

  const auto may = [&](std::string verb, std::string group, std::string resource, std::string where, std::string name) {
    api::authorizationv1::SelfSubjectAccessReview review;
    api::authorizationv1::ResourceAttributes attributes;
    attributes.verb = std::move(verb);
    attributes.group = std::move(group);
    attributes.resource = std::move(resource);
    attributes.namespace_ = std::move(where);
    attributes.name = std::move(name);
    review.spec.resourceAttributes = std::move(attributes);
    return run(program.of<api::authorizationv1::SelfSubjectAccessReview>().create(review)).status.allowed;
  };
  EXPECT_TRUE(may("watch", "", "pods", "", ""));
  EXPECT_TRUE(may("patch", "apps", "deployments", "anywhere", "x"));
  EXPECT_TRUE(may("create", "events.k8s.io", "events", "anywhere", ""));
  EXPECT_TRUE(may("update", "", "secrets", ns, "certs"));
  EXPECT_TRUE(may("update", "coordination.k8s.io", "leases", ns, "lock"));
  // A list of one object is allowed to who may list that one.
  client::ListOptions one;
  one.namespace_ = ns;
  one.field_selector = "metadata.name=lock";
  EXPECT_TRUE(run(program.of<api::coordinationv1::Lease>().list(one)).items.empty());
  one.field_selector = "";
  EXPECT_EQ(error_of(program.of<api::coordinationv1::Lease>().list(one)).code, Code::Forbidden);
  EXPECT_FALSE(may("delete", "", "pods", ns, "x"));
  EXPECT_FALSE(may("get", "", "secrets", ns, "other"));
  EXPECT_FALSE(may("list", "", "secrets", ns, ""));
  EXPECT_FALSE(may("get", "", "secrets", "default", "certs"));
  EXPECT_FALSE(may("update", "apps", "deployments", ns, "x"));
  EXPECT_FALSE(may("deletecollection", "apps", "deployments", ns, ""));
}

struct Thing {
  static constexpr Kind kind{"manifests.example.com", "v1", "Thing"};
  ObjectMeta metadata;
};

TEST_F(Manifests, RolesAreEnoughForWebhooks) {
  runtime::WebhookServerOptions webhooks;
  webhooks.address = "127.0.0.1";
  webhooks.port = 0;
  webhooks.config.name = ns + "-things";
  webhooks.config.url = "https://127.0.0.1:{port}";
  webhooks.secret = key("certs");
  app::RbacOptions options;
  options.name = ns + "-hooks";
  options.namespace_ = ns;
  apply(app::to_yaml(app::rbac(
      app::keeps_secret("certs") + app::injects_ca({webhooks.config.name}, {webhooks.config.name}, {}), options)));
  const auto program = as(options.name);
  until_allowed(program, key("certs"));
  runtime::WebhookServer server(
      runtime::webhooks().defaulting<Thing>([](Thing&) {}).validating<Thing>([](const runtime::Admission<Thing>&) {
        return runtime::Verdict::allow();
      }),
      program, webhooks);
  run(server.ensure());
  run(server.ensure());
  run(client.of<api::admissionregistrationv1::MutatingWebhookConfiguration>().remove(Key("", webhooks.config.name)));
  run(client.of<api::admissionregistrationv1::ValidatingWebhookConfiguration>().remove(Key("", webhooks.config.name)));
}

}  // namespace
}  // namespace kopper::testing
