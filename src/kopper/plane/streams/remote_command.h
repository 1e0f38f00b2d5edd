#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kopper/plane/pod_host.h"
#include "kopper/rt/process.h"
#include "kopper/rt/stream.h"

namespace kopper::plane {

// What a client wants of a command, or of a container it attaches to.
struct CommandOptions {
  bool input = false;
  bool output = false;
  bool errors = false;
  bool tty = false;
  std::vector<std::string> command;  // as the client wrote it
};

// A client at the other end of a command, whatever carries its streams. Null: not asked for.
class RemoteSession {
 public:
  RemoteSession() = default;
  RemoteSession(const RemoteSession&) = delete;
  RemoteSession& operator=(const RemoteSession&) = delete;
  virtual ~RemoteSession() = default;

  // Until the client is gone.
  virtual Task<> closed() = 0;
  // How it went, as a Status in JSON, and the end of the session.
  virtual Task<> finish(std::string status) = 0;

  rt::Stream* input = nullptr;
  rt::Stream* output = nullptr;
  rt::Stream* errors = nullptr;
  rt::Stream* resize = nullptr;  // {"Width":80,"Height":24} one after the other
};

// Runs a program for the client and tells it how that ended; kills it when the client goes. `session` outlives the
// task.
Task<> serve_command(RemoteSession& session, rt::ProcessSpec spec, CommandOptions options);
// Until the container ends or the client goes. `session` outlives the task.
Task<> serve_attachment(RemoteSession& session, std::unique_ptr<Attachment> attachment);

// The Status that ends a session.
std::string succeeded_status();
std::string failed_status(std::string_view message);  // 500
// As protocols before v4 tell it: a failure in words, a success by nothing.
std::string in_words(std::string_view status);

}  // namespace kopper::plane
