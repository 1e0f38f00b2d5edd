#include "kopper/client/transport.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/base/error.h"
#include "kopper/client/detail/temp_dir.h"
#include "kopper/http/server.h"
#include "kopper/http/test_proxy.h"
#include "kopper/rt/cert.h"
#include "kopper/rt/file.h"

namespace kopper::client {
namespace {

using testing::ElementsAre;

// Keeps who came; refuses one common name.
class Guard final : public http::Handler {
 public:
  Task<http::Response> handle(http::Request request) override {
    seen.push_back(request.peer ? request.peer->common_name : "nobody");
    http::Response response;
    response.status = seen.back() == refused ? 401 : 200;
    response.body = http::whole("");
    last = std::move(request);
    co_return response;
  }

  std::string refused = "-";
  std::vector<std::string> seen;
  http::Request last;
};

class Transport : public testing::Test {
 protected:
  Transport() {
    rt::CertificateSpec spec;
    spec.common_name = "server";
    spec.ip_addresses = {"127.0.0.1"};
    spec.dns_names = {"api.internal"};
    serve(spec);
    config_.server = fmt::format("https://127.0.0.1:{}", server_->port());
    config_.ca.file = dir_.write("ca.crt", ca_.cert_pem);
  }

  void serve(const rt::CertificateSpec& spec) {
    const auto own = rt::issue(ca_, spec);
    rt::TlsServerOptions tls;
    tls.cert_pem = own.cert_pem;
    tls.key_pem = own.key_pem;
    tls.client_ca_pem = ca_.cert_pem;
    tls.alpn = {"h2", "http/1.1"};
    http::ServerOptions options;
    options.tls = [context = rt::TlsContext::server(tls)] { return context; };
    server_.emplace(rt::Listener::tcp(), guard_, options);
  }

  rt::CertifiedKey user(const std::string& name) const {
    rt::CertificateSpec spec;
    spec.common_name = name;
    return rt::issue(ca_, spec);
  }

  int call() { return call({}); }
  int call(http::Request request) {
    if (!transport_) transport_ = make_transport(config_);
    return loop_.run(transport_->handle(std::move(request))).status;
  }
  // Long-running requests get a connection of their own: a way to a new handshake.
  int call_on_a_new_connection() {
    http::Request request;
    request.long_running = true;
    return call(std::move(request));
  }
  Code failure() {
    try {
      call();
    } catch (const Error& error) {
      message_ = error.what();
      return error.code;
    }
    return Code::Internal;
  }

