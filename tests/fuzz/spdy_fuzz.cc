// What a client of SPDY may send: to the decoder, and to a session whose streams echo. The first byte says how the rest
// is cut into writes.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kopper/base/error.h"
#include "kopper/http/detail/spdy_frames.h"
#include "kopper/http/spdy.h"
#include "kopper/rt/loop.h"
#include "kopper/rt/scope.h"

#include "require.h"

using namespace kopper;
using namespace kopper::http;
using fuzz::require;

namespace {

Task<> echo(std::unique_ptr<SpdyStream> stream) {
  const auto held = std::move(stream);
  std::string buffer(1000, '\0');
  try {
    while (const auto size = co_await held->read(buffer)) {
      co_await held->write(std::string_view(buffer).substr(0, size));
    }
    co_await held->shutdown();
  } catch (const Error&) {
    // reset, or the end
  }
}

Task<> serve(SpdySession* session) {
  rt::Scope scope;
  while (auto stream = co_await session->accept()) scope.spawn(echo(std::move(stream)));
  co_await scope.join();
}

Task<> feed(rt::Stream* peer, std::string bytes, std::size_t step) {
  try {
    for (std::size_t at = 0; at < bytes.size(); at += step)
      co_await peer->write(std::string_view(bytes).substr(at, step));
    co_await peer->shutdown();
  } catch (const Error&) {
    // the session had enough of us
  }
}

Task<> check_answers(rt::Stream* peer) {
  detail::SpdyDecoder decoder{detail::SpdyDecoder::Limits()};
  std::string buffer(4096, '\0');
  while (const auto size = co_await peer->read(buffer)) {
    decoder.feed(std::string_view(buffer).substr(0, size));
    for (;;) {
      const auto frame = decoder.next();
      require(frame.has_value(), "what a session sends is SPDY");
      if (!*frame) break;
    }
  }
}

Task<> converse(std::string bytes, std::size_t step) {
  auto [ours, theirs] = rt::pipe();
  SpdySession session(std::move(ours));
  const auto peer = std::move(theirs);
  rt::Scope scope;
  scope.spawn(serve(&session));
  scope.spawn(feed(peer.get(), std::move(bytes), step));
  scope.spawn(check_answers(peer.get()));
  co_await scope.join();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1 || size > 20'000) return 0;
  const std::size_t step = data[0] == 0 ? 20'000 : data[0];
  const std::string bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  rt::Loop loop(rt::ClockMode::Manual);
  loop.run(converse(bytes, step));
  return 0;
}
