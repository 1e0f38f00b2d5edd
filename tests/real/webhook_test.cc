// Webhooks of C++ functions, called by a real API server: it finds them by URL, trusts the CA that it was given,
// converts between two versions of a type, and does not notice when the certificates change.
#include "kopper/meta/crd.h"
#include "kopper/rt/cert.h"
#include "kopper/rt/offload.h"
#include "kopper/runtime/webhook_server.h"

#include "real/connect.h"

namespace kopper::testing {
namespace {

using runtime::Admission;
using runtime::Verdict;
using ::testing::HasSubstr;

// The first release called it size.
struct OldWidgetSpec {
  std::int32_t size = 1;
};
struct OldWidget {
  static constexpr Kind kind{.group = "hooks.example.com", .version = "v1alpha1", .kind = "Widget", .storage = false};
  ObjectMeta metadata;
  OldWidgetSpec spec;
};
struct WidgetSpec {
  std::int32_t replicas = 1;
  std::string image;
  // The type of an older program: the server keeps what it does not know.
  static constexpr auto rules = kopper::rules(kopper::object.preserve_unknown());
};
struct Widget {
  static constexpr Kind kind{.group = "hooks.example.com", .version = "v1", .kind = "Widget"};
  ObjectMeta metadata;
  WidgetSpec spec;
};

Verdict judge(const Admission<Widget>& request) {
  Verdict verdict;
  if (request.object.spec.replicas % 2 == 0) verdict.refuse("spec.replicas", "must be odd");
  if (request.old && request.old->spec.replicas > request.object.spec.replicas)
    verdict.refuse("spec.replicas", "must not shrink");
  if (request.object.spec.replicas > 100) verdict.warn("that is a lot of replicas");
  if (request.object.spec.image == "forbidden" && request.user.username != "nobody")
    return Verdict::deny("not with this image");
  return verdict;
}

runtime::Webhooks widget_hooks() {
  return runtime::webhooks()
      .defaulting<Widget>([](Widget& widget) {
        if (widget.spec.image.empty()) widget.spec.image = "widget:1";
      })
      .validating<Widget>(judge)
      .converting(runtime::conversion<Widget>().spoke<OldWidget>(
          [](const OldWidget& from, Widget& to) {
            to.spec.replicas = from.spec.size;
            to.spec.image = from.metadata.annotations.contains("image") ? from.metadata.annotations.at("image") : "";
            to.metadata.annotations.erase("image");
          },
          [](const Widget& from, OldWidget& to) {
            to.spec.size = from.spec.replicas;
            if (!from.spec.image.empty()) to.metadata.annotations["image"] = from.spec.image;
          }));
}

const client::Resource kCrds{.group = "apiextensions.k8s.io",
                             .version = "v1",
                             .plural = "customresourcedefinitions",
                             .kind = "CustomResourceDefinition",
                             .namespaced = false};

Widget widget(std::string name, std::string namespace_, std::int32_t replicas = 3) {
  Widget made;
  made.metadata.name = std::move(name);
  made.metadata.namespace_ = std::move(namespace_);
  made.spec.replicas = replicas;
  return made;
}

// Servers learn of CRDs and webhook configurations by watching them: a moment later.
Task<> until_hooked(client::Client client, std::string ns) {
  const client::WriteOptions rehearsal{.dry_run = true};
  while (true) {
    try {
      const auto old = co_await client.of<OldWidget>().list();
      auto probe = widget("probe", ns);
      const auto made = co_await client.of<Widget>().create(std::move(probe), rehearsal);
      if (made.spec.image == "widget:1") break;
    } catch (const Error& error) {
      if (error.code != Code::NotFound && error.code != Code::Unsupported) throw;
    }
  }
  // The validating one may be learnt of later.
  while (true) {
    bool refused = false;
    try {
      auto probe = widget("probe", ns, 2);
      co_await client.of<Widget>().create(std::move(probe), rehearsal);
    } catch (const Error& error) {
      refused = error.code == Code::Invalid;
      if (!refused) throw;
    }
    if (refused) co_return;
  }
}

struct Webhook : Real {
  void SetUp() override {
    Real::SetUp();
    run(client.of(kCrds).apply(meta::crd<Widget, OldWidget>(), {.field_manager = "kopper", .force = true}));
    runtime::WebhookServerOptions options;
    options.address = "127.0.0.1";
    options.port = 0;
    options.config.name = "widgets";
    options.config.url = "https://127.0.0.1:{port}";
    options.secret = Key(ns, "webhook-certs");
    options.certs.settle = std::chrono::seconds(3);
    server.emplace(widget_hooks(), client, options, &registry);
    run(server->ensure());
    run(until_hooked(client, ns));
  }
  void TearDown() override {
    const client::Resource mutating = client::resource_of<api::admissionregistrationv1::MutatingWebhookConfiguration>();
    const client::Resource validating =
        client::resource_of<api::admissionregistrationv1::ValidatingWebhookConfiguration>();
    run(client.of(mutating).remove(Key("", "widgets")));
    run(client.of(validating).remove(Key("", "widgets")));
    client::ListOptions here;
    here.namespace_ = ns;
    run(client.of<Widget>().remove_all(here));
    run(server->stop(std::chrono::seconds(1)));
  }
  // Beside the loop, which answers meanwhile.
  Output kubectl(std::vector<std::string> args, std::string input = "") {
    return run(rt::offload(pool, [args, input] { return cluster().kubectl(args, input); }));
  }

