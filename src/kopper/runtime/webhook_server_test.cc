// The whole of it on loopback: TLS, HTTP/2 and HTTP/1.1, certificates from a Secret or from files.
#include "kopper/runtime/webhook_server.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/api/names.h"
#include "kopper/http/client.h"
#include "kopper/meta/base64.h"
#include "kopper/rt/cert.h"
#include "kopper/runtime/test_objects_server.h"

namespace kopper::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Spec {
  int32_t size = 1;
};
struct Cache {
  static constexpr Kind kind{"cache.example.com", "v1", "Cache"};
  ObjectMeta metadata;
  Spec spec;
};
struct OldCache {
  static constexpr Kind kind{.group = "cache.example.com", .version = "v1alpha1", .kind = "Cache", .storage = false};
  ObjectMeta metadata;
  Spec spec;
};

constexpr auto kMutating = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/op";
constexpr auto kCrd = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/caches.cache.example.com";
constexpr auto kReview =
    R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","operation":"CREATE",
        "object":{"metadata":{"name":"a"},"spec":{"size":1}}}})";

Webhooks hooks() {
  return webhooks()
      .defaulting<Cache>([](Cache& cache) { cache.spec.size = 3; })
      .converting(conversion<Cache>().spoke<OldCache>([](const OldCache&, Cache&) {}, [](const Cache&, OldCache&) {}));
}

WebhookServerOptions options() {
  WebhookServerOptions out;
  out.address = "127.0.0.1";
  out.port = 0;
  out.config.name = "op";
  out.config.url = "https://127.0.0.1:{port}";
  return out;
}

Task<std::string> post(std::uint16_t port, std::string ca, std::string target) {
  http::ClientOptions to;
  to.origin = {.scheme = "https", .host = "127.0.0.1", .port = port};
  to.tls = [ca] {
    rt::TlsClientOptions tls;
    tls.ca_pem = ca;
    return tls;
  };
  const auto client = http::make_client(std::move(to));
  http::Request request;
  request.method = "POST";
  request.target = std::move(target);
  request.body = kReview;
  auto response = co_await client->handle(std::move(request));
  co_return co_await http::read_all(*response.body);
}

// What a real API server sets by itself.
json::Value installed_crd() {
  return json::parse(R"({"metadata":{"name":"caches.cache.example.com"},"spec":{"conversion":{"strategy":"None"}}})")
      .value();
}

TEST(WebhookServer, ServesWithCertificatesOfItsOwn) {
  rt::Loop loop;
  const auto api = std::make_shared<ObjectsServer>();
  api->objects[kCrd] = installed_crd();
  metrics::Registry registry;
  WebhookServer server(hooks(), client::Client(api), options(), &registry);
  EXPECT_FALSE(server.ready());
  loop.run(server.ensure());
  EXPECT_TRUE(server.ready());

  // As the API server would: by the URL and the CA that it was told.
  const auto& told = api->objects[kMutating]["webhooks"][0]["clientConfig"];
  const auto url = http::parse_url(told.text("url")).value();
  EXPECT_EQ(url.port, server.port());
  const auto answer = loop.run(post(url.port, meta::from_base64(told.text("caBundle")).value(), url.path));
  EXPECT_EQ(json::parse(answer).value()["response"].text("patchType"), "JSONPatch");
  EXPECT_EQ(api->objects[kCrd]["spec"]["conversion"]["webhook"]["clientConfig"].text("caBundle"),
            told.text("caBundle"));
  EXPECT_EQ(server.config().ca_bundle, meta::from_base64(told.text("caBundle")));
  loop.run(server.stop(std::chrono::seconds(1)));
}

TEST(WebhookServer, WritesNothingWhenNothingIsWrong) {
  rt::Loop loop;
  const auto api = std::make_shared<ObjectsServer>();
  api->objects[kCrd] = installed_crd();
  WebhookServer server(hooks(), client::Client(api), options());
  loop.run(server.ensure());
  api->calls.clear();
  loop.run(server.ensure());
  EXPECT_EQ(api->count("GET"), static_cast<int>(api->calls.size()));
  // Somebody takes the bundle out, or leaves a webhook of an earlier release in.
  (*api->objects[kMutating]["webhooks"].as_array())[0]["clientConfig"].as_object()->erase("caBundle");
  loop.run(server.ensure());
  EXPECT_EQ(api->count("PATCH"), 1);
  EXPECT_FALSE(api->objects[kMutating]["webhooks"][0]["clientConfig"].text("caBundle").empty());
}

