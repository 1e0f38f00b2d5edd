// How fast JSON is read, split and written here, against memcpy and other libraries, on the same pods in one run.
//   json_bench [--pods=N] [--benchmark_…]
#include <charconv>
#include <cstring>
#include <functional>
#include <memory>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <malloc.h>
#include <nlohmann/json.hpp>
#include <simdjson.h>

#include "kopper/json/splitter.h"
#include "kopper/json/value.h"
#include "kopper/json/yaml.h"

#include "pods/pods.h"
#include "pods/table.h"

namespace kopper::bench {
namespace {

constexpr std::size_t kChunk = 16384;  // what a TLS record brings

struct Data {
  std::vector<std::string> pods;
  std::string list;
  std::size_t bytes = 0;  // of all pods

  explicit Data(std::size_t count) : pods(bench::pods(count)), list(pod_list(pods)) {
    for (const auto& pod : pods) bytes += pod.size();
  }
};

// Does `work` once an iteration; it reads `bytes` that hold `items` pods.
void measure(const std::string& name, std::size_t bytes, std::size_t items, std::function<void()> work) {
  benchmark::RegisterBenchmark(name.c_str(),
                               [bytes, items, work](benchmark::State& state) {
                                 for (auto _ : state) work();
                                 state.SetBytesProcessed(static_cast<std::int64_t>(bytes) * state.iterations());
                                 state.SetItemsProcessed(static_cast<std::int64_t>(items) * state.iterations());
                               })
      ->MeasureProcessCPUTime()
      ->MinTime(0.5)
      ->Repetitions(3)
      ->ReportAggregatesOnly(false);
}

void split(std::string_view list, bool simd, const json::ListSplitter::Sink& sink) {
  json::ListSplitter splitter({.simd = simd});
  for (; !list.empty(); list.remove_prefix(std::min(kChunk, list.size()))) {
    if (!splitter.feed(list.substr(0, kChunk), sink)) std::abort();
  }
  if (!splitter.finish()) std::abort();
}

void must(bool ok) {
  if (!ok) std::abort();
}

void whole_list(const Data& data) {
  const std::string& list = data.list;
  const std::size_t items = data.pods.size();
  auto copy = std::make_shared<std::string>(list.size(), '\0');
  measure("memcpy", list.size(), items, [&list, copy] {
    std::memcpy(copy->data(), list.data(), list.size());
    benchmark::DoNotOptimize(copy->data());
    benchmark::ClobberMemory();
  });
  measure("list: split", list.size(), items,
          [&] { split(list, true, [](std::string_view i) { benchmark::DoNotOptimize(i.data()); }); });
  measure("list: split, scalar", list.size(), items,
          [&] { split(list, false, [](std::string_view i) { benchmark::DoNotOptimize(i.data()); }); });
  measure("list: split, each to Value", list.size(), items,
          [&] { split(list, true, [](std::string_view i) { must(json::parse(i).has_value()); }); });
  measure("list: parse to Value", list.size(), items, [&] { must(json::parse(list).has_value()); });
  auto parser = std::make_shared<simdjson::dom::parser>();
  auto padded = std::make_shared<simdjson::padded_string>(list);
  measure("list: simdjson DOM", list.size(), items,
          [parser, padded] { must(parser->parse(*padded).error() == simdjson::SUCCESS); });
  measure("list: boost.json monotonic", list.size(), items, [&] {
    boost::json::monotonic_resource arena;
    benchmark::DoNotOptimize(boost::json::parse(list, &arena));
  });
  measure("list: boost.json", list.size(), items, [&] { benchmark::DoNotOptimize(boost::json::parse(list)); });
  measure("list: nlohmann", list.size(), items, [&] { benchmark::DoNotOptimize(nlohmann::json::parse(list)); });
}

void one_by_one(const Data& data) {
  const auto each = [&data](const std::string& name, auto work) {
    measure(name, data.bytes, data.pods.size(), [&data, work] {
      for (const auto& pod : data.pods) work(pod);
    });
  };
  each("pod: parse to Value", [](const std::string& pod) { must(json::parse(pod).has_value()); });
  each("pod: boost.json monotonic, 64 KB of stack", [](const std::string& pod) {
    std::array<unsigned char, 65536> stack;  // NOLINT(cppcoreguidelines-pro-type-member-init)
    boost::json::monotonic_resource arena(stack.data(), stack.size());
    benchmark::DoNotOptimize(boost::json::parse(pod, &arena));
  });
  each("pod: boost.json monotonic", [](const std::string& pod) {
    boost::json::monotonic_resource arena;
    benchmark::DoNotOptimize(boost::json::parse(pod, &arena));
  });
  each("pod: boost.json", [](const std::string& pod) { benchmark::DoNotOptimize(boost::json::parse(pod)); });
  each("pod: nlohmann", [](const std::string& pod) { benchmark::DoNotOptimize(nlohmann::json::parse(pod)); });

  auto values = std::make_shared<std::vector<json::Value>>();
  auto yamls = std::make_shared<std::vector<std::string>>();
  auto foreign = std::make_shared<std::vector<boost::json::value>>();
  for (const auto& pod : data.pods) {
    values->push_back(*json::parse(pod));
    if (yamls->size() < 200) yamls->push_back(json::to_yaml(values->back()));
    foreign->push_back(boost::json::parse(pod));
  }
  measure("pod: copy a Value", data.bytes, data.pods.size(), [values] {
    for (const auto& value : *values) benchmark::DoNotOptimize(json::Value(value));
  });
  measure("pod: dump", data.bytes, data.pods.size(), [values] {
    for (const auto& value : *values) benchmark::DoNotOptimize(json::dump(value));
  });
  measure("pod: dump by boost.json", data.bytes, data.pods.size(), [foreign] {
    for (const auto& value : *foreign) benchmark::DoNotOptimize(boost::json::serialize(value));
  });
  std::size_t yaml_bytes = 0;
  for (const auto& yaml : *yamls) yaml_bytes += yaml.size();
  measure("pod: parse YAML", yaml_bytes, yamls->size(), [yamls] {
    for (const auto& yaml : *yamls) must(json::parse_yaml(yaml).has_value());
  });
}

// Bytes in use by the heap for one pod that is kept.
template <class Make>
void memory(const Data& data, std::string_view name, Make make) {
  using Kept = decltype(make(data.pods.front()));
  std::vector<Kept> kept;
  kept.reserve(data.pods.size());
  const std::size_t before = mallinfo2().uordblks;
  for (const auto& pod : data.pods) kept.push_back(make(pod));
  const double each =
      static_cast<double>(mallinfo2().uordblks - before) / static_cast<double>(data.pods.size()) + sizeof(Kept);
  fmt::print("| {} | {:.0f} | {:.2f} |\n", name, each,
             each * static_cast<double>(data.pods.size()) / static_cast<double>(data.bytes));
}

struct InArena {
  explicit InArena(const std::string& pod) : value(boost::json::parse(pod, &arena)) {}

