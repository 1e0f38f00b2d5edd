// Hard cases of a client's life, by their numbers: those that take real sockets and a network that fails.
#include <algorithm>
#include <chrono>
#include <deque>

#include "kopper/http/client.h"
#include "kopper/http/server.h"
#include "kopper/http/url.h"
#include "kopper/rt/tls.h"

#include "real/account.h"
#include "real/fault_proxy.h"

namespace kopper::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::uint16_t port_of(const std::string& url) { return http::parse_url(url)->port; }

// To the real server by way of `port`.
client::Config config_by(std::uint16_t port) {
  auto config = admin_config();
  config.server = "https://127.0.0.1:" + std::to_string(port);
  return config;
}

// As client::make_transport() with a token, and with an ear for dead peers that is quicker than any user needs.
class Impatient final : public http::Handler {
 public:
  explicit Impatient(const client::Config& config) : authorization_("Bearer " + config.token) {
    http::ClientOptions options;
    options.origin = *http::parse_url(config.server);
    options.tls = [ca = read_file(config.ca.file)] { return rt::TlsClientOptions{.ca_pem = ca}; };
    options.h2.ping_after = 500ms;
    options.h2.ping_timeout = 500ms;
    inner_ = http::make_client(std::move(options));
  }
  Task<http::Response> handle(http::Request request) override {
    request.headers.set("authorization", authorization_);
    return inner_->handle(std::move(request));
  }

 private:
  std::string authorization_;
  std::unique_ptr<http::Handler> inner_;
};

// An API server of ours in front of the real one: it answers "429 Too Many Requests" when it is told to.
class Overloaded final : public http::Handler {
 public:
  explicit Overloaded(std::shared_ptr<http::Handler> inner) : inner_(std::move(inner)) {}

  // The next requests whose "METHOD target" has `what` in it: one answer each.
  void refuse(std::string what, int times, std::string retry_after = "") {
    what_ = std::move(what);
    left_ = times;
    retry_after_ = std::move(retry_after);
  }
  int left() const { return left_; }
  std::size_t seen(std::string_view what) const {
    return std::ranges::count_if(targets_, [&](const std::string& t) { return t.find(what) != std::string::npos; });
  }

  Task<http::Response> handle(http::Request request) override {
    targets_.push_back(request.method + " " + request.target);
    if (left_ == 0 || targets_.back().find(what_) == std::string::npos) {
      request.long_running = request.target.find("watch=true") != std::string::npos;
      request.headers.remove("authorization");
      co_return co_await inner_->handle(std::move(request));
    }
    --left_;
    auto refusal = http::text_response(
        429, R"({"kind":"Status","apiVersion":"v1","status":"Failure","reason":"TooManyRequests","code":429})",
        "application/json");
    if (!retry_after_.empty()) refusal.headers.set("retry-after", retry_after_);
    co_return refusal;
  }

 private:
  std::shared_ptr<http::Handler> inner_;
  std::string what_;
  int left_ = 0;
  std::string retry_after_;
  std::vector<std::string> targets_;
};

http::ServerOptions served_with(const std::string& cert, const std::string& key) {
  const rt::TlsServerOptions tls{.cert_pem = read_file(cert), .key_pem = read_file(key), .alpn = {"h2"}};
  http::ServerOptions options;
  options.tls = [context = rt::TlsContext::server(tls)] { return context; };
  return options;
}

struct HardCases : Watching {
  FaultProxy proxy{port_of(cluster().url())};
};

// ---- 8

// Both ends believe in a connection that carries nothing any more. The watch finds out by a PING, and misses nothing.
TEST_F(HardCases, Case8HalfOpenTcp) {
  const client::Client impatient(std::make_shared<Impatient>(config_by(proxy.port())));
  client::Changes<ConfigMap> changes(impatient.of<ConfigMap>(), {.namespace_ = ns});
  rt::Scope scope;
  scope.spawn(keep_account(&changes, &account));
  wait([&] { return account.synced == 1; });
  run(other.of<ConfigMap>().create(config_map("before")));
  wait([&] { return told("before", "A"); });

  proxy.freeze();
  run(other.of<ConfigMap>().create(config_map("while")));
  wait([&] { return told("while", "A"); });
  EXPECT_EQ(account.synced, 1);  // resumed, not listed again
  EXPECT_EQ(account.told, (std::map<std::string, std::string>{{"before", "A"}, {"while", "A"}}));
}

