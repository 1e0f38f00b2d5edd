// The Kopper side of bench/peers. bench/peers/README.md says what the modes and the lines mean.
#include <charconv>
#include <string_view>

#include <fmt/format.h>

#include "kopper/api/names.h"
#include "kopper/cache/cache.h"
#include "kopper/client/client.h"
#include "kopper/client/config.h"
#include "kopper/client/lines.h"
#include "kopper/client/transport.h"
#include "kopper/rt/loop.h"
#include "kopper/rt/scope.h"

#include "peers/kopper/peer.h"
#include "pods/pods.h"

namespace kopper::bench {
namespace {

client::Client connect() { return client::Client(client::make_transport(client::load_config())); }

Task<> run_cache(cache::Storage storage) {
  cache::Informer pods(connect(), client::resource_of<Pod>(), {.storage = storage});
  const auto subscription = pods.subscribe([](const cache::Change&) { ++counts().events; });
  rt::Scope scope;
  scope.spawn(pods.run());
  co_await pods.wait_synced();
  say("synced");
  co_await serve();
}

// Reads the same watch and looks at nothing but when it was sent: what is left is the server's share of the latency.
Task<> read_wire(std::unique_ptr<http::Body> body) {
  client::LineReader lines(std::move(body));
  while (const auto line = co_await lines.next()) {
    const auto now = wall_now();
    ++counts().events;
    const auto at = line->find(kSentAnnotation);
    if (at != std::string_view::npos) note_latency(line->substr(at + kSentAnnotation.size() + 3), now);
  }
}

Task<> run_wire() {
  http::Request request;
  request.target =
      "/api/v1/pods?watch=true&resourceVersion=0&sendInitialEvents=false&resourceVersionMatch=NotOlderThan";
  request.long_running = true;
  const auto client = connect();
  auto response = co_await client.stream(std::move(request));
  rt::Scope scope;
  scope.spawn(read_wire(std::move(response.body)));
  say("synced");
  co_await serve();
}

void print_pods(std::size_t count) {
  for (const auto& pod : pods(count)) fmt::print("{}\n", pod);
}

int usage() {
  fmt::print(stderr, "usage: kopper-peer cache [--raw] | controller | operator | wire | pods N\n");
  return 2;
}

int run(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  const std::string_view argument = argc > 2 ? argv[2] : "";
  if (mode == "pods") {
    std::size_t count = 0;
    std::from_chars(argument.data(), argument.data() + argument.size(), count);
    print_pods(count);
    return 0;
  }
  rt::Loop loop;
  if (mode == "cache") {
    loop.run(run_cache(argument == "--raw" ? cache::Storage::Raw : cache::Storage::Auto));
  } else if (mode == "controller") {
    loop.run(run_controller());
  } else if (mode == "operator") {
    loop.run(run_operator());
  } else if (mode == "wire") {
    loop.run(run_wire());
  } else {
    return usage();
  }
  return 0;
}

}  // namespace
}  // namespace kopper::bench

int main(int argc, char** argv) {
  try {
    return kopper::bench::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "kopper-peer: {}\n", error.what());
    return 1;
  }
}