  boost::json::monotonic_resource arena;
  boost::json::value value;
};

void memory_table(const Data& data) {
  fmt::print("\n| a pod kept as | bytes | of its JSON |\n|---|---:|---:|\n");
  memory(data, "its JSON", [](const std::string& pod) { return pod; });
  memory(data, "Value", [](const std::string& pod) { return *json::parse(pod); });
  memory(data, "boost.json", [](const std::string& pod) { return boost::json::parse(pod); });
  memory(data, "boost.json, an arena each", [](const std::string& pod) { return std::make_unique<InArena>(pod); });
  memory(data, "nlohmann", [](const std::string& pod) { return nlohmann::json::parse(pod); });
}

std::size_t pods_from(int& argc, char** argv) {
  constexpr std::string_view kFlag = "--pods=";
  std::size_t count = 2000;
  int kept = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string_view arg = argv[i];
    if (arg.starts_with(kFlag)) {
      std::from_chars(arg.data() + kFlag.size(), arg.data() + arg.size(), count);
    } else {
      argv[kept++] = argv[i];
    }
  }
  argc = kept;
  return std::max<std::size_t>(count, 1);
}

}  // namespace
}  // namespace kopper::bench

int main(int argc, char** argv) {
  using namespace kopper::bench;
  const Data data(pods_from(argc, argv));
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  fmt::print("{} pods, {:.1f} MB, {} bytes each\n\n", data.pods.size(), static_cast<double>(data.list.size()) / 1e6,
             data.bytes / data.pods.size());
  whole_list(data);
  one_by_one(data);
  Table table("memcpy", "list: nlohmann");
  benchmark::RunSpecifiedBenchmarks(&table);
  memory_table(data);
  return 0;
}