// So does an ordinary call, which is repeated on a new connection.
TEST_F(HardCases, Case8HalfOpenTcpUnderACall) {
  const client::Client impatient(std::make_shared<Impatient>(config_by(proxy.port())));
  run(impatient.of<ConfigMap>().create(config_map("a")));
  proxy.freeze();
  EXPECT_EQ(run(impatient.of<ConfigMap>().get(key("a"))).data.at("key"), "v");
  EXPECT_EQ(proxy.accepted(), 2U);
}

// A peer that is slow or silent for less than that is not given up.
TEST_F(HardCases, Case8AShortSilenceIsNoDeath) {
  const client::Client impatient(std::make_shared<Impatient>(config_by(proxy.port())));
  client::Changes<ConfigMap> changes(impatient.of<ConfigMap>(), {.namespace_ = ns});
  rt::Scope scope;
  scope.spawn(keep_account(&changes, &account));
  wait([&] { return account.synced == 1; });
  proxy.delay(20ms);
  proxy.stall();
  run(other.of<ConfigMap>().create(config_map("a")));
  proxy.resume();
  wait([&] { return told("a", "A"); });
  EXPECT_EQ(proxy.accepted(), 1U);
  EXPECT_THAT(account.failures, IsEmpty());
}

// ---- 9

Task<> read_often(client::Api<ConfigMap> maps, Key key, int times, int* read) {
  for (int i = 0; i < times; ++i) {
    co_await maps.get(key);
    ++*read;
  }
}

// The server says GOAWAY on two of a hundred requests, whatever else is open on their connection.
TEST_F(HardCases, Case9GoawayAndMoreThan100Streams) {
  constexpr int kWatches = 130;  // the server allows 100 streams a connection
  cluster().restart_apiserver({"--goaway-chance=0.02"});
  const client::Client away(client::make_transport(config_by(proxy.port())));
  run(away.of<ConfigMap>().create(config_map("before")));
  std::deque<client::Changes<ConfigMap>> changes;
  std::vector<Account> accounts(kWatches);
  rt::Scope scope;
  for (auto& one : accounts) {
    changes.emplace_back(away.of<ConfigMap>(), client::WatcherOptions{.namespace_ = ns});
    scope.spawn(keep_account(&changes.back(), &one));
  }
  wait([&] { return std::ranges::all_of(accounts, [](const Account& a) { return a.synced >= 1; }); });
  EXPECT_GE(proxy.open(), 2U);

  int read = 0;
  std::vector<Task<>> readers;
  for (int i = 0; i < 20; ++i) readers.push_back(read_often(away.of<ConfigMap>(), key("before"), 50, &read));
  loop.run(rt::all(std::move(readers)));
  EXPECT_EQ(read, 1000);
  EXPECT_GE(proxy.accepted(), 5U);  // about 20 times GOAWAY, in 1,000 requests

  run(away.of<ConfigMap>().create(config_map("after")));
  const std::map<std::string, std::string> all{{"before", "A"}, {"after", "A"}};
  wait([&] { return std::ranges::all_of(accounts, [&](const Account& a) { return a.told == all; }); });
  for (const auto& one : accounts) EXPECT_THAT(one.failures, IsEmpty());
  cluster().restart_apiserver();
}

// ---- 10 (the token: Watches.SurvivesARenewedToken)

std::string must_run(std::vector<std::string> command) {
  const auto result = testing::run(std::move(command));
  if (result.exit != 0) throw std::runtime_error(result.err);
  return result.out;
}

