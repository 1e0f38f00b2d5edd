// The work queue: what an item costs from add to done, against the three sets of client-go written with the standard
// library. CPU time, best of several rounds that take turns. `queue_bench ours 1000000` runs one of them, for
// callgrind.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <malloc.h>

#include "kopper/rt/scope.h"
#include "kopper/runtime/queue.h"

namespace {

using kopper::Key;
using kopper::Task;
using kopper::runtime::Queue;
using kopper::runtime::QueueCore;
namespace rt = kopper::rt;

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

// Deduplicates and never hands out a key twice at once; no priority, fairness, delay or reason.
class Simple {
 public:
  void add(const Key& key) {
    if (!dirty_.insert(key).second || processing_.contains(key)) return;
    queue_.push_back(key);
  }
  Key next() {
    Key key = std::move(queue_.front());
    queue_.pop_front();
    dirty_.erase(key);
    processing_.insert(key);
    return key;
  }
  void done(const Key& key) {
    processing_.erase(key);
    if (dirty_.contains(key)) queue_.push_back(key);
  }
  bool empty() const { return queue_.empty(); }

 private:
  std::deque<Key> queue_;
  std::set<Key> dirty_;
  std::set<Key> processing_;
};

std::vector<Key> make_keys(std::size_t count) {
  std::vector<Key> keys;
  keys.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    keys.emplace_back(fmt::format("team-{}", i * 7919 % 100),
                      fmt::format("web-{:08x}-worker", static_cast<std::uint32_t>(i * 2654435761U)));
  }
  return keys;
}

void simple(const std::vector<Key>& keys) {
  Simple queue;
  for (const auto& key : keys) queue.add(key);
  while (!queue.empty()) queue.done(queue.next());
}

void ours(const std::vector<Key>& keys) {
  QueueCore queue;
  const rt::TimePoint now{};
  for (const auto& key : keys) queue.add(key, {.priority = 0, .reason = "initial list"}, {}, now);
  while (auto run = queue.next(now)) queue.done(*run->item);
}

// Each key is delayed first; a third is added again while it is delayed.
void delayed(const std::vector<Key>& keys) {
  QueueCore queue;
  const rt::TimePoint now{};
  for (std::size_t i = 0; i < keys.size(); ++i)
    queue.add(keys[i], {}, std::chrono::microseconds(i * 7919 % 100'000 + 1), now);
  for (std::size_t i = 0; i < keys.size(); i += 3)
    queue.add(keys[i], {}, std::chrono::microseconds(i * 31 % 100'000 + 1), now);
  queue.tick(now + std::chrono::hours(1));
  while (auto run = queue.next(now)) queue.done(*run->item);
}

Task<> worker(Queue* queue) {
  for (;;) {
    auto lease = co_await queue->next();
    if (!lease) co_return;
    co_await rt::yield();
  }
}

Task<> work_off(Queue* queue, std::size_t workers) {
  rt::Scope scope;
  for (std::size_t i = 0; i < workers; ++i) scope.spawn(worker(queue));
  co_await scope.join();
}

// With the clock, and coroutines that wait for keys and give up the loop with each.
void with_workers(const std::vector<Key>& keys) {
  rt::Loop loop;
  Queue queue;
  for (const auto& key : keys) queue.add(key, {.priority = 0, .reason = "initial list"});
  queue.shutdown();
  loop.run(work_off(&queue, 1000));
}

// A small queue, as it mostly is: one key comes and goes.
void one_at_a_time(const std::vector<Key>& keys) {
  QueueCore queue;
  const rt::TimePoint now{};
  for (const auto& key : keys) {
    queue.add(key, {.priority = 0, .reason = "created"}, {}, now);
    queue.done(*queue.next(now)->item);
  }
}

void one_at_a_time_simple(const std::vector<Key>& keys) {
  Simple queue;
  for (const auto& key : keys) {
    queue.add(key);
    queue.done(queue.next());
  }
}

std::size_t in_use() { return mallinfo2().uordblks + mallinfo2().hblkhd; }

void memory(const std::vector<Key>& keys) {
  const auto floor = in_use();
  QueueCore queue;
  for (const auto& key : keys) queue.add(key, {.priority = 0, .reason = "initial list"}, {}, {});
  const auto full = in_use();
  while (auto run = queue.next({})) queue.done(*run->item);
  fmt::print("\n{} bytes a waiting key; {} bytes more than before when all are gone\n", (full - floor) / keys.size(),
             in_use() - floor);
}

struct Row {
  const char* name;
  void (*run)(const std::vector<Key>&);
  const char* rival = nullptr;
  double best = 1e9;
};

}  // namespace

int main(int argc, char** argv) {
  std::vector<Row> rows{{"one at a time, client-go's sets", one_at_a_time_simple},
                        {"one at a time", one_at_a_time, "one at a time, client-go's sets"},
                        {"client-go's sets", simple},
                        {"ours", ours, "client-go's sets"},
                        {"ours, delayed first", delayed},
                        {"ours, 1000 workers on a loop", with_workers}};
  if (argc > 2) {
    const auto keys = make_keys(static_cast<std::size_t>(std::atol(argv[2])));
    for (const auto& row : rows) {
      if (std::strcmp(row.name, argv[1]) == 0) row.run(keys);
    }
    return 0;
  }
  const auto keys = make_keys(1'000'000);
  for (int round = 0; round < 3; ++round) {
    for (auto& row : rows) {
      const double start = cpu_seconds();
      row.run(keys);
      row.best = std::min(row.best, cpu_seconds() - start);
    }
  }
  fmt::print("{} keys in 100 namespaces\n| | ns an item | times faster |\n|---|---:|---:|\n", keys.size());
  for (const auto& row : rows) {
    double rival = 0;
    for (const auto& other : rows) {
      if (row.rival != nullptr && std::strcmp(other.name, row.rival) == 0) rival = other.best;
    }
    fmt::print("| {} | {:.0f} | {} |\n", row.name, row.best / static_cast<double>(keys.size()) * 1e9,
               rival > 0 ? fmt::format("{:.1f}", rival / row.best) : "");
  }
  memory(keys);
}
