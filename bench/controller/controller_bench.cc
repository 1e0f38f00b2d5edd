// What a reconcile costs that does nothing: queue, cache, decoding of a pod, the call.
//   controller_bench [pods [rounds]]
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "kopper/api/gen/core_v1.h"
#include "kopper/rt/channel.h"
#include "kopper/rt/scope.h"
#include "kopper/runtime/controller.h"
#include "kopper/runtime/manager.h"

#include "pods/list_server.h"
#include "pods/pods.h"

namespace kopper::bench {
namespace {

using api::corev1::Pod;

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

std::size_t reconciled = 0;

Task<runtime::Next> reconcile(runtime::Context<Pod> pod) {
  if (pod->metadata.name.empty()) std::abort();
  ++reconciled;
  co_return runtime::Next::wait();
}

Task<> until(std::size_t wanted) {
  while (reconciled < wanted) co_await rt::sleep(std::chrono::milliseconds(1));
}

Task<> ask(std::shared_ptr<rt::Channel<runtime::Request>> requests, const std::vector<Key>* keys) {
  const auto wanted = reconciled + keys->size();
  for (const auto& key : *keys) co_await requests->send(runtime::Request(key));
  co_await until(wanted);
}

void measure(std::size_t count, int rounds, cache::Storage storage) {
  rt::Loop loop;
  const auto requests = std::make_shared<rt::Channel<runtime::Request>>(1024);
  runtime::Manager manager(std::make_shared<ListServer>(pod_list(pods(count))));
  cache::InformerOptions options;
  options.storage = storage;
  options.watch_list = false;
  manager.add(runtime::controller<Pod>().select(std::move(options)).watches(requests).reconcile(&reconcile));
  rt::Scope scope;
  reconciled = 0;
  scope.spawn(manager.run());
  loop.run(manager.cluster().cache.wait_synced());
  std::vector<Key> keys;
  const auto& store = manager.cluster().cache.informer<Pod>().store();
  for (const auto& record : store.list()) keys.push_back(record->key());
  loop.run(until(keys.size()));  // those of the initial list
  reconciled = 0;
  const auto began = cpu_seconds();
  for (int round = 0; round < rounds; ++round) {
    loop.run(ask(requests, &keys));
  }
  const auto each = (cpu_seconds() - began) / static_cast<double>(reconciled);
  if (reconciled != keys.size() * static_cast<std::size_t>(rounds)) std::abort();
  fmt::print("| {} | {:.1f} | {:.0f} |\n", storage == cache::Storage::Raw ? "plain" : "compressed", each * 1e6,
             1 / each);
}

}  // namespace
}  // namespace kopper::bench

int main(int argc, char** argv) {
  using namespace kopper;
  const auto count = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 10'000;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 5;
  fmt::print("| store | CPU us a reconcile | a second |\n|---|---|---|\n");
  for (const auto storage : {cache::Storage::Raw, cache::Storage::Compressed}) bench::measure(count, rounds, storage);
}
