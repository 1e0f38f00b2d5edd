#include "kopper/http/h2_session.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <charconv>
#include <cstring>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <nghttp2/nghttp2.h>

#include "kopper/base/log.h"
#include "kopper/http/detail/serve.h"

namespace kopper::http {
namespace {

constexpr std::string_view kNotProcessed = "NotProcessed";
constexpr std::size_t kReadBytes = std::size_t{64} << 10U;
constexpr std::size_t kServerReadBytes = std::size_t{16} << 10U;  // requests are small, and idle connections many
constexpr std::size_t kWriteBytes = std::size_t{64}
                                    << 10U;  // what one write gathers, and so the memory a slow peer costs
constexpr std::size_t kKeepBytes = std::size_t{128} << 10U;  // a larger buffer is given back when it is empty
constexpr std::size_t kRoomBeforeSettings = 100;             // what RFC 9113 recommends servers to allow at least

Error not_processed_error(std::string message) {
  Error error(Code::Unavailable, std::move(message));
  error.reason = kNotProcessed;
  return error;
}

std::string_view text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};  // NOLINT(cppcoreguidelines-pro-type-reinterpret-cast)
}

bool is_connection_header(std::string_view name) {  // those that HTTP/2 forbids
  return same_name(name, "connection") || same_name(name, "host") || same_name(name, "transfer-encoding") ||
         same_name(name, "keep-alive") || same_name(name, "upgrade") || same_name(name, "proxy-connection");
}

// The header block of one message: names in lower case, in one piece of memory that nghttp2 only refers to.
class HeaderBlock {
 public:
  explicit HeaderBlock(std::size_t bytes) : memory_(new char[bytes]), next_(memory_.get()) {}

  static std::size_t bytes_for(const Headers& headers) {
    std::size_t bytes = 0;
    for (const auto& [name, value] : headers) bytes += name.size() + value.size();
    return bytes;
  }

  void add(std::string_view name, std::string_view value) {
    nghttp2_nv field{};
    field.namelen = name.size();
    field.valuelen = value.size();
    field.name = copy(name);
    for (std::size_t i = 0; i < name.size(); ++i) {
      if (name[i] >= 'A' && name[i] <= 'Z') field.name[i] = static_cast<std::uint8_t>(name[i] - 'A' + 'a');
    }
    field.value = copy(value);
    field.flags = NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE;
    fields_.push_back(field);
  }
  void add(const Headers& headers) {
    for (const auto& [name, value] : headers) {
      if (!is_connection_header(name)) add(name, value);
    }
  }

  std::span<const nghttp2_nv> fields() const { return fields_; }
  std::unique_ptr<char[]> take_memory() { return std::move(memory_); }

 private:
  std::uint8_t* copy(std::string_view bytes) {
    auto* begin = next_;
    next_ += bytes.copy(next_, bytes.size());
    return reinterpret_cast<std::uint8_t*>(begin);  // NOLINT(cppcoreguidelines-pro-type-reinterpret-cast)
  }

  std::unique_ptr<char[]> memory_;
  char* next_;
  std::vector<nghttp2_nv> fields_;
};

}  // namespace

bool Intake::take(std::size_t bytes) {
  if (bytes > limit - used) return false;
  used += bytes;
  return true;
}

Response Intake::refuse(int status) const {
  if (refusal) return refusal(status);
  switch (status) {
    case 408: return text_response(status, "the request did not arrive in time");
    case 413:
    case 431: return text_response(status, "the request is too large");
    case 417: return text_response(status, "no such expectation can be met");
    case 429: return text_response(status, "too many requests, please try again later");
    case 501: return text_response(status, "no such transfer encoding is spoken here");
    case 505: return text_response(status, "no such version of HTTP is spoken here");
    default: return text_response(status, "this is not HTTP");
  }
}

bool not_processed(const Error& error) { return error.reason == kNotProcessed; }

struct H2Session::Stream {
  explicit Stream(H2Session& s) : session(&s) {}
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  virtual ~Stream() = default;

  H2Session* session;  // null when the stream is closed
  std::int32_t id = 0;
  Headers headers;
  std::size_t header_bytes = 0;
  std::string inbox;              // the body as it came
  bool ended = false;             // the peer's end is closed
  std::optional<Error> failure;   // why there will be no more
  std::string_view outbox;        // of our body, what nghttp2 may take
  bool outbox_last = false;       // nothing comes after it
  std::unique_ptr<char[]> block;  // our headers, until they are sent
  detail::Signal changed;
};

