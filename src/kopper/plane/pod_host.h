#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kopper/base/key.h"
#include "kopper/http/message.h"
#include "kopper/rt/loop.h"
#include "kopper/rt/process.h"
#include "kopper/rt/stream.h"

namespace kopper::plane {

enum class LogStream : std::uint8_t { All, Stdout, Stderr };

// What `kubectl logs` asks for.
struct LogOptions {
  bool follow = false;    // until the container has ended and all was read
  bool previous = false;  // the run before this one
  bool timestamps = false;
  LogStream stream = LogStream::All;  // clients cannot ask for one yet: kube-apiserver refuses it by default
  std::optional<std::int64_t> tail_lines;
  std::optional<std::int64_t> limit_bytes;
  std::optional<rt::WallTime> since;
};

// One container of a pod, by its name: an ordinary one, one of init, or an ephemeral one.
struct ContainerRef {
  Key pod;
  std::string uid;  // of the pod
  std::string name;
  std::string run;  // log() only: the containerID, in the pod's status, of the run that is meant; may be empty
};

// Somebody at a container that runs already. Destroying it lets go; the container goes on.
class Attachment {
 public:
  struct Chunk {
    bool is_error = false;  // came from its standard error
    std::string bytes;
  };

  Attachment() = default;
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;
  virtual ~Attachment() = default;

  // What it writes from now on; nothing once the container has ended.
  virtual Task<std::optional<Chunk>> read() = 0;
  // To its standard input; dropped when it has none. `bytes` outlive the call.
  virtual Task<> write(std::string_view bytes) = 0;
  // Nobody will write any more: the end of the file for a container that says stdinOnce.
  virtual Task<> end_input() = 0;
  // Of its terminal, when it has one.
  virtual void resize(std::uint16_t columns, std::uint16_t rows) noexcept = 0;
};

// Who runs the pods: what the API server asks of it for its clients. The server has found the pod and the container in
// its spec, and read in its status that it has such a run; whatever is not so any more is an Error that names why.
// Loop-confined; outlives the server.
class PodHost {
 public:
  PodHost() = default;
  PodHost(const PodHost&) = delete;
  PodHost& operator=(const PodHost&) = delete;
  virtual ~PodHost() = default;

  // May be read on after the container, and the host, are gone.
  virtual Task<std::unique_ptr<http::Body>> log(ContainerRef container, LogOptions options) = 0;
  // How to run `command` in a container: program, environment and folder. The server sets the streams of it.
  virtual rt::ProcessSpec enter(const ContainerRef& container, const std::vector<std::string>& command, bool tty) = 0;
  virtual std::unique_ptr<Attachment> attach(const ContainerRef& container) = 0;
  // Connects to a port of the pod; container.name is empty.
  virtual Task<std::unique_ptr<rt::Stream>> dial(ContainerRef pod, std::uint16_t port) = 0;
};

}  // namespace kopper::plane