  rt::Loop loop_;
  detail::TempDir dir_;
  rt::CertifiedKey ca_ = rt::make_ca("test authority");
  Guard guard_;
  std::optional<http::Server> server_;
  Config config_;
  std::shared_ptr<http::Handler> transport_;
  std::string message_;
};

TEST_F(Transport, SendsTheTokenBehindThePathOfTheServer) {
  config_.server += "/k8s/clusters/c-1";
  config_.token = "abc";
  http::Request request;
  request.target = "/api/v1/pods?limit=1";
  EXPECT_EQ(call(request), 200);
  EXPECT_EQ(guard_.last.target, "/k8s/clusters/c-1/api/v1/pods?limit=1");
  EXPECT_EQ(guard_.last.headers.get("authorization"), "Bearer abc");
}

TEST_F(Transport, RefusesAnotherAuthorityUntilTheFileIsReplaced) {
  rt::write_file_atomic(config_.ca.file, rt::make_ca("another").cert_pem);
  EXPECT_EQ(failure(), Code::Unauthorized) << message_;
  EXPECT_TRUE(guard_.seen.empty());
  rt::write_file_atomic(config_.ca.file, ca_.cert_pem);
  EXPECT_EQ(call(), 200);
}

TEST_F(Transport, InsecureTakesAnybody) {
  config_.ca = {};
  config_.insecure = true;
  EXPECT_EQ(call(), 200);
}

TEST_F(Transport, ChecksTheServerName) {
  config_.tls_server_name = "api.internal";
  EXPECT_EQ(call(), 200);
  transport_ = nullptr;
  config_.tls_server_name = "other.internal";
  EXPECT_EQ(failure(), Code::Unauthorized) << message_;
}

TEST_F(Transport, ShowsAClientCertificateAndFollowsItsRotation) {
  const auto first = user("first");
  config_.client_cert.file = dir_.write("tls.crt", first.cert_pem);
  config_.client_key.file = dir_.write("tls.key", first.key_pem);
  EXPECT_EQ(call(), 200);
  const auto second = user("second");
  rt::write_file_atomic(config_.client_cert.file, second.cert_pem);
  rt::write_file_atomic(config_.client_key.file, second.key_pem);
  EXPECT_EQ(call_on_a_new_connection(), 200);
  EXPECT_THAT(guard_.seen, ElementsAre("first", "second"));
}

TEST_F(Transport, ABadCertificateIsKnownAtOnce) {
  config_.client_cert.data = "not pem";
  config_.client_key.data = "s3cret";
  EXPECT_EQ(failure(), Code::Invalid);
  EXPECT_THAT(message_, testing::Not(testing::HasSubstr("s3cret")));
  config_.client_cert = {.data = "", .file = dir_.path("none.crt")};
  EXPECT_EQ(failure(), Code::Invalid);
  EXPECT_THAT(message_, testing::HasSubstr("none.crt"));
}

TEST_F(Transport, APluginsNewCertificateGetsNewConnections) {
  for (const auto& name : {"user-1", "user-2"}) {
    const auto pair = user(name);
    json::Object status;
    status["clientCertificateData"] = pair.cert_pem;
    status["clientKeyData"] = pair.key_pem;
    json::Object credential;
    credential["kind"] = "ExecCredential";
    credential["apiVersion"] = "client.authentication.k8s.io/v1";
    credential["status"] = std::move(status);
    dir_.write(name, json::dump(credential));
  }
  config_.exec.emplace();
  config_.exec->api_version = "client.authentication.k8s.io/v1";
  config_.exec->interactive_mode = InteractiveMode::Never;
  config_.exec->command = dir_.write_script(
      "plugin", fmt::format("#!/bin/bash\ncd {}; echo >> runs; cat user-$(wc -l < runs)\n", dir_.path()));
  EXPECT_EQ(call(), 200);
  guard_.refused = "user-1";
  EXPECT_EQ(call(), 200);
  EXPECT_EQ(call(), 200);
  EXPECT_THAT(guard_.seen, ElementsAre("user-1", "user-1", "user-2", "user-2"));
}

TEST_F(Transport, WithoutTlsNoCredentialIsSent) {
  http::Server plain(rt::Listener::tcp(), guard_);
  config_.server = fmt::format("http://127.0.0.1:{}", plain.port());
  config_.token = "s3cret";
  config_.impersonate.user = "alice";
  EXPECT_EQ(call(), 200);
  EXPECT_FALSE(guard_.last.headers.get("authorization"));
  EXPECT_EQ(guard_.last.headers.get("impersonate-user"), "alice");
}

TEST_F(Transport, GoesThroughTheProxy) {
  http::TestProxy proxy(http::TestProxy::Kind::Socks5, "me:s3cret");
  config_.proxy_url = fmt::format("socks5://me:s3cret@127.0.0.1:{}", proxy.port());
  EXPECT_EQ(call(), 200);
  EXPECT_THAT(proxy.asked(), ElementsAre(fmt::format("127.0.0.1:{}", server_->port())));
}

TEST_F(Transport, BadUrls) {
  config_.server = "https://";
  EXPECT_EQ(failure(), Code::Invalid);
  config_.server = "https://127.0.0.1:1";
  config_.proxy_url = "socks5://me:s3cret@:x";
  EXPECT_EQ(failure(), Code::Invalid);
  EXPECT_THAT(message_, testing::Not(testing::HasSubstr("s3cret")));
}

TEST_F(Transport, NobodyListens) {
  server_.reset();
  EXPECT_EQ(failure(), Code::Unavailable) << message_;
}

}  // namespace
}  // namespace kopper::client
