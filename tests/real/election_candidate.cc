// One process that would lead, for election_test.cc:
//   election_candidate <kubeconfig> <namespace> <identity>
// While it leads it appends a line "identity term" to the ConfigMap "log", as often as it can. Each line is written as
// an operator writes: read, ask whether we still lead, write what was read. SIGTERM ends it in good order.
#include <chrono>
#include <csignal>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "kopper/api/names.h"
#include "kopper/base/error.h"
#include "kopper/base/log.h"
#include "kopper/client/api.h"
#include "kopper/client/config.h"
#include "kopper/client/transport.h"
#include "kopper/rt/loop.h"
#include "kopper/rt/scope.h"
#include "kopper/rt/signal.h"
#include "kopper/runtime/election.h"

namespace kopper {
namespace {

using namespace std::chrono_literals;

struct Candidate {
  client::Client client;
  std::string ns;
  runtime::Election election;
  rt::Scope work{};

  Task<> write_line() {
    auto log = co_await client.of<ConfigMap>().get(Key(ns, "log"));
    if (!election.is_leader()) co_return;
    log.data["lines"] += fmt::format("{} {}\n", election.identity(), election.term());
    // A Conflict: somebody else wrote since we read. Nothing is lost, and nothing is forced.
    co_await client.of<ConfigMap>().update(std::move(log));
  }

  Task<> write_lines() {
    while (true) {
      co_await election.campaign();
      while (election.is_leader()) {
        try {
          co_await write_line();
        } catch (const Error& error) {
          log::warn("a line is not written", {{"error", error.what()}});
        }
        co_await rt::sleep(50ms);
      }
      co_await election.lost();
    }
  }

  Task<> run() {
    work.spawn(write_lines());
    std::vector<int> ends{SIGTERM};
    co_await rt::wait_signal(std::move(ends));
    work.cancel();
    co_await work.join();
    co_await election.release();
  }
};

int lead(std::span<char*> args) {
  rt::Loop loop;
  client::LoadOptions load;
  load.kubeconfig = args[1];
  const client::Client client(client::make_transport(client::load_config(load)));
  runtime::ElectionOptions options;
  options.namespace_ = args[2];
  options.name = "operator";
  options.identity = args[3];
  Candidate candidate{.client = client, .ns = args[2], .election = runtime::Election(client, options)};
  loop.run(candidate.run());
  return 0;
}

}  // namespace
}  // namespace kopper

int main(int argc, char** argv) {
  try {
    return kopper::lead(std::span(argv, static_cast<std::size_t>(argc)));
  } catch (const std::exception& error) {
    kopper::log::error("the candidate ends", {{"error", error.what()}});
    return 1;
  }
}
