#include "kopper/plane/streams/spdy_command.h"

#include <map>

#include "kopper/base/error.h"
#include "kopper/rt/scope.h"

namespace kopper::plane {
namespace {

constexpr auto kPatience = std::chrono::seconds(30);

class SpdyCommand final : public RemoteSession {
 public:
  using Streams = std::map<std::string, std::unique_ptr<http::SpdyStream>, std::less<>>;

  SpdyCommand(std::unique_ptr<http::SpdySession> session, Streams streams, bool json)
      : session_(std::move(session)), streams_(std::move(streams)), json_(json) {
    input = find("stdin");
    output = find("stdout");
    errors = find("stderr");
    resize = find("resize");
  }

  Task<> closed() override { return session_->closed(); }

  Task<> finish(std::string status) override {
    if (!json_) status = in_words(status);
    rt::Stream* const told = find("error");
    if (!status.empty()) co_await told->write(status);
    for (rt::Stream* stream : {output, errors, told})
      if (stream != nullptr) co_await stream->shutdown();
    co_await session_->close();
  }

 private:
  rt::Stream* find(std::string_view type) const {
    const auto at = streams_.find(type);
    return at == streams_.end() ? nullptr : at->second.get();
  }

  const std::unique_ptr<http::SpdySession> session_;
  const Streams streams_;
  const bool json_;
};

// outlives: awaited at once
Task<SpdyCommand::Streams> wait_for(http::SpdySession* session, std::size_t count) {
  SpdyCommand::Streams streams;
  while (streams.size() < count) {
    auto stream = co_await session->accept();
    if (stream == nullptr) throw Error(Code::Unavailable, "the client has gone");
    std::string type(stream->headers().get("streamtype").value_or(""));
    streams.insert_or_assign(std::move(type), std::move(stream));
  }
  if (!streams.contains("error")) throw Error(Code::Invalid, "no error stream");
  co_return streams;
}

}  // namespace

Task<std::unique_ptr<RemoteSession>> spdy_command(std::unique_ptr<http::SpdySession> session, CommandOptions options,
                                                  std::string protocol) {
  const bool sizes = protocol.starts_with("v4.") || protocol.starts_with("v3.");
  const std::size_t count = 1U + (options.input ? 1U : 0U) + (options.output ? 1U : 0U) + (options.errors ? 1U : 0U) +
                            (options.tty && sizes ? 1U : 0U);
  auto streams = co_await rt::timeout(kPatience, wait_for(session.get(), count));
  co_return std::make_unique<SpdyCommand>(std::move(session), std::move(streams), protocol.starts_with("v4."));
}

}  // namespace kopper::plane