// Owned by whoever waits for the response, then by whoever reads its body.
struct H2Session::ClientStream final : Stream, Body {
  using Stream::Stream;
  ~ClientStream() override {
    if (session == nullptr) return;
    session->streams_.erase(id);
    if (block) session->orphans_.push_back(std::move(block));
    session->reset(*this, NGHTTP2_CANCEL);
    session->changed_.defer();
  }

  Task<std::optional<std::string_view>> read() override {
    while (inbox.empty()) {
      if (failure) throw *failure;
      if (ended) co_return std::nullopt;
      co_await changed.wait();
    }
    if (taken.capacity() > kKeepBytes) taken = std::string();
    taken.clear();
    taken.swap(inbox);
    if (session != nullptr) {
      nghttp2_session_consume_stream(session->session_.get(), id, taken.size());
      if (nghttp2_session_want_write(session->session_.get()) != 0) session->wake_.notify();
    }
    co_return taken;
  }

  std::string request_body;
  int status = 0;
  bool answered = false;
  std::string taken;  // what the last read() gave out
};

struct H2Session::ServerStream final : Stream {
  ServerStream(H2Session& s, Intake* i) : Stream(s), since(s.loop_.now()), intake(i) {}
  ~ServerStream() override { release(); }

  Request request;
  int refused = 0;       // the status, when it does not get to the handler
  rt::TimePoint since;   // it was opened, or the peer took something of the response
  Intake* intake;        // may be null
  std::size_t held = 0;  // of it
  bool serving = false;
  bool answered = false;             // all of the response is nghttp2's
  rt::Activity* activity = nullptr;  // the handler's, while it runs

  void give_up() {
    if (activity != nullptr && !answered) activity->cancel();
  }
  void refuse(int status) {
    refused = status;
    request.body = std::string();
    release();
  }
  bool hold(std::size_t bytes) {
    if (intake == nullptr) return true;
    if (!intake->take(bytes)) return false;
    held += bytes;
    return true;
  }
  void release() {
    if (intake != nullptr) intake->used -= std::exchange(held, 0);
  }
};

// What nghttp2 calls. Nothing here runs code of the user: wake-ups come in the loop's next turn.
struct H2Session::Callbacks {
  static H2Session& self(void* user) { return *static_cast<H2Session*>(user); }

