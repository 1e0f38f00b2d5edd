// Our client against HTTP/2 servers of others, as processes on loopback: nghttpd and nginx, both Debian packages.
#include <filesystem>
#include <fstream>
#include <list>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "kopper/base/error.h"
#include "kopper/http/client.h"
#include "kopper/rt/cert.h"
#include "kopper/rt/process.h"
#include "kopper/rt/scope.h"

namespace kopper::http {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNghttpd = "/usr/sbin/nghttpd";
constexpr const char* kNginx = "/usr/sbin/nginx";

Request get(std::string target) {
  Request request;
  request.target = std::move(target);
  return request;
}

Task<> fetch(Handler* client, Request request, std::list<std::string>* bodies) {
  const Response response = co_await client->handle(std::move(request));
  bodies->push_back(co_await read_all(*response.body));
}

Task<> fetch_many(Handler* client, int count, int at_a_time, std::list<std::string>* bodies) {
  for (int done = 0; done < count; done += at_a_time) {
    rt::Scope scope;
    for (int i = 0; i < at_a_time; ++i) scope.spawn(fetch(client, get("/small"), bodies));
    co_await scope.join();
  }
}

Task<> until_it_serves(Handler* client) {
  for (int attempt = 0;; ++attempt) {
    try {
      const Response response = co_await client->handle(get("/small"));
      co_return;
    } catch (const Error&) {
      if (attempt == 500) throw;
    }
    co_await rt::sleep(
        std::chrono::milliseconds(10));  // another process is starting: there is nothing else to wait for
  }
}

class PeersTest : public ::testing::Test {
 protected:
  PeersTest() {
    std::string pattern = (fs::temp_directory_path() / "kopper-peers-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw Error(Code::Internal, "cannot make a folder");
    folder = pattern;
    fs::permissions(folder, fs::perms::others_exec | fs::perms::others_read, fs::perm_options::add);
    fs::create_directory(folder / "www");
    const auto ca = rt::make_ca("test");
    rt::CertificateSpec spec;
    spec.common_name = "server";
    spec.ip_addresses = {"127.0.0.1"};
    const auto key = rt::issue(ca, spec);
    ca_pem = ca.cert_pem;
    std::ofstream(folder / "cert.pem") << key.cert_pem;
    std::ofstream(folder / "key.pem") << key.key_pem;
    std::ofstream(folder / "www" / "small") << "small";
    std::string large;
    large.resize(20'000'000, 'x');
    std::ofstream(folder / "www" / "large") << large;
    port = rt::Listener::tcp().port();  // free a moment ago
  }
  ~PeersTest() override {
    process.reset();
    fs::remove_all(folder);
  }

  void start(std::vector<std::string> argv) {
    rt::ProcessSpec spec;
    spec.argv = std::move(argv);
    spec.output_file = (folder / "output.log").string();
    process.emplace(spec);
    ClientOptions options;
    options.origin = parse_url(fmt::format("https://127.0.0.1:{}", port)).value();
    options.tls = [this] {
      rt::TlsClientOptions tls;
      tls.ca_pem = ca_pem;
      return tls;
    };
    client = make_client(options);
    loop.run(until_it_serves(client.get()));
  }
  void start_nghttpd() {
    start({kNghttpd, "-d", (folder / "www").string(), "--max-concurrent-streams=20", "-a", "127.0.0.1",
           std::to_string(port), (folder / "key.pem").string(), (folder / "cert.pem").string()});
  }
  void start_nginx(const std::string& directives) {
    std::ofstream(folder / "nginx.conf") << fmt::format(
        "daemon off; worker_processes 1; pid {0}/pid; error_log {0}/error.log;\n"
        "events {{ worker_connections 512; }}\n"
        "http {{ access_log off; {2}\n"
        "  client_body_temp_path {0}/t1; proxy_temp_path {0}/t2; fastcgi_temp_path {0}/t3; uwsgi_temp_path {0}/t4;\n"
        "  scgi_temp_path {0}/t5;\n"
        "  server {{ listen 127.0.0.1:{1} ssl http2; root {0}/www;\n"
        "    ssl_certificate {0}/cert.pem; ssl_certificate_key {0}/key.pem; }} }}\n",
        folder.string(), port, directives);
    start({kNginx, "-p", folder.string(), "-c", (folder / "nginx.conf").string()});
  }
  void expect_small(int count, int at_a_time) {
    std::list<std::string> bodies;
    loop.run(fetch_many(client.get(), count, at_a_time, &bodies));
    EXPECT_EQ(bodies.size(), static_cast<std::size_t>(count));
    for (const auto& body : bodies) ASSERT_EQ(body, "small");
  }
  std::size_t large() {
    std::list<std::string> bodies;
    loop.run(fetch(client.get(), get("/large"), &bodies));
    return bodies.front().size();
  }

  fs::path folder;
  std::string ca_pem;
  std::uint16_t port = 0;
  rt::Loop loop;
  std::optional<rt::Process> process;
  std::unique_ptr<Handler> client;
};

TEST_F(PeersTest, Nghttpd) {
  ASSERT_EQ(::access(kNghttpd, X_OK), 0) << kNghttpd << " is missing: run tools/deps test";
  start_nghttpd();
  expect_small(1000, 200);  // ten times what one connection may have open
  EXPECT_EQ(large(), 20'000'000U);
}

TEST_F(PeersTest, Nginx) {
  ASSERT_EQ(::access(kNginx, X_OK), 0) << kNginx << " is missing: run tools/deps test";
  start_nginx("keepalive_requests 100000;");
  expect_small(1000, 100);
  EXPECT_EQ(large(), 20'000'000U);
}

TEST_F(PeersTest, NginxThatSendsAwayAllTheTime) {
  ASSERT_EQ(::access(kNginx, X_OK), 0) << kNginx << " is missing: run tools/deps test";
  start_nginx("keepalive_requests 10;");  // GOAWAY after each ten
  expect_small(300, 1);
}

}  // namespace
}  // namespace kopper::http
