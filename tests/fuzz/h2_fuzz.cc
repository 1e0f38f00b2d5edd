// What a peer of an HTTP/2 session may send. The first byte says which end we are and how the rest is cut into reads.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kopper/base/error.h"
#include "kopper/http/h2_session.h"
#include "kopper/rt/loop.h"
#include "kopper/rt/scope.h"
#include "kopper/rt/stream.h"

#include "require.h"

using namespace kopper;
using namespace kopper::http;
using fuzz::require;

namespace {

class Echo final : public Handler {
 public:
  Task<Response> handle(Request request) override {
    require(!request.method.empty() && request.body.size() <= 1000, "limits hold");
    if (request.target.size() > 8) co_await rt::sleep(std::chrono::hours(1));
    co_return text_response(200, request.target + request.body);
  }
};

Task<> call(H2Session* session, int number) {
  Request request;
  request.method = number % 2 == 0 ? "GET" : "POST";
  request.body.assign(static_cast<std::size_t>(number) * 100, 'x');
  try {
    Response response = co_await session->request(request);
    require(response.status >= 200 || response.status < 100, "no interim response comes through");
    if (number == 3) co_return;  // gives its body up
    while (const auto chunk = co_await response.body->read()) require(!chunk->empty(), "no chunk is empty");
  } catch (const Error& error) {
    require(error.what()[0] != '\0', "an error says why");
  }
}

Task<> feed(rt::Stream* peer, std::string bytes, std::size_t step) {
  try {
    for (std::size_t at = 0; at < bytes.size(); at += step) {
      co_await peer->write(std::string_view(bytes).substr(at, step));
      co_await rt::yield();
    }
  } catch (const Error&) {
    // the session had enough of us
  }
}

Task<> drain(rt::Stream* peer) {
  try {
    std::string buffer(4096, '\0');
    while (const auto size = co_await peer->read(buffer)) require(size <= buffer.size(), "a read fits");
  } catch (const Error&) {
    // closed
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1 || size > 20'000) return 0;
  const bool client = (data[0] & 1U) == 0;
  const std::size_t step = (data[0] >> 1U) == 0 ? 20'000 : data[0] >> 1U;
  std::string bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  if (!client) bytes.insert(0, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

  rt::Loop loop(rt::ClockMode::Manual);
  Echo echo;
  H2Options options;
  options.max_header_bytes = 2000;
  options.max_body_bytes = 1000;
  options.max_streams = 5;
  auto [here, there] = rt::pipe();
  std::variant<H2Client, H2Server> role = H2Server{&echo, {}};
  if (client) role = H2Client{"https", "h"};
  H2Session session(std::move(here), std::move(role), options);
  rt::Scope tasks;
  if (client) {
    for (int i = 0; i < 4; ++i) tasks.spawn(call(&session, i));
  }
  tasks.spawn(drain(there.get()));
  tasks.spawn(feed(there.get(), std::move(bytes), step));
  loop.poll();
  loop.advance(std::chrono::seconds(46));  // past a PING that nobody answers
  require(session.closed() || !client || session.open_streams() <= 4, "streams are counted");
  return 0;
}
