#include "kopper/workloads/probe.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "kopper/base/error.h"
#include "kopper/http/client.h"
#include "kopper/http/h2_session.h"
#include "kopper/http/url.h"
#include "kopper/rt/scope.h"
#include "kopper/rt/stream.h"
#include "kopper/workloads/grpc_health.h"

namespace kopper::workloads {

using api::corev1::Container;
using api::corev1::Probe;
using rt::TimePoint;

namespace {

constexpr std::size_t kMaxOutput = std::size_t{10} << 10U;
constexpr int kMaxRedirects = 10;
constexpr std::array kKinds{ProbeKind::Startup, ProbeKind::Liveness, ProbeKind::Readiness};

std::chrono::seconds seconds(const std::optional<std::int32_t>& value, std::int32_t otherwise) {
  return std::chrono::seconds(value.value_or(otherwise));
}

// Nothing: neither a number nor the name of a port of the container.
std::optional<std::uint16_t> port_of(const api::IntOrString& port, const ProbeTarget& target) {
  const auto valid = [](std::int64_t number) -> std::optional<std::uint16_t> {
    if (number < 1 || number > 65535) return std::nullopt;
    return static_cast<std::uint16_t>(number);
  };
  if (const auto* number = port.as_int()) return valid(*number);
  const auto& name = *port.as_string();
  const auto found = std::ranges::find(target.ports, name, &api::corev1::ContainerPort::name);
  if (found != target.ports.end()) return valid(found->containerPort);
  std::uint16_t number = 0;
  const auto [end, failed] = std::from_chars(name.data(), name.data() + name.size(), number);
  return failed == std::errc() && end == name.data() + name.size() ? valid(number) : std::nullopt;
}

// Where a redirect leads; nothing when it stays as it is.
std::optional<http::Url> redirected(const http::Url& from, const http::Response& response) {
  const bool moved = response.status == 301 || response.status == 302 || response.status == 303 ||
                     response.status == 307 || response.status == 308;
  const auto location = response.headers.get("location");
  if (!moved || !location || location->empty()) return std::nullopt;
  if (auto url = http::parse_url(*location)) return std::move(*url);
  auto url = from;
  const auto query = location->find('?');
  url.query = query != location->npos ? std::string(location->substr(query + 1)) : std::string();
  const auto path = location->substr(0, query);
  url.path =
      path.starts_with('/') ? std::string(path) : from.path.substr(0, from.path.rfind('/') + 1) + std::string(path);
  return url;
}

http::Request request_for(const api::corev1::HTTPGetAction& action, const http::Url& url) {
  http::Request request;
  request.target = url.target();
  for (const auto& header : action.httpHeaders) request.headers.add(header.name, header.value);
  if (!request.headers.get("user-agent")) request.headers.add("User-Agent", "kube-probe/1");
  if (!request.headers.get("accept")) request.headers.add("Accept", "*/*");
  return request;
}

Task<http::Response> get(http::Url url, http::Request request) {
  http::ClientOptions options;
  options.origin = std::move(url);
  options.origin.path.clear();
  options.origin.query.clear();
  options.tls = [] {
    rt::TlsClientOptions tls;
    tls.insecure = true;
    return tls;
  };
  const auto client = http::make_client(std::move(options));
  auto response = co_await client->handle(std::move(request));
  // What the answer says is not asked for, but a server that is cut off may complain.
  std::size_t read = 0;
  while (read < kMaxOutput) {
    const auto chunk = co_await response.body->read();
    if (!chunk) break;
    read += chunk->size();
  }
  response.body = http::whole({});
  co_return response;
}

Task<ProbeResult> probe_http(api::corev1::HTTPGetAction action, ProbeTarget target) {
  const auto port = port_of(action.port, target);
  if (!port) co_return ProbeResult{false, fmt::format("couldn't find port: {}", action.port.str())};
  http::Url url;
  url.scheme = action.scheme == "HTTPS" ? "https" : "http";
  url.host = action.host.empty() ? target.address : action.host;
  url.port = *port;
  const auto query = action.path.find('?');
  url.path = action.path.substr(0, query);
  if (!url.path.starts_with('/')) url.path.insert(0, "/");
  if (query != std::string::npos) url.query = action.path.substr(query + 1);

  const auto first = url;
  for (int hop = 0; hop <= kMaxRedirects; ++hop) {
    http::Response response;
    try {
      response = co_await get(url, request_for(action, url));
    } catch (const Error& error) {
      co_return ProbeResult{false, fmt::format("Get \"{}\": {}", url.str(), error.what())};
    }
    const auto next = redirected(url, response);
    if (!next) {
      if (response.status >= 200 && response.status < 400) co_return ProbeResult{true, {}};
      co_return ProbeResult{false, fmt::format("HTTP probe failed with statuscode: {}", response.status)};
    }
    // Elsewhere is not ours to probe; that this server answers is enough.
    if (next->host != first.host) {
      co_return ProbeResult{true, fmt::format("Probe terminated redirects, Response body: {}", next->str())};
    }
    url = *next;
  }
  co_return ProbeResult{false, fmt::format("Get \"{}\": stopped after {} redirects", url.str(), kMaxRedirects)};
}

Task<ProbeResult> probe_tcp(api::corev1::TCPSocketAction action, ProbeTarget target) {
  const auto port = port_of(action.port, target);
  if (!port) co_return ProbeResult{false, fmt::format("couldn't find port: {}", action.port.str())};
  const auto host = action.host.empty() ? target.address : action.host;
  try {
    const auto stream = co_await rt::connect_tcp(host, *port);
    stream->close();
    co_return ProbeResult{true, {}};
  } catch (const Error& error) {
    co_return ProbeResult{false, fmt::format("dial tcp {}:{}: {}", host, *port, error.what())};
  }
}

Task<ProbeResult> probe_grpc(api::corev1::GRPCAction action, ProbeTarget target) {
  const auto at = fmt::format("{}:{}", target.address, action.port);
  try {
    auto stream = co_await rt::connect_tcp(target.address, static_cast<std::uint16_t>(action.port));
    http::H2Client role{.scheme = "http", .authority = at};
    http::H2Session session(std::move(stream), std::move(role));
    http::Request request;
    request.method = "POST";
    request.target = "/grpc.health.v1.Health/Check";
    request.headers = {{"content-type", "application/grpc"}, {"te", "trailers"}, {"user-agent", "kube-probe/1"}};
    request.body = health_request(action.service);
    const auto response = co_await session.request(request);
    const auto body = co_await http::read_all(*response.body, kMaxOutput);
    const auto status = health_status(body);
    if (status == 1) co_return ProbeResult{true, {}};
    if (status) {
      co_return ProbeResult{false,
                            fmt::format("service unhealthy (responded with \"{}\")", health_status_name(*status))};
    }
    const auto code = response.headers.get("grpc-status").value_or("");
    constexpr std::string_view kUnimplemented = "12";
    if (code == kUnimplemented) {
      co_return ProbeResult{false, "this server does not implement the grpc health protocol (grpc.health.v1.Health)"};
    }
    co_return ProbeResult{
        false, fmt::format("the answer of {} is none of grpc.health.v1.Health (HTTP status {})", at, response.status)};
  } catch (const Error& error) {
    co_return ProbeResult{false, fmt::format("failed to connect service \"{}\": {}", at, error.what())};
  }
}

Task<ProbeResult> probe_exec(std::vector<std::string> command, ProbeTarget target) {
  if (!target.exec) co_return ProbeResult{false, "there is nobody to run the command"};
  try {
    auto result = co_await target.exec(std::move(command));
    if (result.code == 0) co_return ProbeResult{true, {}};
    if (result.output.size() > kMaxOutput) result.output.resize(kMaxOutput);
    if (result.output.empty()) result.output = fmt::format("exit code {}", result.code);
    co_return ProbeResult{false, std::move(result.output)};
  } catch (const Error& error) {
    co_return ProbeResult{false, error.what()};
  }
}

Task<ProbeResult> ask(Probe probe, ProbeTarget target) {
  if (probe.exec) co_return co_await probe_exec(probe.exec->command, std::move(target));
  if (probe.httpGet) co_return co_await probe_http(*probe.httpGet, std::move(target));
  if (probe.tcpSocket) co_return co_await probe_tcp(*probe.tcpSocket, std::move(target));
  if (probe.grpc) co_return co_await probe_grpc(*probe.grpc, std::move(target));
  co_return ProbeResult{false, "the probe has no action"};
}

}  // namespace

std::string_view to_string(ProbeKind kind) {
  switch (kind) {
    case ProbeKind::Startup: return "Startup";
    case ProbeKind::Liveness: return "Liveness";
    case ProbeKind::Readiness: return "Readiness";
  }
  return "";
}

Task<ProbeResult> probe_once(Probe probe, ProbeTarget target) {
  const auto limit = seconds(probe.timeoutSeconds, 1);
  const bool command = probe.exec.has_value();
  try {
    co_return co_await rt::timeout(limit, ask(std::move(probe), std::move(target)));
  } catch (const Error& error) {
    if (error.code != Code::Timeout) throw;
  }
  co_return ProbeResult{false, fmt::format("{} timed out after {} s", command ? "command" : "probe", limit.count())};
}

ContainerProbes::ContainerProbes(const Container& container, TimePoint started) {
  const auto add = [&](ProbeKind kind, const Box<Probe>& probe) {
    if (!probe) return;
    state(kind).probe = *probe;
    state(kind).next = started + seconds(probe->initialDelaySeconds, 0);
  };
  add(ProbeKind::Startup, container.startupProbe);
  add(ProbeKind::Liveness, container.livenessProbe);
  add(ProbeKind::Readiness, container.readinessProbe);
}

bool ContainerProbes::started() const {
  const auto& startup = state(ProbeKind::Startup);
  return !startup.probe || startup.passed;
}

bool ContainerProbes::ready() const {
  const auto& readiness = state(ProbeKind::Readiness);
  return started() && (!readiness.probe || readiness.passed);
}

const Probe& ContainerProbes::probe(ProbeKind kind) const { return state(kind).probe.value(); }

bool ContainerProbes::waits(ProbeKind kind) const {
  const auto& it = state(kind);
  if (!it.probe || it.running) return false;
  if (kind == ProbeKind::Startup) return !it.passed && !failed_;
  return started() && (kind == ProbeKind::Readiness || !failed_);
}

std::vector<ProbeKind> ContainerProbes::due(TimePoint now) {
  std::vector<ProbeKind> out;
  for (const auto kind : kKinds) {
    auto& it = state(kind);
    if (!waits(kind) || it.next > now) continue;
    it.running = true;
    it.next = now + seconds(it.probe->periodSeconds, 10);
    out.push_back(kind);
  }
  return out;
}

TimePoint ContainerProbes::next() const {
  auto first = TimePoint::max();
  for (const auto kind : kKinds) {
    if (waits(kind)) first = std::min(first, state(kind).next);
  }
  return first;
}

ContainerProbes::Verdict ContainerProbes::record(ProbeKind kind, const ProbeResult& result, TimePoint now) {
  auto& it = state(kind);
  it.running = false;
  it.in_a_row = it.in_a_row > 0 && it.last == result.ok ? it.in_a_row + 1 : 1;
  it.last = result.ok;
  const auto enough = result.ok ? it.probe->successThreshold.value_or(1) : it.probe->failureThreshold.value_or(3);
  if (it.in_a_row < enough) return Verdict::Same;
  if (!result.ok && kind != ProbeKind::Readiness) {
    if (failed_) return Verdict::Same;
    failed_ = true;
    return Verdict::Restart;
  }
  if (it.passed == result.ok) return Verdict::Same;
  it.passed = result.ok;
  if (kind == ProbeKind::Liveness) return Verdict::Same;
  // The others begin as soon as the container is started, their own delay over.
  if (kind == ProbeKind::Startup) {
    for (const auto other : {ProbeKind::Liveness, ProbeKind::Readiness})
      state(other).next = std::max(state(other).next, now);
  }
  return Verdict::Changed;
}

}  // namespace kopper::workloads
