#include "kopper/runtime/queue.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>

#include <fmt/format.h>

#include "kopper/metrics/metrics.h"

namespace kopper::runtime {

namespace {

rt::TimePoint now() { return rt::Loop::current().now(); }

double seconds(rt::Duration duration) { return std::chrono::duration<double>(duration).count(); }

const std::vector<double>& buckets() {
  static const auto bounds = metrics::exponential_buckets(10e-9, 10, 12);
  return bounds;
}

}  // namespace

// The metrics of controller-runtime, by name, label and bucket. What can be read when somebody asks is not counted
// before.
struct Queue::Meters {
  // More priorities than these share a series, named as controller-runtime names it.
  static constexpr std::size_t kPriorities = 25;
  static constexpr const char* kTooMany = "exceeded_cardinality_limit";

  Meters(metrics::Registry& to, const std::string& called, const QueueCore& from)
      : registry(to),
        name(called),
        core(from),
        queued(to.histogram("workqueue_queue_duration_seconds",
                            "How long in seconds an item stays in workqueue before being requested", buckets(),
                            labels())),
        worked(to.histogram("workqueue_work_duration_seconds",
                            "How long in seconds processing an item from workqueue takes.", buckets(), labels())),
        adds(to.counter("workqueue_adds_total", "Total number of adds handled by workqueue", labels())),
        retries(to.counter("workqueue_retries_total", "Total number of items added to the workqueue with a delay",
                           labels())),
        unfinished(to.gauge("workqueue_unfinished_work_seconds",
                            "How many seconds of work in progress work_duration has not observed yet", labels())),
        longest(to.gauge("workqueue_longest_running_processor_seconds",
                         "How many seconds the longest running processor of the workqueue has been running", labels())),
        collector(to.collect([this] { collect(); })) {}

  metrics::Labels labels() const { return {{"name", name}, {"controller", name}}; }

  metrics::Gauge& depth(const std::string& priority) {
    auto all = labels();
    all.emplace("priority", priority);
    return registry.gauge("workqueue_depth", "Current depth of workqueue by workqueue and priority", std::move(all));
  }

  void collect() {
    adds.inc(static_cast<double>(core.adds() - std::exchange(adds_told, core.adds())));
    retries.inc(static_cast<double>(core.retries() - std::exchange(retries_told, core.retries())));
    for (auto& [priority, count] : depths) count = 0;
    std::size_t others = 0;
    for (const auto& [priority, count] : core.depths()) {
      if (depths.size() < kPriorities || depths.contains(priority)) {
        depths[priority] = count;
      } else {
        others += count;
      }
    }
    for (const auto& [priority, count] : depths) depth(std::to_string(priority)).set(static_cast<double>(count));
    if (others > 0 || others_seen) depth(kTooMany).set(static_cast<double>(others));
    others_seen = others_seen || others > 0;
    double sum = 0;
    double most = 0;
    core.each_leased([&, at = now()](const QueueCore::Item& item) {
      const double age = seconds(at - item.started);
      sum += age;
      most = std::max(most, age);
    });
    unfinished.set(sum);
    longest.set(most);
  }

  metrics::Registry& registry;
  const std::string name;
  const QueueCore& core;
  metrics::Histogram& queued;
  metrics::Histogram& worked;
  metrics::Counter& adds;
  metrics::Counter& retries;
  metrics::Gauge& unfinished;
  metrics::Gauge& longest;
  std::uint64_t adds_told = 0;
  std::uint64_t retries_told = 0;
  std::map<int, std::size_t> depths;  // of every priority seen, so that one that is empty now reads 0
  bool others_seen = false;
  metrics::Collector collector;
};

Queue::Queue(QueueOptions options)
    : core_(options.policy),
      timer_(*this),
      meters_(options.metrics != nullptr ? std::make_unique<Meters>(*options.metrics, options.name, core_) : nullptr) {}

Queue::~Queue() = default;

bool Queue::add_after(Key key, rt::Duration delay, AddOptions options) {
  const bool taken = core_.add(std::move(key), std::move(options), delay, now());
  added();
  return taken;
}

bool Queue::add_rate_limited(Key key, AddOptions options) {
  const bool taken = core_.add_rate_limited(std::move(key), std::move(options), now());
  added();
  return taken;
}

void Queue::forget(const Key& key) { core_.forget(key); }

// One add makes at most one key ready, and may set an earlier time.
void Queue::added() {
  if (core_.ready() > 0) waiting_.wake_one();
  if (core_.next_due() == armed_for_) return;
  armed_for_ = core_.next_due();
  if (armed_for_ == rt::TimePoint::max()) {
    timer_.disarm();
  } else {
    timer_.arm(armed_for_);
  }
}

void Queue::tick() {
  armed_for_ = rt::TimePoint::max();
  for (std::size_t ready = core_.tick(now()); ready > 0; --ready) waiting_.wake_one();
  added();
}

void Queue::done(QueueCore::Item& item) {
  if (meters_) meters_->worked.observe(seconds(now() - item.started));
  core_.done(item);
  if (core_.drained()) {
    waiting_.wake_all();
  } else if (core_.ready() > 0) {
    waiting_.wake_one();
  }
}

std::optional<Queue::Lease> Queue::try_next() {
  auto run = core_.next(now());
  if (!run) return std::nullopt;
  if (meters_) meters_->queued.observe(seconds(run->waited));
  return Lease(*this, std::move(*run));
}

Task<std::optional<Queue::Lease>> Queue::next() {
  while (core_.ready() == 0) {
    if (core_.drained()) co_return std::nullopt;
    co_await rt::Waiter(waiting_);
  }
  auto lease = try_next();
  if (core_.drained()) waiting_.wake_all();
  co_return std::move(lease);
}

std::vector<Key> Queue::shutdown() {
  auto dropped = core_.shutdown();
  added();
  waiting_.wake_all();
  return dropped;
}

}  // namespace kopper::runtime
