#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "kopper/http/message.h"
#include "kopper/rt/stream.h"

namespace kopper::http {

// One stream of a session, opened by the client. Destroying one that has not ended both ways resets it.
class SpdyStream : public rt::Stream {
 public:
  virtual std::uint32_t id() const = 0;
  virtual const Headers& headers() const = 0;
};

struct SpdyOptions {
  std::size_t max_streams = 1000;
  std::size_t max_unread = std::size_t{8} << 20U;  // of all streams; then the connection is not read any further
};

// The server's end of a SPDY/3.1 connection: what kubectl speaks for exec, attach, cp and port-forward, where it does
// not use WebSockets, and inside them for port-forward. Loop-confined. The peer's windows are not honoured: the clients
// of Kubernetes never open them.
class SpdySession {
 public:
  explicit SpdySession(std::unique_ptr<rt::Stream> stream, SpdyOptions options = SpdyOptions());
  // Breaks the connection off; streams that are left throw.
  ~SpdySession();
  SpdySession(const SpdySession&) = delete;
  SpdySession& operator=(const SpdySession&) = delete;

  // The next stream that the client opens, already answered; null when the connection has ended. One call at a time.
  Task<std::unique_ptr<SpdyStream>> accept();
  // Until the connection has ended.
  Task<> closed();
  // Sends what was written and a GOAWAY, and ends the connection.
  Task<> close();

  class Core;

 private:
  std::shared_ptr<Core> core_;
};

}  // namespace kopper::http
