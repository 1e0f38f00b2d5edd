#include "kopper/runtime/health.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "kopper/base/error.h"
#include "kopper/base/log.h"
#include "kopper/http/url.h"
#include "kopper/rt/cert.h"
#include "kopper/runtime/health_guard.h"
#include "kopper/runtime/profile.h"

namespace kopper::runtime {
namespace {

using http::Request;
using http::Response;

std::pair<std::string_view, std::string_view> split_target(std::string_view target) {
  const auto mark = target.find('?');
  if (mark == std::string_view::npos) return {target, {}};
  return {target.substr(0, mark), target.substr(mark + 1)};
}

// A check that throws has failed too.
std::string problem_of(const HealthChecks::Check& check) {
  try {
    return check();
  } catch (const std::exception& error) {
    return error.what();
  }
}

bool passes(std::string_view what, std::string_view name, const HealthChecks::Check& check) {
  const auto problem = problem_of(check);
  if (!problem.empty()) log::warn("a health check fails", {{"endpoint", what}, {"check", name}, {"error", problem}});
  return problem.empty();
}

std::vector<std::string> excluded_by(const http::Query& query) {
  std::vector<std::string> names;
  for (const auto& [name, value] : query)
    if (name == "exclude") names.push_back(value);
  return names;
}

// The list as kube-apiserver writes it.
Response answer_all(std::string_view what, const std::map<std::string, HealthChecks::Check, std::less<>>& checks,
                    const http::Query& query) {
  auto excluded = excluded_by(query);
  std::string list = checks.empty() ? "[+]ping ok\n" : "";
  bool well = true;
  for (const auto& [name, check] : checks) {
    if (std::erase(excluded, name) > 0) {
      list += fmt::format("[+]{} excluded: ok\n", name);
      continue;
    }
    const bool passed = passes(what, name, check);
    list += fmt::format("[{}]{} {}\n", passed ? '+' : '-', name, passed ? "ok" : "failed: reason withheld");
    well &= passed;
  }
  for (const auto& name : excluded) list += fmt::format("warn: no check \"{}\" to exclude\n", name);
  if (!well) return http::text_response(500, list + fmt::format("{} check failed\n", what));
  if (query.get("verbose")) return http::text_response(200, list + fmt::format("{} check passed\n", what));
  return http::text_response(200, "ok");
}

Response refused(const Request& request) {
  auto response = http::text_response(405, fmt::format("{} is not for this: GET only\n", request.method));
  response.headers.set("allow", "GET, HEAD");
  return response;
}

bool reads(const Request& request) { return request.method == "GET" || request.method == "HEAD"; }

class ProbeHandler final : public http::Handler {
 public:
  explicit ProbeHandler(const HealthChecks& checks) : checks_(checks) {}
  Task<Response> handle(Request request) override {
    if (!reads(request)) co_return refused(request);
    const auto [path, query] = split_target(request.target);
    auto response = checks_.answer(path, query);
    co_return response ? std::move(*response) : http::text_response(404, "404 page not found\n");
  }

 private:
  const HealthChecks& checks_;
};

class MetricsHandler final : public http::Handler {
 public:
  explicit MetricsHandler(metrics::Registry& registry) : registry_(registry) {}
  Task<Response> handle(Request request) override {
    if (!reads(request)) co_return refused(request);
    if (split_target(request.target).first != "/metrics") co_return http::text_response(404, "404 page not found\n");
    co_return http::text_response(200, registry_.text(), metrics::Registry::kContentType);
  }

 private:
  metrics::Registry& registry_;
};

// Paths that begin with one of the prefixes go to `with`, the rest to the other.
class Either final : public http::Handler {
 public:
  Either(std::vector<std::string> prefixes, std::unique_ptr<http::Handler> with, std::unique_ptr<http::Handler> without)
      : prefixes_(std::move(prefixes)), with_(std::move(with)), without_(std::move(without)) {}
  Task<Response> handle(Request request) override {
    const bool matches = std::any_of(prefixes_.begin(), prefixes_.end(),
                                     [&](const std::string& p) { return request.target.starts_with(p); });
    auto& handler = matches ? *with_ : *without_;
    return handler.handle(std::move(request));
  }