TEST(WebhookServer, SaysWhichCrdIsMissing) {
  rt::Loop loop;
  const auto api = std::make_shared<ObjectsServer>();
  WebhookServer server(hooks(), client::Client(api), options());
  try {
    loop.run(server.ensure());
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "the CRD caches.cache.example.com is not installed");
  }
  EXPECT_TRUE(server.ready());  // for what is there
}

TEST(WebhookServer, LeavesInstallingToOthers) {
  rt::Loop loop;
  const auto api = std::make_shared<ObjectsServer>();
  auto quiet = options();
  quiet.install = false;
  WebhookServer server(hooks(), client::Client(api), quiet);
  loop.run(server.ensure());
  EXPECT_THAT(api->calls, ElementsAre("GET /api/v1/namespaces/operator-system/secrets/operator-manager-webhook-certs",
                                      "POST /api/v1/namespaces/operator-system/secrets"));
}

TEST(WebhookServer, ServesWithFilesThatAreReplaced) {
  const auto dir = std::filesystem::path(::testing::TempDir()) / "kopper-webhook-server-test";
  std::filesystem::create_directories(dir);
  const auto first = rt::make_ca("first"), second = rt::make_ca("second");
  const auto place = [&](const rt::CertifiedKey& ca) {
    rt::CertificateSpec spec;
    spec.ip_addresses = {"127.0.0.1"};
    const auto made = rt::issue(ca, spec);
    rt::write_file_atomic(dir / "tls.crt", made.cert_pem);
    rt::write_file_atomic(dir / "tls.key", made.key_pem);
  };
  place(first);
  rt::Loop loop;
  const auto api = std::make_shared<ObjectsServer>();
  auto with_files = options();
  with_files.install = false;
  with_files.cert_file = dir / "tls.crt";
  with_files.key_file = dir / "tls.key";
  WebhookServer server(hooks(), client::Client(api), with_files);
  EXPECT_TRUE(server.ready());
  const auto* path = "/mutate-cache-example-com-v1-cache";
  EXPECT_FALSE(loop.run(post(server.port(), first.cert_pem, path)).empty());
  place(second);
  EXPECT_FALSE(loop.run(post(server.port(), second.cert_pem, path)).empty());
  EXPECT_THROW(loop.run(post(server.port(), first.cert_pem, path)), Error);
  EXPECT_THAT(api->calls, IsEmpty());
  std::filesystem::remove_all(dir);
}

TEST(WebhookServer, TellsTheCaThatIsBesideTheFiles) {
  const auto dir = std::filesystem::path(::testing::TempDir()) / "kopper-webhook-server-ca-test";
  std::filesystem::create_directories(dir);
  const auto made =
      renewed({}, CertPolicy{}, std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()));
  rt::write_file_atomic(dir / "tls.crt", made->cert);
  rt::write_file_atomic(dir / "tls.key", made->key);
  rt::write_file_atomic(dir / "ca.crt", "first");
  rt::Loop loop;
  const auto api = std::make_shared<ObjectsServer>();
  api->objects[kCrd] = installed_crd();
  auto with_files = options();
  with_files.cert_file = dir / "tls.crt";
  with_files.key_file = dir / "tls.key";
  with_files.ca_file = dir / "ca.crt";
  WebhookServer server(hooks(), client::Client(api), with_files);
  const auto told = [&] {
    loop.run(server.ensure());
    return meta::from_base64(api->objects[kMutating]["webhooks"][0]["clientConfig"].text("caBundle"));
  };
  EXPECT_EQ(told(), "first");
  rt::write_file_atomic(dir / "ca.crt", "second");
  EXPECT_EQ(told(), "second");
  std::filesystem::remove_all(dir);
}

TEST(WebhookServer, FailsAtOnceWithoutItsFiles) {
  rt::Loop loop;
  auto with_files = options();
  with_files.cert_file = "/nonexistent/tls.crt";
  with_files.key_file = "/nonexistent/tls.key";
  EXPECT_THROW(WebhookServer(hooks(), client::Client(std::make_shared<ObjectsServer>()), with_files), Error);
}

}  // namespace
}  // namespace kopper::runtime
