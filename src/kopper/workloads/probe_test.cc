#include "kopper/workloads/probe.h"

#include <list>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/base/error.h"
#include "kopper/http/server.h"
#include "kopper/rt/cert.h"
#include "kopper/rt/scope.h"
#include "kopper/rt/stream.h"
#include "kopper/workloads/grpc_health.h"

namespace kopper::workloads {
namespace {

using api::corev1::Container;
using api::corev1::Probe;
using std::chrono::seconds;
using Kinds = std::vector<ProbeKind>;
using Verdict = ContainerProbes::Verdict;
using ::testing::HasSubstr;

constexpr ProbeKind kStartup = ProbeKind::Startup;
constexpr ProbeKind kLiveness = ProbeKind::Liveness;
constexpr ProbeKind kReadiness = ProbeKind::Readiness;

rt::TimePoint at(int second) { return rt::TimePoint(seconds(second)); }
const ProbeResult kOk{true, {}};
const ProbeResult kBad{false, "no"};

TEST(ContainerProbes, NoneMeansReadyAtOnce) {
  ContainerProbes probes(Container{}, at(5));
  EXPECT_TRUE(probes.started());
  EXPECT_TRUE(probes.ready());
  EXPECT_EQ(probes.next(), rt::TimePoint::max());
  EXPECT_EQ(probes.due(at(9)), Kinds{});
}

TEST(ContainerProbes, ReadinessComesAndGoes) {
  Container container;
  container.readinessProbe = {
      {.initialDelaySeconds = 5, .periodSeconds = 2, .successThreshold = 2, .failureThreshold = 2}};
  ContainerProbes probes(container, at(10));
  EXPECT_TRUE(probes.started());
  EXPECT_FALSE(probes.ready());
  EXPECT_EQ(probes.next(), at(15));
  EXPECT_EQ(probes.due(at(14)), Kinds{});
  EXPECT_EQ(probes.due(at(15)), Kinds{kReadiness});
  EXPECT_EQ(probes.due(at(17)), Kinds{}) << "it is under way";
  EXPECT_EQ(probes.next(), rt::TimePoint::max());
  EXPECT_EQ(probes.record(kReadiness, kOk, at(17)), Verdict::Same);
  EXPECT_EQ(probes.due(at(17)), Kinds{kReadiness});
  EXPECT_EQ(probes.record(kReadiness, kOk, at(17)), Verdict::Changed);
  EXPECT_TRUE(probes.ready());
  EXPECT_EQ(probes.record(kReadiness, kBad, at(19)), Verdict::Same);
  EXPECT_TRUE(probes.ready());
  EXPECT_EQ(probes.record(kReadiness, kOk, at(21)), Verdict::Same);
  EXPECT_EQ(probes.record(kReadiness, kBad, at(23)), Verdict::Same);
  EXPECT_EQ(probes.record(kReadiness, kBad, at(25)), Verdict::Changed);
  EXPECT_FALSE(probes.ready());
}

TEST(ContainerProbes, LivenessRestartsOnce) {
  Container container;
  container.livenessProbe = {{.periodSeconds = 1}};
  ContainerProbes probes(container, at(0));
  EXPECT_TRUE(probes.ready());
  EXPECT_EQ(probes.record(kLiveness, kOk, at(0)), Verdict::Same);
  EXPECT_EQ(probes.record(kLiveness, kBad, at(1)), Verdict::Same);
  EXPECT_EQ(probes.record(kLiveness, kBad, at(2)), Verdict::Same);
  EXPECT_EQ(probes.record(kLiveness, kBad, at(3)), Verdict::Restart);
  EXPECT_EQ(probes.record(kLiveness, kBad, at(4)), Verdict::Same);
  EXPECT_EQ(probes.due(at(60)), Kinds{});
}

TEST(ContainerProbes, StartupHoldsBackTheOthers) {
  Container container;
  container.startupProbe = {{.periodSeconds = 1, .failureThreshold = 30}};
  container.livenessProbe = {{.initialDelaySeconds = 100}};
  container.readinessProbe.emplace();
  ContainerProbes probes(container, at(0));
  EXPECT_FALSE(probes.started());
  EXPECT_EQ(probes.due(at(200)), Kinds{kStartup});
  EXPECT_EQ(probes.record(kStartup, kBad, at(200)), Verdict::Same);
  EXPECT_EQ(probes.due(at(201)), Kinds{kStartup});
  EXPECT_EQ(probes.record(kStartup, kOk, at(202)), Verdict::Changed);
  EXPECT_TRUE(probes.started());
  EXPECT_FALSE(probes.ready());
  EXPECT_EQ(probes.next(), at(202));
  EXPECT_EQ(probes.due(at(202)), (Kinds{kLiveness, kReadiness}));
}

TEST(ContainerProbes, StartupThatNeverPassesRestarts) {
  Container container;
  container.startupProbe = {{.failureThreshold = 2}};
  ContainerProbes probes(container, at(0));
  EXPECT_EQ(probes.record(kStartup, kBad, at(0)), Verdict::Same);
  EXPECT_EQ(probes.record(kStartup, kBad, at(10)), Verdict::Restart);
  EXPECT_EQ(probes.next(), rt::TimePoint::max());
}

// Answers by path: "/503" is that status, "/to?x" redirects to x, "/host" and "/agent" are 200 when those headers are
// right.
class Site final : public http::Handler {
 public:
  Task<http::Response> handle(http::Request request) override {
    asked.push_back(request.target);
    auto response = http::text_response(200, "x");
    if (request.target.starts_with("/to?")) {
      response.status = 302;
      response.headers.add("Location", request.target.substr(4));
    } else if (request.target == "/header") {
      response.status = request.headers.get("x-me") == "probe" && request.headers.get("host") == "shop" ? 200 : 400;
    } else if (request.target == "/503") {
      response.status = 503;
    } else if (request.target == "/304") {
      response.status = 304;
    }
    co_return response;
  }
  std::vector<std::string> asked;
};

struct ProbeOnce : ::testing::Test {
  ProbeTarget target() const {
    return {.address = "127.0.0.1", .ports = {{.name = "web", .containerPort = server.port()}}};
  }
  static Probe http_get(std::string path, api::IntOrString port = "web") {
    Probe probe;
    auto& action = probe.httpGet.emplace();
    action.path = std::move(path);
    action.port = std::move(port);
    return probe;
  }
  ProbeResult ask(Probe probe) { return loop.run(probe_once(std::move(probe), target())); }
  std::uint16_t unused_port() {
    auto listener = rt::Listener::tcp();
    return listener.port();
  }

