// Loads an API server and says how fast it was, one JSON object a line. bench/cluster/run starts the servers.
//   cluster-load creates N INFLIGHT [NAMESPACE] | updates N INFLIGHT | list | fanout WATCHERS N          (the server:
//   $KUBECONFIG)
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "kopper/client/client.h"
#include "kopper/client/config.h"
#include "kopper/client/transport.h"
#include "kopper/json/value.h"
#include "kopper/rt/channel.h"
#include "kopper/rt/loop.h"
#include "kopper/rt/scope.h"

#include "pods/pods.h"

namespace kopper::bench {
namespace {

using Clock = std::chrono::steady_clock;
double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

http::Request request(std::string method, std::string target, std::string body, std::string_view type) {
  http::Request out;
  out.method = std::move(method);
  out.target = std::move(target);
  out.body = std::move(body);
  out.headers.set("content-type", type);
  return out;
}

// The pods of the generator, as a client would send them: in one namespace, with nothing that a server sets.
std::vector<json::Value> fresh_pods(std::size_t count) {
  std::vector<json::Value> out;
  for (const std::string& text : pods(count)) {
    json::Value pod = json::parse(text).value();
    json::Object metadata{{"name", fmt::format("p{}", out.size())}, {"labels", pod["metadata"]["labels"]}};
    // The real server runs without the admission that mounts a token, having nobody to make accounts: the objects are
    // to be the same on both.
    json::Object spec{{"automountServiceAccountToken", false}, {"containers", json::Array()}};
    for (const json::Value& container : *std::as_const(pod)["spec"]["containers"].as_array())
      spec["containers"].as_array()->emplace_back(
          json::Object{{"name", container["name"]}, {"image", container["image"]}, {"env", container["env"]}});
    out.emplace_back(json::Object{
        {"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", std::move(metadata)}, {"spec", std::move(spec)}});
  }
  return out;
}

struct Work {
  std::vector<http::Request> requests;
  std::size_t next = 0;
};

Task<> worker(client::Client client, Work* work) {
  while (work->next < work->requests.size()) {
    http::Request one = std::move(work->requests[work->next++]);
    co_await client.call(std::move(one));
  }
}

Task<> rate(client::Client client, std::string what, std::vector<http::Request> requests, int in_flight) {
  Work work{.requests = std::move(requests)};
  const std::size_t count = work.requests.size();
  const auto begin = Clock::now();
  rt::Scope scope;
  for (int i = 0; i < in_flight; ++i) scope.spawn(worker(client, &work));
  co_await scope.join();
  fmt::print("{{\"what\":\"{}\",\"in_flight\":{},\"per_second\":{:.0f}}}\n", what, in_flight,
             static_cast<double>(count) / since(begin));
}

Task<> creates(client::Client client, std::size_t count, int in_flight, std::string ns) {
  std::vector<http::Request> all;
  for (const json::Value& pod : fresh_pods(count))
    all.push_back(request("POST", fmt::format("/api/v1/namespaces/{}/pods", ns), json::dump(pod), "application/json"));
  co_await rate(client, "creates", std::move(all), in_flight);
}

Task<> updates(client::Client client, std::size_t count, int in_flight) {
  std::vector<http::Request> all;
  for (std::size_t i = 0; i < count; ++i)
    all.push_back(request("PATCH", fmt::format("/api/v1/namespaces/default/pods/p{}", i),
                          fmt::format(R"({{"metadata":{{"labels":{{"turn":"{}"}}}}}})", i),
                          "application/merge-patch+json"));
  co_await rate(client, "updates", std::move(all), in_flight);
}

Task<> list(client::Client client) {
  const auto begin = Clock::now();
  http::Response response =
      co_await client.stream(request("GET", "/api/v1/namespaces/default/pods", "", "application/json"));
  const std::string body = co_await http::read_all(*response.body);
  fmt::print("{{\"what\":\"list\",\"bytes\":{},\"seconds\":{:.4f}}}\n", body.size(), since(begin));
}

// Reads until it has seen so many events, and says when.
Task<> watcher(client::Client client, std::string version, std::size_t events, std::size_t* done) {
  http::Request one = request("GET", "/api/v1/namespaces/default/configmaps?watch=1&resourceVersion=" + version, "",
                              "application/json");
  one.long_running = true;
  const http::Response response = co_await client.stream(std::move(one));
  std::size_t seen = 0;
  while (seen < events) {
    const auto chunk = co_await response.body->read();
    if (!chunk) co_return;
    for (const char c : *chunk) seen += c == '\n' ? 1U : 0U;
  }
  ++*done;
}

Task<> fanout(client::Client client, int watchers, std::size_t events) {
  const std::string listed =
      co_await client.call(request("GET", "/api/v1/namespaces/default/configmaps", "", "application/json"));
  const std::string version(json::parse(listed).value()["metadata"].text("resourceVersion"));
  std::size_t done = 0;
  rt::Scope scope;
  for (int i = 0; i < watchers; ++i) scope.spawn(watcher(client, version, events, &done));
  co_await rt::sleep(std::chrono::seconds(1));  // all are connected
  std::vector<http::Request> all;
  for (std::size_t i = 0; i < events; ++i)
    all.push_back(request("POST", "/api/v1/namespaces/default/configmaps",
                          fmt::format(R"({{"metadata":{{"name":"f{}"}}}})", i), "application/json"));
  Work work{.requests = std::move(all)};
  const auto begin = Clock::now();
  for (int i = 0; i < 4; ++i) scope.spawn(worker(client, &work));
  co_await scope.join();
  fmt::print("{{\"what\":\"fanout\",\"watchers\":{},\"events_per_second\":{:.0f}}}\n", done,
             static_cast<double>(events) * static_cast<double>(done) / since(begin));
}

std::size_t number(const char* text) {
  std::size_t out = 0;
  std::from_chars(text, text + std::string_view(text).size(), out);
  return out;
}

int main(int argc, char** argv) {
  rt::Loop loop;
  const client::Client client(client::make_transport(client::load_config()));
  const std::string_view mode = argc > 1 ? argv[1] : "";
  const std::size_t first = argc > 2 ? number(argv[2]) : 0;
  const std::size_t second = argc > 3 ? number(argv[3]) : 1;
  if (mode == "creates") {
    loop.run(creates(client, first, static_cast<int>(second), argc > 4 ? argv[4] : "default"));
  } else if (mode == "updates") {
    loop.run(updates(client, first, static_cast<int>(second)));
  } else if (mode == "list") {
    loop.run(list(client));
  } else if (mode == "fanout") {
    loop.run(fanout(client, static_cast<int>(first), second));
  } else {
    fmt::print(stderr,
               "usage: cluster-load creates N INFLIGHT [NAMESPACE] | updates N INFLIGHT | list | fanout WATCHERS N\n");
    return 2;
  }
  return 0;
}

}  // namespace
}  // namespace kopper::bench

int main(int argc, char** argv) { return kopper::bench::main(argc, argv); }
