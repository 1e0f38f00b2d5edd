#include "kopper/plane/streams/pod_streams.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kopper/base/error.h"
#include "kopper/base/log.h"
#include "kopper/plane/streams/websocket_session.h"

namespace kopper::plane {
namespace {

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

// Starts what a session is about. Throws Error when the container is not there. No coroutine itself.
// outlives: `session`, says serve_command(); the rest is used before it returns
Task<> command_session(RemoteSession& session, const Call& call, const PodTarget& target, PodHost& host) {
  if (!target.running())
    throw Error(Code::NotFound, fmt::format("container not found (\"{}\")", target.container.name));
  const CommandOptions options = command_options(call);
  if (call.info.subresource == "attach") return serve_attachment(session, host.attach(target.container));
  return serve_command(session, host.enter(target.container, command_of(call), options.tty), options);
}

// One session that fails is no reason to end the others.
Task<> to_its_end(std::unique_ptr<RemoteSession> session, Task<> work) {
  const auto owner = std::move(session);
  const Task<> body = std::move(work);  // after what it uses, so that it is destroyed before it
  try {
    co_await body;
  } catch (const std::exception& error) {
    log::debug("a session with a container broke off", {{"error", error.what()}});
  }
}

Task<> tell_failure(RemoteSession* session, std::string status) { co_await session->finish(std::move(status)); }

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
  throw bad_request("no WebSocket is served here");
}

// What is wrong with the request is a plain refusal; what is wrong with the container, the session tells.
std::unique_ptr<http::WebSocket> PodStreams::connect_command(const Call& call,
                                                             const std::vector<std::string>& subprotocols) {
  const PodTarget target = command_target(call);
  PodHost& host = host_of(target);
  const CommandOptions options = command_options(call);
  const auto protocol = command_protocol(subprotocols);
  if (!protocol)
    throw bad_request(
        fmt::format("requested protocol(s) are not supported: [{}]; supports [v5.channel.k8s.io "
                    "v4.channel.k8s.io channel.k8s.io]",
                    fmt::join(subprotocols, " ")));
  auto [theirs, ours] = http::websocket_pair(*protocol);
  auto session = websocket_session(std::move(ours), options);
  RemoteSession& remote = *session;
  Task<> work = [&]() -> Task<> {
    try {
      return command_session(remote, call, target, host);
    } catch (const Error& error) {
      return tell_failure(&remote, failed_status(fmt::format("unable to upgrade connection: {}", error.what())));
    }
  }();
  sessions_.spawn(to_its_end(std::move(session), std::move(work)));
  return std::move(theirs);
}

}  // namespace kopper::plane
