#include "kopper/runtime/webhook_certs.h"

#include <filesystem>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/client/api.h"
#include "kopper/rt/cert.h"
#include "kopper/rt/scope.h"
#include "kopper/runtime/test_objects_server.h"

namespace kopper::runtime {
namespace {

using namespace std::chrono_literals;
using std::chrono::days;
using std::chrono::sys_days;
using std::chrono::sys_seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const sys_seconds kStart = sys_days(std::chrono::year(2026) / 1 / 1);
constexpr auto kSecretPath = "/api/v1/namespaces/ops/secrets/certs";

CertPolicy policy() {
  CertPolicy out;
  out.dns_names = service_dns_names("hooks", "ops");
  return out;
}

// A life in fast motion.
CertPolicy hasty() {
  CertPolicy out = policy();
  out.ca_lifetime = 1h;
  out.lifetime = 30min;
  out.settle = 5min;
  return out;
}

std::size_t authorities(const Certs& certs) {
  std::size_t found = 0;
  for (auto at = certs.ca_bundle.find("BEGIN CERT"); at != std::string::npos;
       at = certs.ca_bundle.find("BEGIN CERT", at + 1))
    ++found;
  return found;
}

TEST(Certs, AreMadeFromNothing) {
  const auto made = renewed({}, policy(), kStart);
  ASSERT_TRUE(made.has_value());
  const auto info = rt::inspect(made->cert);
  EXPECT_THAT(info.dns_names, ElementsAre("hooks", "hooks.ops", "hooks.ops.svc", "hooks.ops.svc.cluster.local"));
  EXPECT_EQ(info.issuer_name, rt::inspect(made->ca_bundle).common_name);
  EXPECT_EQ(info.not_after, kStart + days(90));
  EXPECT_EQ(authorities(*made), 1U);
  EXPECT_EQ(renewed(*made, policy(), kStart), std::nullopt);
  EXPECT_EQ(renewed(*made, policy(), kStart + days(59)), std::nullopt);
}

TEST(Certs, AreRenewedWhenAThirdOfTheirLifeIsLeft) {
  const auto first = *renewed({}, policy(), kStart);
  const auto second = renewed(first, policy(), kStart + days(61));
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(second->ca_bundle, first.ca_bundle);
  EXPECT_NE(second->cert, first.cert);
  EXPECT_EQ(rt::inspect(second->cert).not_after, kStart + days(61 + 90));
}

TEST(Certs, FollowANewName) {
  const auto first = *renewed({}, policy(), kStart);
  auto other = policy();
  other.dns_names = {"elsewhere"};
  other.ip_addresses = {"127.0.0.1"};
  const auto second = renewed(first, other, kStart);
  ASSERT_TRUE(second.has_value());
  EXPECT_THAT(rt::inspect(second->cert).ip_addresses, ElementsAre("127.0.0.1"));
  EXPECT_EQ(second->ca_bundle, first.ca_bundle);
}

TEST(Certs, ChangeTheirAuthorityInSteps) {
  auto certs = *renewed({}, policy(), kStart);
  const auto old_ca = certs.ca_bundle;
  // Kept alive until the CA is due.
  auto now = kStart;
  while (authorities(certs) == 1) {
    now += days(5);
    if (auto next = renewed(certs, policy(), now)) certs = *next;
  }
  EXPECT_GE(now, kStart + days(486));
  EXPECT_LE(now, kStart + days(491));
  // The new one is known first and signs nothing yet.
  EXPECT_THAT(certs.ca_bundle, HasSubstr(old_ca));
  EXPECT_EQ(rt::inspect(certs.cert).issuer_name, rt::inspect(old_ca).common_name);
  EXPECT_EQ(renewed(certs, policy(), now + 9min), std::nullopt);
  // Then it signs, and the old one stays trusted while it lives.
  const auto switched = renewed(certs, policy(), now + 10min);
  ASSERT_TRUE(switched.has_value());
  EXPECT_EQ(switched->ca_bundle, certs.ca_bundle);
  EXPECT_EQ(rt::inspect(switched->cert).issuer_name, rt::inspect(switched->ca_bundle).common_name);
  // In the end it is forgotten.
  certs = *switched;
  for (; now < kStart + days(735); now += days(5))
    if (auto next = renewed(certs, policy(), now)) certs = *next;
  EXPECT_EQ(authorities(certs), 1U);
  EXPECT_EQ(certs.ca_bundle.find(old_ca), std::string::npos);
}

TEST(Certs, AreWholeAfterYearsOfSleep) {
  const auto first = *renewed({}, policy(), kStart);
  const auto woken = renewed(first, policy(), kStart + days(2000));
  ASSERT_TRUE(woken.has_value());
  EXPECT_EQ(authorities(*woken), 1U);
  EXPECT_EQ(rt::inspect(woken->cert).not_after, kStart + days(2090));
  EXPECT_EQ(rt::inspect(woken->cert).issuer_name, rt::inspect(woken->ca_bundle).common_name);
}

TEST(Certs, AreMadeAnewWhereSomebodyBrokeThem) {
  const auto good = *renewed({}, policy(), kStart);
  const auto other = *renewed({}, policy(), kStart + 1h);
  const auto repaired = [&](const Certs& broken) {
    auto next = renewed(broken, policy(), kStart + 2h);
    EXPECT_TRUE(next.has_value());
    if (!next) return;
    EXPECT_EQ(renewed(*next, policy(), kStart + 2h), std::nullopt);
    EXPECT_THAT(next->ca_bundle, HasSubstr("BEGIN"));
  };
  repaired({.ca_bundle = good.ca_bundle, .ca_key = good.ca_key, .cert = "x", .key = good.key});
  repaired({.ca_bundle = good.ca_bundle, .ca_key = good.ca_key, .cert = good.cert, .key = other.key});
  repaired({.ca_bundle = good.ca_bundle, .ca_key = good.ca_key, .cert = other.cert, .key = other.key});
  repaired({.ca_bundle = "garbage", .ca_key = good.ca_key, .cert = good.cert, .key = good.key});
  repaired({.ca_bundle = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", .cert = good.cert});
}

TEST(Certs, WithoutTheCaKeyGetANewAuthorityThatWaits) {
  auto certs = *renewed({}, policy(), kStart);
  const auto serving = certs.cert;
  certs.ca_key = "";
  const auto next = renewed(certs, policy(), kStart + 2h);
  ASSERT_TRUE(next.has_value());
  EXPECT_EQ(authorities(*next), 2U);
  EXPECT_EQ(next->cert, serving);
}

TEST(Certs, TellTwinsApart) {
  auto certs = *renewed({}, policy(), kStart);
  certs.ca_key = "";
  const auto twins = *renewed(certs, policy(), kStart);  // in the same second
  EXPECT_EQ(authorities(twins), 2U);
  EXPECT_EQ(twins.cert, certs.cert);
  EXPECT_NE(rt::inspect(twins.ca_bundle).common_name, rt::inspect(twins.cert).issuer_name);
}

TEST(Certs, SurviveTheSecret) {
  const auto made = *renewed({}, policy(), kStart);
  EXPECT_EQ(from_secret_data(to_secret_data(made)), made);
  EXPECT_EQ(from_secret_data({}), Certs());
}

Task<> publish_to(std::vector<std::string>* bundles, std::string bundle) {
  bundles->push_back(std::move(bundle));
  co_return;
}

// One replica: what it published, in order.
struct Replica {
  explicit Replica(const std::shared_ptr<ObjectsServer>& server)
      : certs(client::Client(server), Key("ops", "certs"), hasty(),
              [this](std::string bundle) { return publish_to(&bundles, std::move(bundle)); }) {}

  std::vector<std::string> bundles;
  KeptCerts certs;
};

TEST(KeptCerts, AreSharedByReplicas) {
  rt::Loop loop(rt::ClockMode::Manual);
  const auto server = std::make_shared<ObjectsServer>();
  Replica a(server), b(server);
  EXPECT_THROW(a.certs.tls(), Error);
  EXPECT_FALSE(a.certs.ready());
  rt::Scope scope;
  scope.spawn(a.certs.ensure());
  scope.spawn(b.certs.ensure());
  loop.run(scope.join());
  EXPECT_TRUE(a.certs.ready());
  EXPECT_EQ(a.certs.current(), b.certs.current());
  EXPECT_THAT(a.bundles, ElementsAre(a.certs.current().ca_bundle));
  EXPECT_EQ(a.bundles, b.bundles);
  EXPECT_EQ(server->objects[kSecretPath].text("type"), "kubernetes.io/tls");
}

TEST(KeptCerts, TakeWhatIsThereWhenTheyLoseTheRace) {
  rt::Loop loop(rt::ClockMode::Manual);
  const auto server = std::make_shared<ObjectsServer>();
  Replica winner(server), loser(server);
  bool raced = false;
  // The other replica creates the Secret between our read and our write.
  const auto theirs = *renewed({}, hasty(), kStart);
  server->on_request = [&](const http::Request& request) {
    if (request.method != "POST" || std::exchange(raced, true)) return;
    api::corev1::Secret secret;
    secret.metadata.name = "certs";
    secret.metadata.namespace_ = "ops";
    secret.metadata.resourceVersion = "7";
    secret.data = to_secret_data(theirs);
    server->objects[kSecretPath] = meta::to_value(secret);
  };
  loop.run(loser.certs.ensure());
  EXPECT_TRUE(raced);
  EXPECT_EQ(loser.certs.current(), theirs);
}

bool covered(const std::string& bundle, const std::string& cert) {
  const auto issuer = rt::inspect(cert).issuer_name;
  for (std::string_view rest = bundle; rest.find("-----BEGIN") != std::string_view::npos;) {
    if (rt::inspect(rest).common_name == issuer) return true;
    rest.remove_prefix(rest.find("-----END") + 8);
  }
  return false;
}

TEST(KeptCerts, AreRotatedWithoutARestart) {
  rt::Loop loop(rt::ClockMode::Manual);
  const auto server = std::make_shared<ObjectsServer>();
  Replica a(server), b(server);
  rt::Scope scope;
  scope.spawn(a.certs.run());
  scope.spawn(b.certs.run());
  loop.poll();
  const auto first = a.certs.current();
  std::set<std::string> served, bundles;
  for (int minute = 0; minute < 200; ++minute) {
    loop.advance(1min);
    ASSERT_EQ(a.certs.current(), b.certs.current());
    ASSERT_EQ(a.bundles.back(), b.bundles.back());
    ASSERT_TRUE(covered(a.bundles.back(), a.certs.current().cert)) << minute;
    ASSERT_GT(rt::inspect(a.certs.current().cert).not_after, loop.wall_now()) << minute;
    served.insert(a.certs.current().cert);
    bundles.insert(a.bundles.back());
  }
  EXPECT_GE(served.size(), 10U);
  EXPECT_GE(bundles.size(), 6U);  // each CA alone, then with the next
  EXPECT_EQ(a.certs.current().ca_bundle.find(first.ca_bundle), std::string::npos);
  // A write for each step of the life of the certificates, by one of the two.
  EXPECT_LT(server->count("PUT"), 60);
  scope.cancel();
  loop.run(scope.join());
}

Task<> refuse_to_publish(std::string) {
  throw Error(Code::Forbidden, "may not patch");
  co_return;
}

TEST(KeptCerts, ServeEvenWhenNobodyCanBeTold) {
  rt::Loop loop(rt::ClockMode::Manual);
  const auto server = std::make_shared<ObjectsServer>();
  KeptCerts certs(client::Client(server), Key("ops", "certs"), hasty(), refuse_to_publish);
  EXPECT_THROW(loop.run(certs.ensure()), Error);
  EXPECT_TRUE(certs.ready());
  rt::Scope scope;
  scope.spawn(certs.run());
  // Renewed all the same, but not with a certificate of a CA that nobody was told of while the old one works.
  for (int minute = 0; minute < 49; ++minute) {
    loop.advance(1min);
    ASSERT_EQ(rt::inspect(certs.current().cert).issuer_name, "kopper webhooks 2026-01-01T00:00:00Z") << minute;
  }
  const auto stored = meta::from_value<api::corev1::Secret>(server->objects[kSecretPath]).value();
  const auto now = from_secret_data(stored.data);
  EXPECT_EQ(authorities(now), 2U);
  EXPECT_GT(rt::inspect(now.cert).not_after, kStart + 45min);
}

TEST(KeptCerts, OutliveAnApiServerThatIsAway) {
  rt::Loop loop(rt::ClockMode::Manual);
  const auto server = std::make_shared<ObjectsServer>();
  Replica a(server);
  loop.run(a.certs.ensure());
  const auto before = a.certs.current();
  server->on_request = [](const http::Request&) { throw Error(Code::Unavailable, "connection refused"); };
  rt::Scope scope;
  scope.spawn(a.certs.run());
  loop.advance(1h);
  EXPECT_EQ(a.certs.current(), before);
  server->on_request = nullptr;
  loop.advance(2h);
  EXPECT_NE(a.certs.current(), before);
}

class CertFilesTest : public ::testing::Test {
 protected:
  CertFilesTest() { std::filesystem::create_directories(dir); }
  ~CertFilesTest() override { std::filesystem::remove_all(dir); }
  void write(const std::string& cert, const std::string& key) {
    rt::write_file_atomic(dir / "tls.crt", cert);
    rt::write_file_atomic(dir / "tls.key", key);
  }
  CertFiles files() { return {(dir / "tls.crt").string(), (dir / "tls.key").string(), &registry}; }

  std::filesystem::path dir = ::testing::TempDir() + "kopper-cert-files-test";
  metrics::Registry registry;
};

TEST_F(CertFilesTest, AreReadAgainWhenTheyChange) {
  const auto one = *renewed({}, policy(), kStart);
  const auto two = *renewed({}, policy(), kStart);
  auto certs = files();
  EXPECT_THROW(certs.tls(), Error);
  write(one.cert, one.key);
  certs.tls();
  certs.tls();
  EXPECT_EQ(registry.counter("certwatcher_read_certificate_total", "").value(), 2);
  // Half of a rotation: the old pair stays.
  write(two.cert, one.key);
  certs.tls();
  EXPECT_EQ(registry.counter("certwatcher_read_certificate_errors_total", "").value(), 2);
  write(two.cert, two.key);
  certs.tls();
  EXPECT_EQ(registry.counter("certwatcher_read_certificate_errors_total", "").value(), 2);
  EXPECT_EQ(registry.counter("certwatcher_read_certificate_total", "").value(), 4);
}

}  // namespace
}  // namespace kopper::runtime
