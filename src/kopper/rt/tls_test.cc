#include "kopper/rt/tls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/base/error.h"
#include "kopper/rt/cert.h"
#include "kopper/rt/scope.h"

namespace kopper::rt {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

const CertifiedKey& ca() {
  static const auto made = make_ca("test-ca");
  return made;
}

CertificateSpec server_spec() {
  CertificateSpec spec;
  spec.common_name = "server";
  spec.dns_names = {"api.example", "other.example"};
  spec.ip_addresses = {"127.0.0.1"};
  return spec;
}

TlsServerOptions server_options(const CertificateSpec& spec = server_spec()) {
  const auto made = issue(ca(), spec);
  TlsServerOptions options;
  options.cert_pem = made.cert_pem;
  options.key_pem = made.key_pem;
  options.alpn = {"h2", "http/1.1"};
  return options;
}

TlsClientOptions client_options() {
  TlsClientOptions options;
  options.ca_pem = ca().cert_pem;
  options.alpn = {"http/1.1", "h2"};
  return options;
}

// Both ends of one handshake, over memory.
struct Both {
  std::unique_ptr<TlsStream> client;
  std::unique_ptr<TlsStream> server;
  std::string client_error;
  std::string server_error;
  std::optional<Code> client_code;
};

Task<> accept(std::unique_ptr<Stream> lower, TlsContext context, Both* both) {
  try {
    both->server = co_await TlsStream::server(std::move(lower), context);
  } catch (const Error& error) {
    both->server_error = error.what();
  }
}

Task<> dial(std::unique_ptr<Stream> lower, TlsContext context, std::string name, Both* both) {
  try {
    both->client = co_await TlsStream::client(std::move(lower), context, name);
  } catch (const Error& error) {
    both->client_error = error.what();
    both->client_code = error.code;
  }
}

Task<> drive(Both* both, TlsContext client, TlsContext server, std::string name) {
  auto [near, far] = pipe();
  Scope scope;
  scope.spawn(accept(std::move(far), server, both));
  scope.spawn(dial(std::move(near), client, name, both));
  co_await scope.join();
}

Both handshake(Loop& loop, const TlsClientOptions& client, const TlsServerOptions& server,
               const std::string& name = "api.example") {
  Both both;
  loop.run(drive(&both, TlsContext::client(client), TlsContext::server(server), name));
  return both;
}

Task<> send_all(Stream* stream, std::string bytes) {
  co_await stream->write(bytes);
  co_await stream->shutdown();
}

Task<std::string> read_all(Stream* stream) {
  std::string all;
  std::vector<char> buffer(10'000);
  while (const auto n = co_await stream->read(buffer)) all.append(buffer.data(), n);
  co_return all;
}

TEST(Tls, CarriesBytesAndSaysGoodbye) {
  Loop loop(ClockMode::Manual);
  auto both = handshake(loop, client_options(), server_options());
  ASSERT_TRUE(both.client && both.server) << both.client_error << both.server_error;
  EXPECT_EQ(both.client->alpn(), "h2") << "the server's preference";
  EXPECT_EQ(both.server->alpn(), "h2");
  EXPECT_EQ(both.client->peer()->common_name, "server");
  EXPECT_FALSE(both.server->peer());
  const std::string much(3'000'000, 'x');
  Scope scope;
  scope.spawn(send_all(both.client.get(), much));
  EXPECT_EQ(loop.run(read_all(both.server.get())), much);
  scope.spawn(send_all(both.server.get(), "bye"));
  EXPECT_EQ(loop.run(read_all(both.client.get())), "bye");
}

TEST(Tls, BothDirectionsAtOnceOverANarrowPipe) {
  Loop loop(ClockMode::Manual);
  auto [near, far] = pipe(1000);
  Both both;
  Scope scope;
  scope.spawn(accept(std::move(far), TlsContext::server(server_options()), &both));
  scope.spawn(dial(std::move(near), TlsContext::client(client_options()), "api.example", &both));
  loop.run(scope.join());
  const std::string much(700'000, 'x');
  std::string at_client;
  std::string at_server;
  const auto read_into = [](Stream* stream, std::string* into) -> Task<> { *into = co_await read_all(stream); };
  scope.spawn(send_all(both.client.get(), much));
  scope.spawn(send_all(both.server.get(), much));
  scope.spawn(read_into(both.client.get(), &at_client));
  scope.spawn(read_into(both.server.get(), &at_server));
  loop.run(scope.join());
  EXPECT_EQ(at_client, much);
  EXPECT_EQ(at_server, much);
}

TEST(Tls, ChecksAnIpAddress) {
  Loop loop(ClockMode::Manual);
  EXPECT_TRUE(handshake(loop, client_options(), server_options(), "127.0.0.1").client);
  const auto wrong = handshake(loop, client_options(), server_options(), "127.0.0.2");
  EXPECT_EQ(wrong.client_error,
            "TLS with 127.0.0.2: certificate is for api.example, other.example, 127.0.0.1, not for 127.0.0.2");
}

TEST(Tls, RefusesAnUnknownAuthority) {
  Loop loop(ClockMode::Manual);
  auto options = client_options();
  options.ca_pem = make_ca("another-ca").cert_pem;
  const auto both = handshake(loop, options, server_options());
  EXPECT_EQ(both.client_error, "TLS with api.example: certificate signed by unknown authority");
  EXPECT_EQ(both.client_code, Code::Unauthorized);
  EXPECT_EQ(both.server_error, "TLS: the peer refused our certificate: unknown authority");
}

TEST(Tls, RefusesAnotherName) {
  Loop loop(ClockMode::Manual);
  const auto both = handshake(loop, client_options(), server_options(), "wrong.example");
  EXPECT_EQ(both.client_error,
            "TLS with wrong.example: certificate is for api.example, other.example, 127.0.0.1, not for wrong.example");
}

TEST(Tls, RefusesAnExpiredCertificate) {
  Loop loop(ClockMode::Manual);
  auto spec = server_spec();
  spec.not_before = std::chrono::sys_days(std::chrono::year(2020) / 1 / 1);
  spec.not_after = std::chrono::sys_days(std::chrono::year(2021) / 1 / 1);
  const auto both = handshake(loop, client_options(), server_options(spec));
  EXPECT_EQ(both.client_error, "TLS with api.example: certificate expired at 2021-01-01T00:00:00Z");
}

TEST(Tls, RefusesACertificateOfTheFuture) {
  Loop loop(ClockMode::Manual);
  auto spec = server_spec();
  spec.not_before = std::chrono::sys_days(std::chrono::year(2999) / 1 / 1);
  spec.not_after = std::chrono::sys_days(std::chrono::year(3000) / 1 / 1);
  const auto both = handshake(loop, client_options(), server_options(spec));
  EXPECT_EQ(both.client_error, "TLS with api.example: certificate is not valid before 2999-01-01T00:00:00Z");
}

TEST(Tls, RefusesAClientCertificateAsAServer) {
  Loop loop(ClockMode::Manual);
  auto spec = server_spec();
  spec.server = false;
  const auto both = handshake(loop, client_options(), server_options(spec));
  EXPECT_EQ(both.client_error, "TLS with api.example: certificate is not for this use (extended key usage)");
}

TEST(Tls, NeedsAProtocolInCommon) {
  Loop loop(ClockMode::Manual);
  auto client = client_options();
  client.alpn = {"smtp"};
  const auto both = handshake(loop, client, server_options());
  EXPECT_EQ(both.client_error, "TLS with api.example: no application protocol in common");
  EXPECT_EQ(both.client_code, Code::Unavailable);
}

TEST(Tls, AlpnIsOptional) {
  Loop loop(ClockMode::Manual);
  auto client = client_options();
  client.alpn.clear();
  const auto both = handshake(loop, client, server_options());
  ASSERT_TRUE(both.client && both.server);
  EXPECT_EQ(both.client->alpn(), "");
  EXPECT_EQ(both.server->alpn(), "");
}

TEST(Tls, OneContextOffersOtherProtocols) {
  Loop loop(ClockMode::Manual);
  const auto client = TlsContext::client(client_options());
  Both both;
  loop.run(drive(&both, client.offering({"http/1.1"}), TlsContext::server(server_options()), "api.example"));
  ASSERT_TRUE(both.client && both.server) << both.client_error << both.server_error;
  EXPECT_EQ(both.client->alpn(), "http/1.1");
  both = Both();
  loop.run(drive(&both, client.offering({"http/1.1"}), TlsContext::server(server_options()), "wrong.example"));
  EXPECT_FALSE(both.client) << "trust is the same";
}

TEST(Tls, InsecureChecksNothing) {
  Loop loop(ClockMode::Manual);
  TlsClientOptions options;
  options.insecure = true;
  const auto both = handshake(loop, options, server_options(), "wrong.example");
  ASSERT_TRUE(both.client) << both.client_error;
  EXPECT_FALSE(both.client->peer());
}

TEST(Tls, ServerLearnsWhoTheClientIs) {
  Loop loop(ClockMode::Manual);
  CertificateSpec spec;
  spec.common_name = "jane";
  spec.organizations = {"dev", "system:masters"};
  const auto jane = issue(ca(), spec);
  auto client = client_options();
  client.cert_pem = jane.cert_pem;
  client.key_pem = jane.key_pem;
  auto server = server_options();
  server.client_ca_pem = ca().cert_pem;
  const auto both = handshake(loop, client, server);
  ASSERT_TRUE(both.server) << both.server_error;
  EXPECT_EQ(both.server->peer()->common_name, "jane");
  EXPECT_THAT(both.server->peer()->organizations, ElementsAre("dev", "system:masters"));
}

TEST(Tls, ClientCertificateIsOptionalUnlessRequired) {
  Loop loop(ClockMode::Manual);
  auto server = server_options();
  server.client_ca_pem = ca().cert_pem;
  auto both = handshake(loop, client_options(), server);
  ASSERT_TRUE(both.server);
  EXPECT_FALSE(both.server->peer());

  server.require_client_cert = true;
  both = handshake(loop, client_options(), server);
  EXPECT_EQ(both.server_error, "TLS: the client showed no certificate");
  ASSERT_TRUE(both.client) << "TLS 1.3: the client learns it with its first read";
  try {
    loop.run(read_all(both.client.get()));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code, Code::Unauthorized);
    EXPECT_STREQ(error.what(), "TLS with api.example: the peer requires a client certificate");
  }
}

TEST(Tls, RefusesAClientOfAnotherAuthority) {
  Loop loop(ClockMode::Manual);
  const auto other = make_ca("another-ca");
  const auto mallory = issue(other, CertificateSpec{.common_name = "mallory"});
  auto client = client_options();
  client.cert_pem = mallory.cert_pem;
  client.key_pem = mallory.key_pem;
  auto server = server_options();
  server.client_ca_pem = ca().cert_pem;
  EXPECT_EQ(handshake(loop, client, server).server_error, "TLS: certificate signed by unknown authority");
}

Task<> talk_plain(std::unique_ptr<Stream> stream) {
  co_await stream->write("HTTP/1.1 400 Bad Request\r\n\r\n");
  co_await stream->shutdown();
  std::vector<char> buffer(1000);
  while (co_await stream->read(buffer) > 0) {
  }
}

TEST(Tls, SaysThatThePeerDoesNotSpeakTls) {
  Loop loop(ClockMode::Manual);
  auto [near, far] = pipe();
  Scope scope;
  scope.spawn(talk_plain(std::move(far)));
  Both both;
  loop.run(dial(std::move(near), TlsContext::client(client_options()), "api.example", &both));
  EXPECT_EQ(both.client_error, "TLS with api.example: the peer does not speak TLS");
}

TEST(Tls, EndWithoutGoodbyeIsAnError) {
  Loop loop(ClockMode::Manual);
  auto both = handshake(loop, client_options(), server_options());
  both.server->close();
  try {
    loop.run(read_all(both.client.get()));
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "TLS with api.example: connection closed by the peer without a TLS goodbye");
  }
}

TEST(Tls, CancelledReadLosesNothing) {
  Loop loop(ClockMode::Manual);
  auto both = handshake(loop, client_options(), server_options());
  {
    Scope scope;
    std::vector<char> buffer(10);
    scope.spawn([](Stream* stream, std::vector<char>* into) -> Task<> { co_await stream->read(*into); }(
                                                                both.client.get(), &buffer));
    loop.poll();
    scope.cancel();
    loop.poll();
    EXPECT_TRUE(scope.empty());
  }
  Scope scope;
  scope.spawn(send_all(both.server.get(), "still here"));
  EXPECT_EQ(loop.run(read_all(both.client.get())), "still here");
}

std::string error_of(const std::function<void()>& fn) {
  try {
    fn();
    return "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code, Code::Invalid);
    return error.what();
  }
}

TEST(TlsContext, NamesTheBadPart) {
  auto options = client_options();
  options.ca_pem = "secret";
  EXPECT_EQ(error_of([&] { TlsContext::client(options); }), "certificate authority: no PEM certificate in it");
  options = client_options();
  options.cert_pem = ca().cert_pem;
  options.key_pem = "secret";
  EXPECT_EQ(error_of([&] { TlsContext::client(options); }),
            "client key: no PEM private key in it, or an encrypted one");
  options.key_pem = make_ca("x").key_pem;
  EXPECT_EQ(error_of([&] { TlsContext::client(options); }), "client key does not belong to the certificate");
}

TEST(Cert, InspectReadsBackWhatWasIssued) {
  auto spec = server_spec();
  spec.organizations = {"a", "b"};
  spec.ip_addresses = {"10.0.0.1", "::1"};
  spec.not_after = std::chrono::sys_days(std::chrono::year(2100) / 1 / 1);
  const auto info = inspect(issue(ca(), spec).cert_pem);
  EXPECT_EQ(info.common_name, "server");
  EXPECT_EQ(info.issuer_name, "test-ca");
  EXPECT_THAT(info.organizations, ElementsAre("a", "b"));
  EXPECT_THAT(info.dns_names, ElementsAre("api.example", "other.example"));
  EXPECT_THAT(info.ip_addresses, ElementsAre("10.0.0.1", "::1"));
  EXPECT_EQ(info.not_after, *spec.not_after);
  const auto short_lived = inspect(make_ca("short", *spec.not_after - 60s, *spec.not_after).cert_pem);
  EXPECT_EQ(short_lived.not_before, *spec.not_after - 60s);
  EXPECT_EQ(short_lived.not_after, *spec.not_after);
  EXPECT_EQ(short_lived.issuer_name, "short");
  spec.ip_addresses = {"10.0.0"};
  EXPECT_EQ(error_of([&] { issue(ca(), spec); }), "certificate for 10.0.0: not an IP address");
}

}  // namespace
}  // namespace kopper::rt