 private:
  const std::vector<std::string> prefixes_;
  const std::unique_ptr<http::Handler> with_;
  const std::unique_ptr<http::Handler> without_;
};

}  // namespace

std::optional<Response> HealthChecks::answer(std::string_view path, std::string_view query) const {
  const auto end = path.find('/', 1);
  const auto what = path.substr(0, end);
  if (what != "/livez" && what != "/healthz" && what != "/readyz") return std::nullopt;
  const auto& checks = what == "/readyz" ? ready_ : live_;
  const auto name = end == std::string_view::npos ? std::string_view() : path.substr(end + 1);
  if (name.empty()) {
    const auto parsed = http::Query::parse(query);
    if (!parsed) return http::text_response(400, parsed.error().str() + "\n");
    return answer_all(what.substr(1), checks, *parsed);
  }
  if (name == "ping" && checks.empty()) return http::text_response(200, "ok");
  const auto found = checks.find(name);
  if (found == checks.end()) return http::text_response(404, fmt::format("no check \"{}\"\n", name));
  if (!passes(what.substr(1), name, found->second)) return http::text_response(500, fmt::format("{} failed\n", name));
  return http::text_response(200, "ok");
}

std::optional<BindAddress> parse_bind_address(std::string_view text) {
  if (text.empty() || text == "0") return std::nullopt;
  const auto colon = text.rfind(':');
  BindAddress address;
  if (colon != std::string_view::npos) {
    address.host = text.substr(0, colon);
    const auto digits = text.substr(colon + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), address.port);
    const bool brackets = address.host.starts_with('[') && address.host.ends_with(']');
    if (brackets) address.host = address.host.substr(1, address.host.size() - 2);
    if (address.host == "localhost") address.host = "127.0.0.1";
    const bool bare_v6 = !brackets && address.host.contains(':');
    if (error == std::errc() && end == digits.data() + digits.size() && !digits.empty() && !bare_v6) return address;
  }
  throw Error(Code::Invalid, fmt::format("{}: not an address to listen on, such as :8080 or 127.0.0.1:8080", text));
}

rt::Listener listen(const BindAddress& address) {
  if (!address.host.empty()) return rt::Listener::tcp(address.host, address.port);
  try {
    return rt::Listener::tcp("::", address.port);
  } catch (const Error&) {
    return rt::Listener::tcp("0.0.0.0", address.port);
  }
}

std::unique_ptr<http::Handler> probe_handler(const HealthChecks& checks) {
  return std::make_unique<ProbeHandler>(checks);
}

std::unique_ptr<http::Handler> metrics_handler(metrics::Registry& registry) {
  return std::make_unique<MetricsHandler>(registry);
}

struct HealthServer::Endpoint {
  Endpoint(const BindAddress& address, std::unique_ptr<http::Handler> h, std::function<rt::TlsContext()> tls)
      : handler(std::move(h)), server(listen(address), *handler, options(std::move(tls))) {}
  static http::ServerOptions options(std::function<rt::TlsContext()> tls) {
    http::ServerOptions made;
    made.tls = std::move(tls);
    made.max_connections = 100;
    return made;
  }
  std::unique_ptr<http::Handler> handler;
  http::Server server;
};

HealthServer::HealthServer(const HealthChecks& checks, metrics::Registry& metrics, HealthOptions options) {
  const auto probes = parse_bind_address(options.probe_address);
  const auto numbers = parse_bind_address(options.metrics_address);
  std::unique_ptr<http::Handler> probing = probe_handler(checks);
  shared_ = probes && probes == numbers;
  if (numbers) {
    std::unique_ptr<http::Handler> counting = metrics_handler(metrics);
    if (options.profiling)
      counting =
          std::make_unique<Either>(std::vector<std::string>{"/debug/pprof/"}, profile_handler(), std::move(counting));
    if (options.metrics_guard) counting = guarded(*options.metrics_guard, std::move(counting));
    if (shared_)
      counting = std::make_unique<Either>(std::vector<std::string>{"/metrics", "/debug/"}, std::move(counting),
                                          std::move(probing));
    metrics_ = std::make_unique<Endpoint>(*numbers, std::move(counting), options.metrics_tls);
  }
  if (probes && !shared_) probes_ = std::make_unique<Endpoint>(*probes, std::move(probing), nullptr);
}

HealthServer::~HealthServer() = default;

Task<> HealthServer::stop(rt::Duration grace) {
  if (probes_) co_await probes_->server.stop(grace);
  if (metrics_) co_await metrics_->server.stop(grace);
}

std::uint16_t HealthServer::probe_port() const {
  if (shared_) return metrics_port();
  return probes_ ? probes_->server.port() : 0;
}
std::uint16_t HealthServer::metrics_port() const { return metrics_ ? metrics_->server.port() : 0; }

std::function<rt::TlsContext()> self_made_tls() {
  struct Made {
    std::optional<rt::TlsContext> context;
    std::chrono::sys_seconds until;
  };
  return [made = std::make_shared<Made>()] {
    const auto now = std::chrono::floor<std::chrono::seconds>(rt::Loop::current().wall_now());
    if (!made->context || now >= made->until) {
      rt::CertificateSpec spec;
      spec.common_name = "localhost";
      spec.dns_names = {"localhost"};
      spec.ip_addresses = {"127.0.0.1"};
      spec.client = false;
      spec.not_before = now - std::chrono::minutes(5);
      spec.not_after = now + std::chrono::days(90);
      const auto pair = rt::issue(rt::make_ca("self-made"), spec);
      rt::TlsServerOptions options;
      options.cert_pem = pair.cert_pem;
      options.key_pem = pair.key_pem;
      options.alpn = {"h2", "http/1.1"};
      made->context = rt::TlsContext::server(options);
      made->until = now + std::chrono::days(60);
    }
    return *made->context;
  };
}

}  // namespace kopper::runtime