// Another authority signs the server's certificate from now on, and our CA file says so.
TEST_F(HardCases, Case10TheCaRotatesDuringAWatch) {
  const auto& c = cluster();
  const std::vector<std::string> touched{c.ca_file(), c.pki_file("server.crt")};
  std::vector<std::string> saved;
  for (const auto& path : touched) saved.push_back(read_file(path));
  const auto trusted = c.pki_file("trusted.crt");
  write_file(trusted, read_file(c.ca_file()));

  auto config = admin_config();
  config.ca.file = trusted;
  const client::Client rotating(client::make_transport(config));
  client::Changes<ConfigMap> changes(rotating.of<ConfigMap>(), {.namespace_ = ns});
  rt::Scope scope;
  scope.spawn(keep_account(&changes, &account));
  wait([&] { return account.synced == 1; });

  const auto extensions = c.pki_file("extensions");
  write_file(extensions, "extendedKeyUsage=serverAuth\nsubjectAltName=IP:127.0.0.1\n");
  must_run({"openssl", "req", "-new", "-key", c.pki_file("server.key"), "-subj", "/CN=kube-apiserver", "-out",
            c.pki_file("new.csr")});
  write_file(c.ca_file(), saved[0] + read_file(c.other_ca_file()));  // for tools/real-apiserver, which waits for it
  must_run({"openssl", "x509", "-req", "-in", c.pki_file("new.csr"), "-CA", c.other_ca_file(), "-CAkey",
            c.pki_file("other-ca.key"), "-CAcreateserial", "-days", "1", "-extfile", extensions, "-out",
            c.pki_file("server.crt")});
  write_file(trusted, read_file(c.other_ca_file()));
  cluster().restart_apiserver();

  config.ca.file.clear();
  config.ca.data = saved[0];
  const client::Client unaware(client::make_transport(config), {.max_retries = 0});
  EXPECT_THAT(error_of(unaware.of<ConfigMap>().list({.namespace_ = ns})).what(), HasSubstr("certificate"));
  run(rotating.of<ConfigMap>().create(config_map("after")));
  loop.run(rt::timeout(2min, until(rotating, [&] { return told("after", "A"); })));

  for (std::size_t i = 0; i < touched.size(); ++i) write_file(touched[i], saved[i]);
  cluster().restart_apiserver();
}

// ---- 18

struct Case18 : HardCases {
  Overloaded front{client::make_transport(admin_config())};
  http::Server server{rt::Listener::tcp(), front,
                      served_with(cluster().pki_file("server.crt"), cluster().pki_file("server.key"))};
  FaultProxy faults{server.port()};
  client::Client through{client::make_transport(config_by(faults.port()))};
};

TEST_F(Case18, OnAWriteWithRetryAfter) {
  front.refuse("POST ", 2, "1");
  const auto begin = loop.now();
  run(through.of<ConfigMap>().create(config_map("a")));
  EXPECT_GE(loop.now() - begin, 2s);  // not a moment before it was asked to
  EXPECT_EQ(front.seen("POST "), 3U);
}

TEST_F(Case18, OnAWriteWithout) {
  front.refuse("POST ", 3);
  run(through.of<ConfigMap>().create(config_map("a")));
  EXPECT_EQ(front.seen("POST "), 4U);
  EXPECT_EQ(run(other.of<ConfigMap>().list({.namespace_ = ns})).items.size(), 1U);
}

TEST_F(Case18, OnAWriteForEver) {
  front.refuse("POST ", 1'000'000);
  const client::Client hurried(client::make_transport(config_by(server.port())), {.max_retries = 2});
  EXPECT_EQ(error_of(hurried.of<ConfigMap>().create(config_map("a"))).code, Code::TooMany);
  EXPECT_EQ(front.seen("POST "), 3U);
}

// The watch is asked for again from where it was: an overloaded server must not be asked for a list on top.
TEST_F(Case18, OnAWatch) {
  client::Changes<ConfigMap> changes(through.of<ConfigMap>(), {.namespace_ = ns, .watch_list = false});
  rt::Scope scope;
  scope.spawn(keep_account(&changes, &account));
  wait([&] { return account.synced == 1 && front.seen("watch=true") == 1; });
  std::map<std::string, std::string> all;
  for (const std::string retry_after : {"", "1"}) {
    front.refuse("watch=true", 2, retry_after);
    faults.cut();
    const auto name = "while" + retry_after;
    run(other.of<ConfigMap>().create(config_map(name)));
    wait([&] { return told(name, "A"); });
    all[name] = "A";
  }
  EXPECT_EQ(front.seen("limit="), 1U);
  EXPECT_GE(front.seen("watch=true"), 7U);
  EXPECT_EQ(account.told, all);
}

}  // namespace
}  // namespace kopper::testing