  static int begin_headers(nghttp2_session* /*s*/, const nghttp2_frame* frame, void* user) {
    auto& session = self(user);
    if (frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
    // Streams that were reset count until their handlers have ended: opening and resetting in a loop gains nothing.
    if (session.serving_.size() >= 2 * std::size_t{session.options_.max_streams}) {
      return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    }
    auto stream = std::make_unique<ServerStream>(session, std::get<H2Server>(session.role_).intake);
    stream->id = frame->hd.stream_id;
    session.streams_[stream->id] = stream.get();
    session.serving_[stream->id] = std::move(stream);
    return 0;
  }

  static int header(nghttp2_session* /*s*/, const nghttp2_frame* frame, const std::uint8_t* name, std::size_t name_size,
                    const std::uint8_t* value, std::size_t value_size, std::uint8_t /*flags*/, void* user) {
    auto& session = self(user);
    auto* stream = session.find(frame->hd.stream_id);
    if (stream == nullptr) return 0;
    stream->header_bytes += name_size + value_size + 32;  // as SETTINGS_MAX_HEADER_LIST_SIZE counts
    const bool too_large = stream->header_bytes > session.options_.max_header_bytes;
    const auto key = text(name, name_size);
    const auto content = text(value, value_size);
    if (session.client_) return client_header(static_cast<ClientStream&>(*stream), too_large, key, content);
    server_header(static_cast<ServerStream&>(*stream), too_large, key, content);
    return 0;
  }

  static int client_header(ClientStream& stream, bool too_large, std::string_view name, std::string_view value) {
    if (too_large) {
      stream.failure = Error(Code::Internal, "the response's headers are too large");
      return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    }
    if (stream.answered) return 0;  // trailers
    if (name == ":status") {
      std::from_chars(value.data(), value.data() + value.size(), stream.status);
    } else {
      stream.headers.add(name, value);
    }
    return 0;
  }

  static void server_header(ServerStream& stream, bool too_large, std::string_view name, std::string_view value) {
    if (stream.serving) return;
    if (too_large) {
      stream.refuse(431);
    } else if (name == ":method") {
      stream.request.method = value;
    } else if (name == ":path") {
      stream.request.target = value;
    } else if (name == ":authority") {
      stream.request.headers.add("host", value);
    } else if (!name.starts_with(':')) {
      stream.request.headers.add(name, value);
    }
  }

  static int frame_received(nghttp2_session* /*s*/, const nghttp2_frame* frame, void* user) {
    auto& session = self(user);
    const bool end_stream = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    switch (frame->hd.type) {
      case NGHTTP2_HEADERS:
      case NGHTTP2_DATA:
        if (auto* stream = session.find(frame->hd.stream_id)) {
          if (end_stream) stream->ended = true;
          if (!session.client_) {
            session.received_request(static_cast<ServerStream&>(*stream));
          } else if (frame->hd.type == NGHTTP2_HEADERS) {
            session.received_headers(static_cast<ClientStream&>(*stream));
          }
        }
        break;
      case NGHTTP2_SETTINGS:
        session.settled_ = true;
        session.changed_.defer();
        break;
      case NGHTTP2_GOAWAY:
        session.closing_ = true;
        session.changed_.defer();
        break;
      default: break;
    }
    return 0;
  }

  static int data(nghttp2_session* s, std::uint8_t /*flags*/, std::int32_t id, const std::uint8_t* bytes,
                  std::size_t size, void* user) {
    auto& session = self(user);
    // The connection's window is given back at once: else a few streams that nobody reads would stop all others.
    nghttp2_session_consume_connection(s, size);
    auto* stream = session.find(id);
    if (stream == nullptr) return 0;
    if (session.client_) {
      stream->inbox.append(text(bytes, size));
      stream->changed.notify();
      return 0;
    }
    auto& server = static_cast<ServerStream&>(*stream);
    nghttp2_session_consume_stream(s, id, size);
    if (server.serving) return 0;
    if (server.refused != 0) return 0;
    if (server.request.body.size() + size > session.options_.max_body_bytes) {
      server.refuse(413);
    } else if (!server.hold(size)) {
      server.refuse(429);
    } else {
      server.request.body.append(text(bytes, size));
    }
    return 0;
  }

  static int stream_closed(nghttp2_session* /*s*/, std::int32_t id, std::uint32_t error_code, void* user) {
    self(user).ended(id, error_code);
    return 0;
  }

  static int frame_sent(nghttp2_session* /*s*/, const nghttp2_frame* frame, void* user) {
    if (frame->hd.type != NGHTTP2_HEADERS) return 0;
    if (auto* stream = self(user).find(frame->hd.stream_id)) stream->block.reset();
    return 0;
  }

  // A request that waited for its turn when a GOAWAY came.
  static int frame_not_sent(nghttp2_session* /*s*/, const nghttp2_frame* frame, int /*error*/, void* user) {
    if (frame->hd.type == NGHTTP2_HEADERS && self(user).client_) {
      self(user).ended(frame->hd.stream_id, NGHTTP2_REFUSED_STREAM);
    }
    return 0;
  }

  static ssize_t take_outbox(nghttp2_session* /*s*/, std::int32_t id, std::uint8_t* buffer, std::size_t size,
                             std::uint32_t* flags, nghttp2_data_source* /*source*/, void* user) {
    auto* stream = self(user).find(id);
    if (stream == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;  // it was given up
    if (stream->outbox.empty() && !stream->outbox_last) return NGHTTP2_ERR_DEFERRED;
    const std::size_t taken = std::min(size, stream->outbox.size());
    if (taken > 0) std::memcpy(buffer, stream->outbox.data(), taken);
    stream->outbox.remove_prefix(taken);
    if (!self(user).client_) static_cast<ServerStream*>(stream)->since = self(user).loop_.now();
    if (stream->outbox.empty()) {
      if (stream->outbox_last) *flags |= NGHTTP2_DATA_FLAG_EOF;
      stream->changed.notify();
    }
    return static_cast<ssize_t>(taken);
  }

  static nghttp2_session* make(H2Session& session) {
    nghttp2_session_callbacks* calls = nullptr;
    nghttp2_session_callbacks_new(&calls);
    nghttp2_session_callbacks_set_on_begin_headers_callback(calls, begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(calls, header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(calls, frame_received);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(calls, data);
    nghttp2_session_callbacks_set_on_stream_close_callback(calls, stream_closed);
    nghttp2_session_callbacks_set_on_frame_send_callback(calls, frame_sent);
    nghttp2_session_callbacks_set_on_frame_not_send_callback(calls, frame_not_sent);
    nghttp2_option* option = nullptr;
    nghttp2_option_new(&option);
    nghttp2_option_set_no_auto_window_update(option, 1);
    nghttp2_option_set_peer_max_concurrent_streams(option, kRoomBeforeSettings);
    nghttp2_option_set_no_closed_streams(option, 1);
    nghttp2_session* made = nullptr;
    if (session.client_) {
      nghttp2_session_client_new2(&made, calls, &session, option);
    } else {
      nghttp2_session_server_new2(&made, calls, &session, option);
    }
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(calls);
    return made;
  }
};

void H2Session::FreeSession::operator()(nghttp2_session* session) const { nghttp2_session_del(session); }

H2Session::H2Session(std::unique_ptr<rt::Stream> stream, std::variant<H2Client, H2Server> role, H2Options options)
    : role_(std::move(role)),
      options_(options),
      client_(std::holds_alternative<H2Client>(role_)),
      loop_(rt::Loop::current()),
      stream_(std::move(stream)),
      session_(Callbacks::make(*this)),
      last_read_(loop_.now()),
      idle_since_(loop_.now()) {
  std::vector<nghttp2_settings_entry> settings{
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, options_.stream_window},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, static_cast<std::uint32_t>(options_.max_header_bytes)}};
  if (client_) {
    settings.push_back({NGHTTP2_SETTINGS_ENABLE_PUSH, 0});
  } else {
    settings.push_back({NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, options_.max_streams});
  }
  nghttp2_submit_settings(session_.get(), NGHTTP2_FLAG_NONE, settings.data(), settings.size());
  nghttp2_session_set_local_window_size(session_.get(), NGHTTP2_FLAG_NONE, 0,
                                        static_cast<std::int32_t>(options_.connection_window));
  tasks_.spawn(read_loop());
  tasks_.spawn(write_loop());
  tasks_.spawn(keepalive());
  if (!client_) tasks_.spawn(end_stalled());
}

H2Session::~H2Session() {
  on_change_ = nullptr;
  close(Error(Code::Unavailable, "the connection was closed"));
}

H2Session::Stream* H2Session::find(std::int32_t id) const {
  const auto found = streams_.find(id);
  return found == streams_.end() ? nullptr : found->second;
}

void H2Session::reset(const Stream& stream, std::uint32_t error_code) {
  nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, stream.id, error_code);
  wake_.notify();
}

std::unique_ptr<H2Session::ClientStream> H2Session::submit(const Request& request) {
  const auto& client = std::get<H2Client>(role_);
  auto stream = std::make_unique<ClientStream>(*this);
  stream->request_body = request.body;
  stream->outbox = stream->request_body;
  stream->outbox_last = true;

  const std::string_view authority = request.headers.get("host").value_or(client.authority);
  HeaderBlock block(HeaderBlock::bytes_for(request.headers) + request.method.size() + request.target.size() +
                    client.scheme.size() + authority.size() + 64);
  block.add(":method", request.method);
  block.add(":scheme", client.scheme);
  block.add(":authority", authority);
  block.add(":path", request.target);
  block.add(request.headers);
  nghttp2_data_provider provider{};
  provider.read_callback = Callbacks::take_outbox;
  const auto id = nghttp2_submit_request(session_.get(), nullptr, block.fields().data(), block.fields().size(),
                                         stream->outbox.empty() ? nullptr : &provider, nullptr);
  if (id < 0) {  // the ids of this connection are used up
    stream->session = nullptr;
    closing_ = true;
    changed_.defer();
    throw not_processed_error(nghttp2_strerror(id));
  }
  stream->id = id;
  stream->block = block.take_memory();
  streams_[id] = stream.get();
  wake_.notify();
  return stream;
}

Task<Response> H2Session::request(const Request& request) {
  if (closing()) throw not_processed_error("the connection is closing");
  auto stream = submit(request);
  while (!stream->answered) {
    if (stream->failure) throw *stream->failure;
    co_await stream->changed.wait();
  }
  Response response;
  response.status = stream->status;
  response.headers = std::move(stream->headers);
  response.body = std::move(stream);
  co_return response;
}

std::size_t H2Session::room() const {
  if (closing()) return 0;
  const std::size_t limit =
      settled_ ? nghttp2_session_get_remote_settings(session_.get(), NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS)
               : kRoomBeforeSettings;
  return limit > streams_.size() ? limit - streams_.size() : 0;
}

void H2Session::goaway() {
  if (closing()) return;
  closing_ = true;
  nghttp2_submit_goaway(session_.get(), NGHTTP2_FLAG_NONE, nghttp2_session_get_last_proc_stream_id(session_.get()),
                        NGHTTP2_NO_ERROR, nullptr, 0);
  wake_.notify();
  changed_.defer();
}

void H2Session::close(Error error) {
  if (std::exchange(closed_, true)) return;
  for (auto& [id, stream] : std::exchange(streams_, {})) {
    stream->session = nullptr;
    if (!stream->failure) stream->failure = stream->block ? not_processed_error(error.message) : error;
    if (!client_) static_cast<ServerStream*>(stream)->give_up();
    stream->changed.notify();
  }
  std::erase_if(serving_, [](const auto& entry) { return !entry.second->serving; });
  stream_->close();
  wake_.notify();
  changed_.defer();
}

Task<> H2Session::read_loop() {
  std::string buffer(client_ ? kReadBytes : kServerReadBytes, '\0');
  try {
    while (!closed_) {
      const std::size_t size = co_await stream_->read(buffer);
      if (size == 0) throw Error(Code::Unavailable, "the peer closed the connection");
      ++reads_;
      last_read_ = loop_.now();
      // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast)
      const auto taken =
          nghttp2_session_mem_recv(session_.get(), reinterpret_cast<const std::uint8_t*>(buffer.data()), size);
      if (taken < 0)
        throw Error(Code::Unavailable, fmt::format("HTTP/2: {}", nghttp2_strerror(static_cast<int>(taken))));
      wake_.notify();
      // A full buffer says that there is more: those who wait for what came go first, or it would pile up here.
      if (size == buffer.size()) co_await rt::yield();
    }
  } catch (const Error& error) {
    close(error);
  }
}

Task<> H2Session::write_loop() {
  try {
    while (!closed_) {
      gather();
      if (!out_.empty()) {
        writing_since_ = loop_.now();
        co_await stream_->write(out_);
        writing_since_.reset();
        continue;
      }
      if (nghttp2_session_want_read(session_.get()) == 0) {  // a GOAWAY was sent or came, and all streams are done
        writing_since_ = loop_.now();
        co_await stream_->shutdown();
        throw Error(Code::Unavailable, "the connection ended");
      }
      co_await wake_.wait();
    }
  } catch (const Error& error) {
    close(error);
  }
}

void H2Session::gather() {
  out_.clear();
  while (out_.size() < kWriteBytes) {
    const std::uint8_t* bytes = nullptr;
    const auto size = nghttp2_session_mem_send(session_.get(), &bytes);
    if (size < 0) throw Error(Code::Internal, fmt::format("HTTP/2: {}", nghttp2_strerror(static_cast<int>(size))));
    if (size == 0) {
      orphans_.clear();  // all queues are empty: nothing refers to them any more
      return;
    }
    out_.append(text(bytes, static_cast<std::size_t>(size)));
  }
}

// Reads of any kind show that the peer lives, so an answered request is as good as an answered PING.
Task<> H2Session::keepalive() {
  while (!closed_) {
    const auto due = last_read_ + options_.ping_after;
    if (loop_.now() < due) {
      co_await rt::sleep_until(due);
      continue;
    }
    const auto before = reads_;
    nghttp2_submit_ping(session_.get(), NGHTTP2_FLAG_NONE, nullptr);
    wake_.notify();
    co_await rt::sleep(options_.ping_timeout);
    if (reads_ == before) close(Error(Code::Unavailable, "the peer does not answer: PING timed out"));
  }
}

// A look now and then costs less than a timer for each request.
Task<> H2Session::end_stalled() {
  const rt::Duration pause = std::min(options_.request_timeout, options_.stall_timeout) / 4;
  while (!closed_) {
    co_await rt::sleep(pause);
    const rt::TimePoint now = loop_.now();
    if (writing_since_ && now - *writing_since_ >= options_.stall_timeout) {
      close(Error(Code::Timeout, "the peer does not read"));
      co_return;
    }
    for (const auto& [id, stream] : streams_) {
      const auto& server = static_cast<const ServerStream&>(*stream);
      const bool not_there = !server.serving && now - server.since >= options_.request_timeout;
      const bool not_taken = !server.outbox.empty() && now - server.since >= options_.stall_timeout;
      if (not_there || not_taken) reset(server, NGHTTP2_CANCEL);
    }
  }
}

void H2Session::received_headers(ClientStream& stream) {
  if (stream.answered) return;                        // trailers
  if (stream.status >= 100 && stream.status < 200) {  // an interim response: the real one follows
    stream.status = 0;
    stream.headers = {};
    return;
  }
  stream.answered = true;
  stream.changed.notify();
}

// A request is given to the handler when all of it is there, or when it is already too much.
void H2Session::received_request(ServerStream& stream) {
  if (stream.serving || !(stream.ended || stream.refused != 0)) return;
  stream.serving = true;
  tasks_.spawn(serve(&stream));
}

void H2Session::ended(std::int32_t id, std::uint32_t error_code) {
  auto* stream = find(id);
  if (stream == nullptr) return;
  streams_.erase(id);
  stream->session = nullptr;
  if (streams_.empty()) idle_since_ = loop_.now();
  changed_.defer();
  if (stream->block) orphans_.push_back(std::move(stream->block));
  if (!client_) {
    auto& server = static_cast<ServerStream&>(*stream);
    if (!server.serving) {
      serving_.erase(id);
      return;
    }
    server.give_up();
  }
  if (error_code == NGHTTP2_REFUSED_STREAM) {
    stream->failure = not_processed_error("the server did not process the request");
  } else if (error_code != NGHTTP2_NO_ERROR || !stream->ended) {
    if (!stream->failure) {
      stream->failure =
          Error(Code::Unavailable, fmt::format("the stream was reset: {}", nghttp2_http2_strerror(error_code)));
    }
  }
  stream->changed.notify();
}

// The stream's memory is the session's until the handler is done with it, though the peer may have left long before;
// and until nghttp2 is done with it, though the handler may have.
Task<> H2Session::serve(ServerStream* stream) {
  try {
    rt::Activity& caller = co_await rt::this_activity();
    rt::Activity activity(&caller);
    stream->activity = &activity;
    auto work = answer(stream);
    co_await work.in(activity);
    while (stream->session != nullptr) co_await stream->changed.wait();
  } catch (const rt::Cancelled&) {
    // The peer reset the stream, or the session ended: there is nobody left to answer.
  }
  serving_.erase(stream->id);
}

Task<> H2Session::answer(ServerStream* stream) {
  const auto& server = std::get<H2Server>(role_);
  Response response;
  const std::string method = stream->request.method;
  if (stream->refused != 0) {
    response = server.intake != nullptr ? server.intake->refuse(stream->refused) : Intake().refuse(stream->refused);
  } else {
    Request request = std::move(stream->request);
    request.peer = server.peer;
    response = co_await detail::respond_to(*server.handler, std::move(request));
  }
  if (stream->session == nullptr) co_return;
  const bool has_body = detail::has_body(response.status, method);
  respond(*stream, response, has_body);
  try {
    if (has_body) co_await send_body(stream, *response.body, detail::content_length(response.headers));
    stream->answered = true;
  } catch (const Error& error) {
    log::debug("a response broke off", {{"error", error.what()}});
    if (stream->session != nullptr) reset(*stream, NGHTTP2_INTERNAL_ERROR);
  }
}

Task<> H2Session::send_body(ServerStream* stream, Body& body, std::optional<std::uint64_t> length) {
  while (!stream->outbox_last) {
    const auto chunk = co_await body.read();
    if (stream->session == nullptr) co_return;
    stream->outbox = chunk.value_or(std::string_view());
    stream->since = loop_.now();
    // The length tells the last chunk early: it then carries END_STREAM, and no empty frame follows.
    if (length) *length -= std::min<std::uint64_t>(*length, stream->outbox.size());
    stream->outbox_last = !chunk || length == 0U;
    nghttp2_session_resume_data(session_.get(), stream->id);
    wake_.notify();
    while (!stream->outbox.empty() && stream->session != nullptr) co_await stream->changed.wait();
  }
  // The peer of a request that was too large still sends.
  if (stream->session != nullptr && !stream->ended) reset(*stream, NGHTTP2_NO_ERROR);
}

void H2Session::respond(ServerStream& stream, const Response& response, bool has_body) {
  HeaderBlock block(HeaderBlock::bytes_for(response.headers) + 64);
  block.add(":status", std::to_string(response.status));
  block.add(response.headers);
  const auto fields = block.fields();
  nghttp2_data_provider provider{};
  provider.read_callback = Callbacks::take_outbox;
  nghttp2_submit_response(session_.get(), stream.id, fields.data(), fields.size(), has_body ? &provider : nullptr);
  stream.block = block.take_memory();
  wake_.notify();
}

}  // namespace kopper::http
