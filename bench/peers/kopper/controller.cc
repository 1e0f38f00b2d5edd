#include <chrono>
#include <memory>

#include "kopper/client/config.h"
#include "kopper/client/transport.h"
#include "kopper/kopper.h"
#include "kopper/rt/channel.h"
#include "kopper/rt/loop.h"
#include "kopper/rt/scope.h"

#include "peers/kopper/peer.h"

namespace kopper::bench {
namespace {

using Requests = std::shared_ptr<rt::Channel<Request>>;

Task<Next> reconcile(Context<Pod> pod) {
  const auto now = wall_now();
  ++counts().reconciles;
  const auto& annotations = pod->metadata.annotations;
  const auto sent = annotations.find(std::string(kSentAnnotation));
  if (sent != annotations.end()) note_latency(sent->second, now);
  co_return Next::wait();
}

// Asks for each pod once a round, and waits until all have been reconciled.
Task<> storm(Manager* manager, Requests again, int rounds) {
  std::vector<Key> keys;
  for (const auto& record : manager->cluster().cache.informer<Pod>().store().list()) keys.push_back(record->key());
  const auto before = counts().reconciles;
  const auto begin = rt::Loop::current().now();
  for (int round = 1; round <= rounds; ++round) {
    for (const auto& key : keys) co_await again->send(Request(key));
    while (counts().reconciles < before + round * std::ssize(keys)) co_await rt::sleep(std::chrono::milliseconds(1));
  }
  say("storm", {{"reconciles", static_cast<double>(counts().reconciles - before)},
                {"seconds", std::chrono::duration<double>(rt::Loop::current().now() - begin).count()}});
}

}  // namespace

Task<> run_controller() {
  const auto again = std::make_shared<rt::Channel<Request>>(1024);
  Manager manager(client::make_transport(client::load_config()));
  manager.add(controller<Pod>().watches(again).reconcile(reconcile));
  rt::Scope scope;
  scope.spawn(manager.run());
  co_await manager.cluster().cache.wait_synced();
  say("synced");
  co_await serve([&](int rounds) { return storm(&manager, again, rounds); });
}

}  // namespace kopper::bench