  rt::Loop loop;
  Site site;
  http::Server server{rt::Listener::tcp(), site};
};

TEST_F(ProbeOnce, TakesStatusesAsKubeletDoes) {
  EXPECT_TRUE(ask(http_get("/")).ok);
  EXPECT_TRUE(ask(http_get("")).ok);
  EXPECT_TRUE(ask(http_get("/304")).ok);
  EXPECT_TRUE(ask(http_get("/a?b=c", server.port())).ok);
  EXPECT_EQ(site.asked.back(), "/a?b=c");
  const auto failed = ask(http_get("/503"));
  EXPECT_FALSE(failed.ok);
  EXPECT_EQ(failed.message, "HTTP probe failed with statuscode: 503");
}

TEST_F(ProbeOnce, SendsHeaders) {
  auto probe = http_get("/header");
  EXPECT_FALSE(ask(probe).ok);
  probe.httpGet->httpHeaders = {{.name = "X-Me", .value = "probe"}, {.name = "Host", .value = "shop"}};
  EXPECT_TRUE(ask(probe).ok);
}

TEST_F(ProbeOnce, FollowsRedirectsOfTheSameHost) {
  EXPECT_TRUE(ask(http_get("/to?/a")).ok);
  EXPECT_EQ(site.asked.back(), "/a");
  EXPECT_TRUE(ask(http_get("/to?b?c=d")).ok);
  EXPECT_EQ(site.asked.back(), "/b?c=d");
  EXPECT_FALSE(ask(http_get("/to?/503")).ok);
  EXPECT_TRUE(ask(http_get("/to?http://elsewhere.invalid/503")).ok);
  const auto round = ask(http_get("/to?/to?"));
  EXPECT_TRUE(round.ok) << "a redirect to nowhere is an answer";
}

TEST_F(ProbeOnce, SaysWhyNobodyAnswers) {
  const auto port = unused_port();
  const auto web = ask(http_get("/x", port));
  EXPECT_FALSE(web.ok);
  EXPECT_THAT(web.message, HasSubstr("Get \"http://127.0.0.1:" + std::to_string(port) + "/x\": "));
  EXPECT_THAT(web.message, HasSubstr("refused"));
  EXPECT_EQ(ask(http_get("/", "other")).message, "couldn't find port: other");

  Probe tcp;
  tcp.tcpSocket.emplace().port = "web";
  EXPECT_TRUE(ask(tcp).ok);
  tcp.tcpSocket->port = port;
  EXPECT_THAT(ask(tcp).message, HasSubstr("refused"));
}

TEST_F(ProbeOnce, DoesNotAskWhoSignedTheCertificate) {
  const auto ca = rt::make_ca("probe test");
  rt::CertificateSpec spec;
  spec.common_name = "elsewhere";
  const auto certificate = rt::issue(ca, spec);
  rt::TlsServerOptions tls;
  tls.cert_pem = certificate.cert_pem;
  tls.key_pem = certificate.key_pem;
  tls.alpn = {"h2", "http/1.1"};
  const auto context = rt::TlsContext::server(tls);
  http::ServerOptions options;
  options.tls = [context] { return context; };
  const http::Server secure(rt::Listener::tcp(), site, std::move(options));
  auto probe = http_get("/", secure.port());
  probe.httpGet->scheme = "HTTPS";
  const auto result = ask(probe);
  EXPECT_TRUE(result.ok) << result.message;
}

// Says of the service "good" that it serves.
class Health final : public http::Handler {
 public:
  Task<http::Response> handle(http::Request request) override {
    http::Response response;
    response.headers.add("content-type", "application/grpc");
    const bool known = request.target == "/grpc.health.v1.Health/Check" && request.headers.get("te") == "trailers";
    if (!known || request.body == health_request("strange")) {
      response.headers.add("grpc-status", "12");
      response.body = http::whole({});
      co_return response;
    }
    std::string message("\0\0\0\0\2\x08\2", 7);
    if (request.body == health_request("good")) message.back() = 1;
    response.body = http::whole(std::move(message));
    co_return response;
  }
};

Task<> serve_h2(rt::Listener* listener, Health* health) {
  std::list<http::H2Session> sessions;
  for (;;) {
    auto stream = co_await listener->accept();
    http::H2Server role{.handler = health};
    sessions.emplace_back(std::move(stream), std::move(role));
  }
}

TEST_F(ProbeOnce, AsksForHealthOverGrpc) {
  auto listener = rt::Listener::tcp();
  Health health;
  rt::Scope serving;
  serving.spawn(serve_h2(&listener, &health));
  Probe probe;
  probe.grpc.emplace().port = listener.port();
  EXPECT_EQ(ask(probe).message, "service unhealthy (responded with \"NOT_SERVING\")");
  probe.grpc->service = "good";
  const auto good = ask(probe);
  EXPECT_TRUE(good.ok) << good.message;
  probe.grpc->service = "strange";
  EXPECT_THAT(ask(probe).message, HasSubstr("does not implement the grpc health protocol"));
  probe.grpc->port = unused_port();
  EXPECT_THAT(ask(probe).message, HasSubstr("refused"));
}

Task<ExecResult> run_in_container(std::vector<std::string> argv) {
  if (argv[0] == "missing") throw Error(Code::NotFound, "missing: not found");
  if (argv[0] == "false") co_return ExecResult{1, "it is not well"};
  if (argv[0] == "quiet") co_return ExecResult{2, {}};
  if (argv[0] == "hangs") co_await rt::sleep(std::chrono::hours(1));
  co_return ExecResult{};
}

ProbeResult ask_exec(rt::Loop& loop, std::string command) {
  Probe probe;
  probe.exec.emplace().command = {std::move(command)};
  ProbeTarget target;
  target.exec = run_in_container;
  return loop.run(probe_once(probe, target));
}

TEST_F(ProbeOnce, RunsCommands) {
  EXPECT_TRUE(ask_exec(loop, "true").ok);
  EXPECT_EQ(ask_exec(loop, "false").message, "it is not well");
  EXPECT_EQ(ask_exec(loop, "quiet").message, "exit code 2");
  EXPECT_EQ(ask_exec(loop, "missing").message, "missing: not found");
}

Task<> keep(Task<ProbeResult> task, ProbeResult* into) { *into = co_await task; }

TEST(ProbeTime, IsBounded) {
  rt::Loop loop(rt::ClockMode::Manual);
  Probe probe;
  probe.exec.emplace().command = {"hangs"};
  probe.timeoutSeconds = 3;
  ProbeTarget target;
  target.exec = run_in_container;
  ProbeResult result{true, {}};
  rt::Scope scope;
  scope.spawn(keep(probe_once(probe, target), &result));
  loop.advance(seconds(2));
  EXPECT_TRUE(result.ok);
  loop.advance(seconds(1));
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.message, "command timed out after 3 s");
}

}  // namespace
}  // namespace kopper::workloads
