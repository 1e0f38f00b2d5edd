#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

// Counters, gauges and histograms that Prometheus reads. A metric is a plain number of its loop, so that counting costs
// an addition and no lock; other threads post to the loop. Metrics live as long as their registry, at a fixed address:
// look one up once, keep the reference.

namespace kopper::metrics {

using Labels = std::map<std::string, std::string>;

// Only grows.
class Counter {
 public:
  void inc() { value_ += 1; }
  // A negative amount is ignored.
  void inc(double by) { value_ += by > 0 ? by : 0; }
  double value() const { return value_; }

 private:
  double value_ = 0;
};

class Gauge {
 public:
  void set(double value) { value_ = value; }
  void inc(double by = 1) { value_ += by; }
  void dec(double by = 1) { value_ -= by; }
  double value() const { return value_; }

 private:
  double value_ = 0;
};

class Histogram {
 public:
  // `bounds`: the inclusive upper ends of the buckets, ascending. One without an end is added.
  explicit Histogram(std::vector<double> bounds);

  void observe(double value);
  std::uint64_t count() const;
  double sum() const { return sum_; }
  const std::vector<double>& bounds() const { return bounds_; }
  // How many observations fell into each bucket, and into the one without an end.
  const std::vector<std::uint64_t>& counts() const { return counts_; }

 private:
  std::vector<double> bounds_;
  std::vector<std::uint64_t> counts_;
  double sum_ = 0;
};

// `count` bounds: start, start*factor, start*factor^2, …
std::vector<double> exponential_buckets(double start, double factor, std::size_t count);

// Bounds on what labels can cost. The series above the limit share one, whose label values all read "_other"; longer
// values are cut.
inline constexpr std::size_t kMaxSeries = 2000;
inline constexpr std::size_t kMaxLabelValue = 256;

// Called before each exposition, to set what is read rather than counted. Taken out when destroyed; outlives nothing:
// it must go before its registry.
class [[nodiscard]] Collector;

// Owns the metrics of a process. The same name and labels give the same metric; a name with another type, and names
// that Prometheus refuses, throw Error{Invalid}. The help, and the buckets, are those of the first call.
class Registry {
 public:
  Registry() = default;
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  Counter& counter(std::string_view name, std::string_view help, Labels labels = Labels());
  Gauge& gauge(std::string_view name, std::string_view help, Labels labels = Labels());
  Histogram& histogram(std::string_view name, std::string_view help, const std::vector<double>& bounds,
                       Labels labels = Labels());

  // Calls `fn` before each text(), to set what is read rather than counted, until the collector is destroyed. That must
  // be before the registry is.
  Collector collect(std::function<void()> fn);

  // The text format of Prometheus 0.0.4, families and series sorted. Serve it as kContentType.
  std::string text();
  static constexpr std::string_view kContentType = "text/plain; version=0.0.4; charset=utf-8";

 private:
  friend class Collector;
  using Metric = std::variant<Counter, Gauge, Histogram>;
  struct Family {
    std::string help;
    Metric empty;  // what a new series starts as
    std::map<Labels, Metric> series;
  };
  template <class M>
  M& find(std::string_view name, std::string_view help, Labels labels, Metric empty);

  std::map<std::string, Family, std::less<>> families_;
  std::list<std::function<void()>> collectors_;
};

class [[nodiscard]] Collector {
 public:
  Collector() = default;
  Collector(Collector&& other) noexcept { *this = std::move(other); }
  Collector& operator=(Collector&& other) noexcept {
    std::swap(registry_, other.registry_);
    std::swap(at_, other.at_);
    return *this;
  }
  ~Collector() {
    if (registry_ != nullptr) registry_->collectors_.erase(at_);
  }

 private:
  friend class Registry;
  Collector(Registry& registry, std::list<std::function<void()>>::iterator at) : registry_(&registry), at_(at) {}
  Registry* registry_ = nullptr;
  std::list<std::function<void()>>::iterator at_;
};

// The process's own figures, as every Prometheus client names them: process_cpu_seconds_total, process_open_fds,
// process_max_fds, process_resident_memory_bytes, process_virtual_memory_bytes, process_start_time_seconds.
Collector collect_process(Registry& registry);

}  // namespace kopper::metrics
