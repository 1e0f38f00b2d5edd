// What a client of HTTP/1.1 may send to a server. The first byte says how the rest is cut into writes.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kopper/base/error.h"
#include "kopper/http/server.h"
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
    require(!request.method.empty() && !request.target.empty(), "a request has a method and a target");
    require(request.body.size() <= 1000, "limits hold");
    require(request.headers.all("host").size() <= 1, "a request has one host");
    co_return text_response(200, request.target + request.body);
  }
};

Task<> feed(rt::Stream* peer, std::string bytes, std::size_t step) {
  try {
    for (std::size_t at = 0; at < bytes.size(); at += step)
      co_await peer->write(std::string_view(bytes).substr(at, step));
    co_await peer->shutdown();
  } catch (const Error&) {
    // the server had enough of us
  }
}

Task<> drain(rt::Stream* peer, std::string* answers) {
  try {
    std::string buffer(4096, '\0');
    while (const auto size = co_await peer->read(buffer)) answers->append(buffer, 0, size);
  } catch (const Error&) {
    // closed
  }
}

Task<> converse(std::uint16_t port, std::string bytes, std::size_t step, std::string* answers) {
  auto peer = co_await rt::connect_tcp("127.0.0.1", port);
  rt::Scope both;
  both.spawn(feed(peer.get(), std::move(bytes), step));
  both.spawn(drain(peer.get(), answers));
  co_await both.join();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1 || size > 20'000) return 0;
  const std::size_t step = data[0] == 0 ? 20'000 : data[0];
  rt::Loop loop;
  Echo echo;
  ServerOptions options;
  options.h2.max_header_bytes = 2000;
  options.h2.max_body_bytes = 1000;
  Server server(rt::Listener::tcp(), echo, options);
  std::string answers;
  // It ends by itself: a client that has said all is not waited for.
  loop.run(converse(server.port(), std::string(reinterpret_cast<const char*>(data + 1), size - 1), step, &answers));
  require(answers.empty() || answers.starts_with("HTTP/1."), "an answer is HTTP");
  return 0;
}
