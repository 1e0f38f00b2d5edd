#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "kopper/base/error.h"
#include "kopper/base/key.h"
#include "kopper/client/client.h"
#include "kopper/client/lines.h"
#include "kopper/client/options.h"
#include "kopper/http/handler.h"
#include "kopper/rt/stream.h"
#include "kopper/rt/task.h"

// What one can do with a running pod: read its log, run a command in it, talk to its ports, evict it.
namespace kopper::client {

// The log as it comes; with `follow`, until the container ends.
Task<std::unique_ptr<http::Body>> log_bytes(Client client, Key pod, LogOptions options = LogOptions());
Task<LineReader> log_lines(Client client, Key pod, LogOptions options = LogOptions());

// A command that runs in a container, over a WebSocket (v5.channel.k8s.io, or v4 of servers before 1.30).
// Loop-confined; one read() and one write() may be pending at a time. Destroying it breaks the connection.
class Session {
 public:
  enum class Channel : std::uint8_t { Stdin = 0, Stdout = 1, Stderr = 2, Error = 3, Resize = 4 };
  struct Output {
    Channel channel = Channel::Stdout;  // or Stderr
    std::string data;
  };

  explicit Session(std::unique_ptr<http::WebSocket> socket) : socket_(std::move(socket)) {}

  // What the command writes; nothing when it ended. Throws Error{Unavailable} when the connection breaks before.
  Task<std::optional<Output>> read();
  Task<> write(std::string data);
  // The command reads an end of file. Throws Error{Unsupported} on v4, which has no way to say it.
  Task<> close_stdin();
  Task<> resize(std::uint16_t width, std::uint16_t height);

  // After read() returned nothing. Throws Error when the command could not be run, with the server's reason.
  int exit_code() const;

 private:
  Task<> send(Channel channel, std::string data);

  std::unique_ptr<http::WebSocket> socket_;
  std::string status_;  // JSON; empty until the command ended
};

Task<Session> exec(Client client, Key pod, ExecOptions options);
Task<Session> attach(Client client, Key pod, ExecOptions options = ExecOptions());

struct ExecResult {
  int exit_code = 0;
  std::string out;
  std::string err;
};

// Runs a command to its end, `input` being its stdin. Throws Error{Invalid} when it writes more than `limit` bytes.
Task<ExecResult> run(Client client, Key pod, ExecOptions options, std::string input = std::string(),
                     std::size_t limit = std::size_t{16} << 20U);

// One connection to a port of the pod; `what is written there` and back, as over TCP. Each call is a connection of its
// own. It speaks v4.channel.k8s.io, which kubelets of every supported version take and API servers pass on. That
// protocol has no half-close: shutdown() closes. The SPDY tunnel that newer kubectls prefer is not spoken.
Task<std::unique_ptr<rt::Stream>> port_forward(Client client, Key pod, std::uint16_t port);

struct Eviction {
  enum class Outcome : std::uint8_t { Evicted, Absent, Blocked };  // Blocked: by a disruption budget; try later
  Outcome outcome = Outcome::Evicted;
  std::string message;  // of Blocked: which budget needs what
};
// Deletes the pod unless a PodDisruptionBudget forbids it now.
Task<Eviction> evict(Client client, Key pod, DeleteOptions options = DeleteOptions());

}  // namespace kopper::client
