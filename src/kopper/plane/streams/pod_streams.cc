#include "kopper/plane/streams/pod_streams.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kopper/base/error.h"
#include "kopper/base/log.h"
#include "kopper/http/spdy.h"
#include "kopper/plane/streams/port_forward.h"
#include "kopper/plane/streams/spdy_command.h"
#include "kopper/plane/streams/websocket_session.h"

namespace kopper::plane {
namespace {

constexpr const char* kTunnel = "SPDY/3.1+portforward.k8s.io";
constexpr const char* kChannels = "v4.channel.k8s.io";
constexpr std::size_t kMaxPorts = 100;

CommandOptions command_options(const Call& call) {
  CommandOptions options;
  options.input = call.info.flag("stdin");
  options.output = call.info.flag("stdout");
  options.tty = call.info.flag("tty");
  options.errors = call.info.flag("stderr") && !options.tty;
  if (!options.input && !options.output && !options.errors)
    throw bad_request("you must specify at least 1 of stdin, stdout, stderr");
  return options;
}

std::vector<std::string> command_of(const Call& call) {
  std::vector<std::string> command;
  for (const auto& [name, value] : call.info.query)
    if (name == "command") command.push_back(value);
  return command;
}

// What a command or an attachment needs of the host.
struct Prepared {
  CommandOptions options;
  std::string failure;  // instead of the rest: for the client to be told once it is connected
  std::optional<rt::ProcessSpec> spec;
  std::unique_ptr<Attachment> attachment;
};

// A container that is not there is no reason to connect: throws Error (500), as a kubelet answers.
Prepared prepare(const Call& call, const PodTarget& target, PodHost& host) {
  Error absent(Code::NotFound, fmt::format("container not found (\"{}\")", target.container.name));
  absent.http_status = 500;
  if (!target.running()) throw absent;
  Prepared out;
  out.options = command_options(call);
  try {
    if (call.info.subresource == "attach") {
      out.attachment = host.attach(target.container);
    } else {
      out.options.command = command_of(call);
      out.spec = host.enter(target.container, out.options.command, out.options.tty);
    }
  } catch (const Error& error) {
    if (error.code == Code::NotFound) throw absent;
    out.failure = error.what();
  }
  return out;
}

Task<> serve_prepared(std::unique_ptr<RemoteSession> session, Prepared prepared) {
  const auto held = std::move(session);
  if (!prepared.failure.empty()) {
    co_await held->finish(failed_status(prepared.failure));
  } else if (prepared.spec) {
    co_await serve_command(*held, std::move(*prepared.spec), prepared.options);
  } else {
    co_await serve_attachment(*held, std::move(prepared.attachment));
  }
}

Task<> tell_failure(std::unique_ptr<RemoteSession> session, std::string status) {
  const auto held = std::move(session);
  co_await held->finish(std::move(status));
}

Task<> serve_spdy(std::unique_ptr<http::SpdySession> spdy, Prepared prepared, std::string protocol) {
  auto waiting = spdy_command(std::move(spdy), prepared.options, std::move(protocol));
  auto session = co_await waiting;
  auto serving = serve_prepared(std::move(session), std::move(prepared));
  co_await serving;
}

// One session that fails is no reason to end the others.
Task<> to_its_end(Task<> work) {
  const Task<> body = std::move(work);
  try {
    co_await body;
  } catch (const std::exception& error) {
    log::debug("a session with a pod broke off", {{"error", error.what()}});
  }
}

Refusal unsupported(const std::vector<std::string>& asked, const std::vector<std::string>& known) {
  return bad_request(fmt::format("requested protocol(s) are not supported: [{}]; supports [{}]", fmt::join(asked, " "),
                                 fmt::join(known, " ")));
}

// Of what the header X-Stream-Protocol-Version offers, in the client's order.
std::string stream_protocol(const Call& call, const std::vector<std::string>& known) {
  const auto refuse = [](int status, std::string message) {
    Error error(Code::Invalid, "unable to upgrade: " + message);
    error.http_status = status;
    return error;
  };
  std::vector<std::string_view> offered;
  for (std::string_view list : call.request.headers.all("x-stream-protocol-version")) {
    while (!list.empty()) {
      const auto one = list.substr(0, list.find(','));
      list.remove_prefix(std::min(list.size(), one.size() + 1));
      const auto begin = one.find_first_not_of(' ');
      if (begin != std::string_view::npos) offered.push_back(one.substr(begin, one.find_last_not_of(' ') + 1 - begin));
    }
  }
  if (offered.empty()) throw refuse(400, "header X-Stream-Protocol-Version does not exist in request");
  for (const auto one : offered)
    if (std::ranges::find(known, one) != known.end()) return std::string(one);
  throw refuse(403, fmt::format("unable to negotiate protocol: client supports [{}], server accepts [{}]",
                                fmt::join(offered, " "), fmt::join(known, " ")));
}

std::vector<std::uint16_t> ports_of(const Call& call) {
  std::vector<std::uint16_t> ports;
  for (const auto& [name, value] : call.info.query) {
    if (name != "ports") continue;
    std::string_view left = value;
    while (!left.empty()) {
      const std::string_view one = left.substr(0, left.find(','));
      left.remove_prefix(std::min(left.size(), one.size() + 1));
      const auto port = port_of(one);
      if (!port)
        throw bad_request(
            fmt::format("cannot convert to []int32: strconv.ParseUint: parsing \"{}\": invalid syntax", one));
      ports.push_back(*port);
    }
  }
  if (ports.empty()) throw bad_request("query parameter \"ports\" is required");
  if (ports.size() > kMaxPorts) throw bad_request("too many ports");
  return ports;
}

}  // namespace

PodHost& PodStreams::host_of(const PodTarget& target) const {
  if (host_ != nullptr) return *host_;
  throw Refusal(501, "NotImplemented", fmt::format("no node of this cluster runs pod {}", target.container.pod.name));
}

Task<http::Response> PodStreams::log(Call& call) {
  if (call.info.verb != "get") throw method_not_allowed();
  const LogOptions options = log_options(call, rt::Loop::current().wall_now());
  PodTarget target = pod_target(core_, call);
  choose_container(target, call.info.text("container").value_or(""));
  http::Response response;
  if (!target.scheduled()) {
    response.status = 204;
    response.body = http::whole("");
    co_return response;
  }
  PodHost& host = host_of(target);
  choose_run(target, options.previous);
  std::optional<std::string> failure;
  try {
    auto reading = host.log(target.container, options);
    response.body = co_await reading;
  } catch (const Error& error) {
    failure = error.what();
  }
  if (failure) throw bad_request(*failure);
  response.headers.add("content-type", "text/plain");
  co_return response;
}

PodTarget PodStreams::command_target(const Call& call) const {
  PodTarget target = pod_target(core_, call);
  if (call.info.subresource != "portforward") choose_container(target, call.info.text("container").value_or(""));
  if (!target.scheduled())
    throw bad_request(fmt::format("pod {} does not have a host assigned", target.container.pod.name));
  return target;
}

Task<http::Response> PodStreams::without_upgrade(Call& call) {
  if (call.info.verb != "get" && call.info.verb != "create") throw method_not_allowed();
  (void)host_of(command_target(call));
  throw bad_request("Upgrade request required");
  co_return http::Response();
}

std::unique_ptr<http::WebSocket> PodStreams::connect(const Call& call, const std::vector<std::string>& subprotocols) {
  if (call.info.subresource == "exec" || call.info.subresource == "attach") return connect_command(call, subprotocols);
  if (call.info.subresource == "portforward") return connect_ports(call, subprotocols);
  throw bad_request("no WebSocket is served here");
}

// What is wrong with the request is a plain refusal; what is wrong with the container, the session tells.
std::unique_ptr<http::WebSocket> PodStreams::connect_command(const Call& call,
                                                             const std::vector<std::string>& subprotocols) {
  const PodTarget target = command_target(call);
  PodHost& host = host_of(target);
  const CommandOptions options = command_options(call);
  const auto protocol = command_protocol(subprotocols);
  if (!protocol) throw unsupported(subprotocols, {"v5.channel.k8s.io", "v4.channel.k8s.io", "channel.k8s.io"});
  auto [theirs, ours] = http::websocket_pair(*protocol);
  auto session = websocket_session(std::move(ours), options);
  try {
    auto prepared = prepare(call, target, host);
    sessions_.spawn(to_its_end(serve_prepared(std::move(session), std::move(prepared))));
  } catch (const Error& error) {
    auto status = failed_status(fmt::format("unable to upgrade connection: {}", error.what()));
    sessions_.spawn(to_its_end(tell_failure(std::move(session), std::move(status))));
  }
  return std::move(theirs);
}

std::unique_ptr<http::WebSocket> PodStreams::connect_ports(const Call& call,
                                                           const std::vector<std::string>& subprotocols) {
  const PodTarget target = command_target(call);
  PodHost& host = host_of(target);
  const auto offers = [&](const char* one) { return std::ranges::find(subprotocols, one) != subprotocols.end(); };
  if (offers(kTunnel)) {
    auto [theirs, ours] = http::websocket_pair(kTunnel);
    sessions_.spawn(to_its_end(forward_tunnel(std::move(ours), &host, target.container)));
    return std::move(theirs);
  }
  if (!subprotocols.empty() && !offers(kChannels)) throw unsupported(subprotocols, {kTunnel, kChannels});
  auto ports = ports_of(call);
  auto [theirs, ours] = http::websocket_pair(subprotocols.empty() ? "" : kChannels);
  sessions_.spawn(to_its_end(forward_channels(std::move(ours), std::move(ports), &host, target.container)));
  return std::move(theirs);
}

http::Upgraded PodStreams::upgrade(const Call& call) {
  const PodTarget target = command_target(call);
  PodHost& host = host_of(target);
  auto [theirs, ours] = rt::pipe(std::size_t{256} << 10U);
  http::Upgraded upgraded;
  upgraded.stream = std::move(theirs);
  if (call.info.subresource == "portforward") {
    upgraded.headers.add("X-Stream-Protocol-Version", stream_protocol(call, {"portforward.k8s.io"}));
    auto spdy = std::make_unique<http::SpdySession>(std::move(ours));
    sessions_.spawn(to_its_end(forward_spdy(std::move(spdy), &host, target.container)));
    return upgraded;
  }
  const std::string protocol =
      stream_protocol(call, {"v4.channel.k8s.io", "v3.channel.k8s.io", "v2.channel.k8s.io", "channel.k8s.io"});
  auto prepared = prepare(call, target, host);
  upgraded.headers.add("X-Stream-Protocol-Version", protocol);
  auto spdy = std::make_unique<http::SpdySession>(std::move(ours));
  sessions_.spawn(to_its_end(serve_spdy(std::move(spdy), std::move(prepared), protocol)));
  return upgraded;
}

}  // namespace kopper::plane