  rt::ThreadPool pool;
  metrics::Registry registry;
  std::optional<runtime::WebhookServer> server;
};

constexpr auto kYaml = R"(
apiVersion: hooks.example.com/{version}
kind: Widget
metadata: {{name: {name}, namespace: {ns}}}
spec: {{{spec}}}
)";

std::string yaml(const std::string& version, const std::string& name, const std::string& ns, const std::string& spec) {
  return fmt::format(kYaml, fmt::arg("version", version), fmt::arg("name", name), fmt::arg("ns", ns),
                     fmt::arg("spec", spec));
}

TEST_F(Webhook, DefaultsWithoutLosingWhatTheTypeDoesNotKnow) {
  const auto applied = kubectl({"apply", "-f", "-"}, yaml("v1", "a", ns, "replicas: 3, future: {x: [1, 2]}"));
  EXPECT_EQ(applied.exit, 0) << applied.err;
  const auto shown = kubectl({"-n", ns, "get", "widgets.v1.hooks.example.com", "a", "-o", "jsonpath={.spec}"});
  EXPECT_EQ(json::parse(shown.out).value(),
            json::parse(R"({"replicas":3,"image":"widget:1","future":{"x":[1,2]}})").value());
}

TEST_F(Webhook, ShowsItsRefusalInKubectl) {
  const auto even = kubectl({"apply", "-f", "-"}, yaml("v1", "b", ns, "replicas: 4"));
  EXPECT_NE(even.exit, 0);
  EXPECT_THAT(even.err, HasSubstr(R"(The Widget "b" is invalid: spec.replicas: must be odd)"));
  const auto image = kubectl({"apply", "-f", "-"}, yaml("v1", "b", ns, "image: forbidden"));
  EXPECT_THAT(image.err, HasSubstr(R"(admission webhook "validate.widgets.v1.hooks.example.com" denied the request: )"
                                   "not with this image"));

  EXPECT_EQ(kubectl({"apply", "-f", "-"}, yaml("v1", "b", ns, "replicas: 101")).exit, 0);
  const auto many = kubectl({"apply", "-f", "-"}, yaml("v1", "b", ns, "replicas: 103"));
  EXPECT_THAT(many.err, HasSubstr("Warning: that is a lot of replicas"));
  const auto fewer = kubectl({"apply", "-f", "-"}, yaml("v1", "b", ns, "replicas: 3"));
  EXPECT_THAT(fewer.err, HasSubstr("must not shrink"));

  // A client sees the fields.
  const auto error = error_of(client.of<Widget>().create(widget("c", ns, 8)));
  EXPECT_EQ(error.code, Code::Invalid);
  ASSERT_EQ(error.causes.size(), 1U);
  EXPECT_EQ(error.causes[0].field, "spec.replicas");
}

TEST_F(Webhook, ConvertsBetweenVersions) {
  // Written in the old version, judged and defaulted in the new one.
  const auto applied = kubectl({"apply", "-f", "-"}, yaml("v1alpha1", "d", ns, "size: 5"));
  EXPECT_EQ(applied.exit, 0) << applied.err;
  const auto even = kubectl({"apply", "-f", "-"}, yaml("v1alpha1", "e", ns, "size: 6"));
  EXPECT_THAT(even.err, HasSubstr("spec.replicas: must be odd"));
  const auto now = run(client.of<Widget>().get(key("d")));
  EXPECT_EQ(now.spec.replicas, 5);
  EXPECT_EQ(now.spec.image, "widget:1");
  const auto old = run(client.of<OldWidget>().get(key("d")));
  EXPECT_EQ(old.spec.size, 5);
  EXPECT_EQ(old.metadata.annotations.at("image"), "widget:1");
  EXPECT_EQ(old.metadata.uid, now.metadata.uid);

  for (int i = 0; i < 20; ++i) run(client.of<Widget>().create(widget(fmt::format("w{:02}", i), ns, 2 * i + 1)));
  client::ListOptions here;
  here.namespace_ = ns;
  const auto all = run(client.of<OldWidget>().list(here));
  EXPECT_EQ(all.items.size(), 21U);
  EXPECT_TRUE(all.bad.empty());
  EXPECT_EQ(all.items.back().spec.size, 39);
  EXPECT_THAT(registry.text(), HasSubstr(R"(webhook_requests_total{code="200",webhook="/convert"})"));
}

// What clients see while certificates change.
struct Load {
  bool stop = false;
  int admitted = 0;
  std::vector<std::string> failures;
};

Task<> keep_writing(client::Client client, std::string name, std::string ns, Load* load) {
  const client::WriteOptions rehearsal{.dry_run = true};
  while (!load->stop) {
    try {
      auto object = widget(name, ns);
      const auto made = co_await client.of<Widget>().create(std::move(object), rehearsal);
      if (made.spec.image != "widget:1") throw Error(Code::Internal, "not defaulted");
      ++load->admitted;
    } catch (const Error& error) {
      load->failures.emplace_back(error.what());
    }
  }
}

// Rounds, as run() makes them each minute, until `done` and then some more writes.
Task<> rounds_until(runtime::WebhookServer* server, std::function<bool()> done, Load* load) {
  while (!done()) {
    co_await server->ensure();
    co_await rt::yield();
  }
  const int enough = load->admitted + 50;
  while (load->admitted < enough && load->failures.empty()) co_await rt::yield();
}

void break_ca_key(Secret& secret) { secret.data.erase("ca.key"); }
void forget_old_ca(Secret& secret) {
  auto& bundle = secret.data["ca.crt"].data;
  bundle.resize(bundle.find("-----BEGIN", 1));
}

Task<> rotate_under_load(client::Client client, runtime::WebhookServer* server, Key secret, std::string ns,
                         Load* load) {
  rt::Scope scope;
  for (int i = 0; i < 4; ++i) scope.spawn(keep_writing(client, fmt::format("load-{}", i), ns, load));
  const auto issuer = [server] { return rt::inspect(server->certs().ca_bundle).common_name; };
  const auto authorities = [server] {
    return server->certs().ca_bundle.find("-----BEGIN", 1) == std::string::npos ? 1 : 2;
  };
  const auto first = issuer();
  // A new CA is needed: it is told, then used.
  co_await client.of<Secret>().modify(secret, break_ca_key);
  std::function<bool()> told = [=] { return authorities() == 2; };
  co_await rounds_until(server, told, load);
  const int known = load->admitted;
  std::function<bool()> later = [=] { return rt::inspect(server->certs().cert).issuer_name == issuer(); };
  co_await rounds_until(server, later, load);
  EXPECT_NE(issuer(), first);
  EXPECT_GT(load->admitted, known);
  // The old one is not trusted any more: new connections, checked against the new one alone.
  co_await client.of<Secret>().modify(secret, forget_old_ca);
  std::function<bool()> forgotten = [=] { return authorities() == 1; };
  co_await rounds_until(server, forgotten, load);
  load->stop = true;
  co_await scope.join();
}

TEST_F(Webhook, RotatesCertificatesWithoutAFailedAdmission) {
  Load load;
  run(rotate_under_load(client, &*server, Key(ns, "webhook-certs"), ns, &load));
  EXPECT_THAT(load.failures, ::testing::IsEmpty());
  EXPECT_GT(load.admitted, 150);
}

}  // namespace
}  // namespace kopper::testing
