// What it costs to cache pods: CPU and memory of the first list, of reading it again, of events and of reads.
//   cache_bench [pods]
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <functional>

#include <fmt/format.h>
#include <malloc.h>

#include "kopper/api/gen/core_v1.h"
#include "kopper/cache/informer.h"
#include "kopper/cache/mirror.h"
#include "kopper/cache/store.h"
#include "kopper/rt/loop.h"
#include "kopper/rt/scope.h"

#include "pods/list_server.h"
#include "pods/pods.h"

namespace kopper::bench {
namespace {

using cache::Storage;

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}
std::size_t heap() {
  const auto info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

double best_of(int times, const std::function<void()>& work) {
  double best = 1e9;
  for (int i = 0; i < times; ++i) {
    const auto began = cpu_seconds();
    work();
    best = std::min(best, cpu_seconds() - began);
  }
  return best;
}

// Five fields of a pod, for who needs no more.
struct FiveMetadata {
  std::string name;
  std::string namespace_;
};
struct FiveSpec {
  std::string nodeName;
};
struct FiveStatus {
  std::string phase;
  std::string podIP;
};
struct Five {
  FiveMetadata metadata;
  FiveSpec spec;
  FiveStatus status;
};

const client::Resource kPods{.group = "", .version = "v1", .plural = "pods", .kind = "Pod", .namespaced = true};

// A list, and heap in use at its end and at most.
struct Listed {
  std::size_t steady = 0;
  std::size_t peak = 0;
};
Listed fill(cache::Store& store, cache::Mirror& mirror, const std::vector<std::string>& pods, std::size_t before) {
  Listed out;
  mirror.begin();
  for (std::size_t i = 0; i < pods.size(); ++i) {
    if (!mirror.initial(pods[i])) std::abort();
    while (store.tidy()) {
    }
    if (i % 64 == 0) out.peak = std::max(out.peak, heap() - before);
  }
  mirror.done(190'000'001);
  out.steady = heap() - before;
  return out;
}

std::string_view name(Storage storage) { return storage == Storage::Raw ? "plain" : "compressed"; }

void memory_and_cpu(std::string_view label, const std::vector<std::string>& pods, Storage storage,
                    const cache::Projection& keep = cache::Projection()) {
  const auto count = static_cast<double>(pods.size());
  Listed first;
  Listed again;
  double sync = 1e9;
  double relist = 1e9;
  double stored = 0;
  for (int round = 0; round < 3; ++round) {
    malloc_trim(0);
    const auto before = heap();
    cache::Store store(kPods, storage);
    cache::Mirror mirror(store, [](const cache::Change&) {}, "", keep);
    auto began = cpu_seconds();
    first = fill(store, mirror, pods, before);
    sync = std::min(sync, cpu_seconds() - began);
    began = cpu_seconds();
    again = fill(store, mirror, pods, before);
    relist = std::min(relist, cpu_seconds() - began);
    stored = static_cast<double>(store.size().bytes);
  }
  fmt::print("| {} | {:.2f} | {:.0f} | {:.0f} | {:.2f} | {:.2f} |\n", label, sync / count * 1e6, stored / count,
             static_cast<double>(first.steady) / count, relist / count * 1e6,
             static_cast<double>(again.peak) / static_cast<double>(first.steady));
}

void reads(const std::vector<std::string>& pods, Storage storage) {
  cache::Store store(kPods, storage);
  cache::Mirror mirror(store, [](const cache::Change&) {});
  fill(store, mirror, pods, heap());
  const auto all = store.list();
  const auto some = std::min<std::size_t>(2000, all.size());
  const auto each = [&](double seconds) { return seconds / static_cast<double>(some) * 1e6; };
  const auto get = best_of(3, [&] {
    for (std::size_t i = 0; i < some; ++i) {
      if (!store.get(all[i]->namespace_(), all[i]->name())) std::abort();
    }
  });
  const auto cold = best_of(3, [&] {
    for (std::size_t i = 0; i < some; ++i) static_cast<void>(cache::view<api::corev1::Pod>(all[i]));
  });
  const auto hot = best_of(3, [&] {
    for (std::size_t i = 0; i < some; ++i) static_cast<void>(store.view<api::corev1::Pod>(all[0]));
  });
  const auto selector = *api::Selector::parse("app=checkout,team in (team-1,team-2)");
  const auto by_label = best_of(3, [&] { static_cast<void>(store.count({.labels = selector})); });
  static_cast<void>(store.count({.namespace_ = "prod-1"}));
  const auto by_namespace = best_of(3, [&] { static_cast<void>(store.list({.namespace_ = "prod-1"})); });
  fmt::print("| {} | {:.2f} | {:.1f} | {:.2f} | {:.0f} | {:.0f} |\n", name(storage), each(get), each(cold), each(hot),
             by_label * 1e6, by_namespace * 1e6);
}

// From the chunks of a LIST to a synced informer: what a program pays, but for TLS and HTTP.
void whole(const std::vector<std::string>& pods, Storage storage) {
  const auto server = std::make_shared<ListServer>(pod_list(pods));
  double best = 1e9;
  for (int round = 0; round < 3; ++round) {
    rt::Loop loop(rt::ClockMode::Manual);
    cache::InformerOptions options;
    options.storage = storage;
    options.watch_list = false;
    cache::Informer informer(client::Client(server), kPods, options);
    rt::Scope scope;
    const auto began = cpu_seconds();
    scope.spawn(informer.run());
    loop.run(informer.wait_synced());
    best = std::min(best, cpu_seconds() - began);
  }
  fmt::print("| {} | {:.2f} |\n", name(storage), best / static_cast<double>(pods.size()) * 1e6);
}

}  // namespace
}  // namespace kopper::bench

int main(int argc, char** argv) {
  using namespace kopper::bench;
  const auto all = pods(argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 10'000);
  std::size_t bytes = 0;
  for (const auto& pod : all) bytes += pod.size();
  fmt::print("{} pods of {} B\n\n", all.size(), bytes / all.size());
  fmt::print(
      "| store | CPU us a pod, first list | B a pod | heap B a pod | CPU us a pod, list again | peak / steady |\n");
  fmt::print("|---|---|---|---|---|---|\n");
  memory_and_cpu("plain", all, Storage::Raw);
  memory_and_cpu("compressed", all, Storage::Compressed);
  memory_and_cpu("five fields, plain", all, Storage::Raw, kopper::cache::keep_only<Five>());
  fmt::print("\n| store | get us | decode us | hot view us | count by label us | list a namespace us |\n");
  fmt::print("|---|---|---|---|---|---|\n");
  for (const auto storage : {Storage::Raw, Storage::Compressed}) reads(all, storage);
  fmt::print("\n| informer | CPU us a pod, chunks to synced |\n|---|---|\n");
  for (const auto storage : {Storage::Raw, Storage::Compressed}) whole(all, storage);
}
