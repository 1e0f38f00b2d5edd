#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "kopper/base/error.h"
#include "kopper/http/detail/signal.h"
#include "kopper/http/handler.h"
#include "kopper/http/message.h"
#include "kopper/rt/loop.h"
#include "kopper/rt/scope.h"
#include "kopper/rt/stream.h"

struct nghttp2_session;

namespace kopper::http {

struct H2Options {
  std::uint32_t stream_window = 1U << 20U;                // what one stream may have under way to us, hence its memory
  std::uint32_t connection_window = 4U << 20U;            // what all may have under way between two turns of our loop
  std::uint32_t max_streams = 250;                        // server: that the peer may have open
  std::size_t max_header_bytes = std::size_t{64} << 10U;  // of one message
  std::size_t max_body_bytes = std::size_t{16} << 20U;    // server: of one request
  rt::Duration request_timeout = std::chrono::seconds(60);  // server: until all of a request is there
  rt::Duration stall_timeout = std::chrono::seconds(120);   // server: of a response that the peer does not take
  rt::Duration ping_after = std::chrono::seconds(30);       // of silence
  rt::Duration ping_timeout = std::chrono::seconds(15);     // then the peer is dead
};

// True when the server said that it did not begin to process the request: sending it again is safe, whatever the
// method.
bool not_processed(const Error& error);

// The client's end: where the requests go.
struct H2Client {
  std::string scheme;
  std::string authority;
};
// What a server takes in at a time, over all its connections, and how it refuses.
struct Intake {
  std::size_t limit = SIZE_MAX;  // bytes of the bodies of requests that are not answered yet
  std::size_t used = 0;
  // The answer to what the handler does not get to see: 400, 417, 501 and 505 not the HTTP that is spoken here, 408 did
  // not arrive in time, 413 and 431 too large, 429 beyond the limit. None: plain text.
  std::function<Response(int status)> refusal;

  bool take(std::size_t bytes);
  Response refuse(int status) const;
};

// The server's end: who answers. `handler` and `intake` outlive the session.
struct H2Server {
  Handler* handler = nullptr;
  std::optional<Peer> peer;
  Intake* intake = nullptr;  // null: no limit but that of each request
};

// One HTTP/2 connection, either end of it. Works from construction on, until the peer or an error ends it.
//   - A stream that nobody reads is held back by its own window and holds nobody else back.
//   - What is submitted in one turn of the loop leaves in one write.
//   - Cancelling a request, or dropping its body, resets the stream; so does the peer to a handler: it is cancelled.
//   - A server gives up streams that stall: requests that do not arrive, responses that are not taken.
//   - After a GOAWAY the streams it counts in finish, the others throw an Error that is not_processed().
class H2Session {
 public:
  H2Session(std::unique_ptr<rt::Stream> stream, std::variant<H2Client, H2Server> role, H2Options options = {});
  ~H2Session();  // open streams fail
  H2Session(const H2Session&) = delete;
  H2Session& operator=(const H2Session&) = delete;

  // Client only. `request` outlives the await. Throws Error{Unavailable} when the stream or the connection breaks
  // before the response's headers came.
  Task<Response> request(const Request& request);

  // Tells the peer that no more streams are taken. The session closes when those open are done.
  void goaway();
  // Ends it now; open streams fail with `error`.
  void close(Error error);

  // How many more requests may be open now: 0 when closing, or when the peer's limit is reached.
  std::size_t room() const;
  std::size_t open_streams() const { return streams_.size(); }
  bool closing() const { return closing_ || closed_; }  // takes no new requests
  bool closed() const { return closed_; }
  rt::TimePoint idle_since() const { return idle_since_; }

  // Called, never from inside a call of this class, after a stream ended, and when the session began to close or
  // closed.
  void on_change(std::function<void()> callback) { on_change_ = std::move(callback); }

 private:
  struct Stream;
  struct ClientStream;
  struct ServerStream;
  struct Callbacks;
  struct FreeSession {
    void operator()(nghttp2_session* session) const;
  };
  struct Notice final : rt::Deferred {
    explicit Notice(H2Session& s) : session(s) {}
    void run() noexcept override {
      const auto callback = session.on_change_;  // it may destroy the session
      if (callback) callback();
    }
    H2Session& session;
  };

  Task<> read_loop();
  Task<> write_loop();
  Task<> keepalive();
  Task<> end_stalled();
  Task<> serve(ServerStream* stream);
  Task<> answer(ServerStream* stream);
  // outlives: answer() holds the body
  Task<> send_body(ServerStream* stream, Body& body, std::optional<std::uint64_t> length);

  void gather();  // nghttp2's output into out_
  std::unique_ptr<ClientStream> submit(const Request& request);
  void received_headers(ClientStream& stream);
  void received_request(ServerStream& stream);
  void ended(std::int32_t id, std::uint32_t error_code);
  void respond(ServerStream& stream, const Response& response, bool has_body);
  void reset(const Stream& stream, std::uint32_t error_code);
  Stream* find(std::int32_t id) const;

  // constant after construction
  const std::variant<H2Client, H2Server> role_;
  const H2Options options_;
  const bool client_;
  rt::Loop& loop_;

  // this loop only
  std::unique_ptr<rt::Stream> stream_;
  std::unique_ptr<nghttp2_session, FreeSession> session_;
  std::unordered_map<std::int32_t, Stream*> streams_;  // that nghttp2 has open or queued
  std::unordered_map<std::int32_t, std::unique_ptr<ServerStream>> serving_;
  std::vector<std::unique_ptr<char[]>> orphans_;  // headers of requests that were given up before they were sent
  std::string out_;
  std::optional<rt::TimePoint> writing_since_;
  std::uint64_t reads_ = 0;
  rt::TimePoint last_read_;
  rt::TimePoint idle_since_;
  bool settled_ = false;  // the peer's SETTINGS came
  bool closing_ = false;
  bool closed_ = false;
  std::function<void()> on_change_;
  Notice changed_{*this};  // on_change_ is due
  detail::Signal wake_;    // there may be something to write

  rt::Scope tasks_;  // last: ends first
};

}  // namespace kopper::http
