#include "kopper/metrics/metrics.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include "kopper/base/error.h"

namespace kopper::metrics {

namespace {

// What Prometheus takes as a name; a label's may not contain a colon.
bool good_name(std::string_view name, bool label) {
  const auto good = [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (c == ':' && !label);
  };
  return !name.empty() && !(name[0] >= '0' && name[0] <= '9') && std::ranges::all_of(name, good) &&
         !(label && name.starts_with("__"));
}

void cut(std::string& value) {
  if (value.size() <= kMaxLabelValue) return;
  std::size_t end = kMaxLabelValue;
  while (end > 0 && (static_cast<unsigned char>(value[end]) & 0xC0U) == 0x80U) --end;  // not inside a character
  value.resize(end);
}

Labels check(std::string_view name, Labels labels) {
  if (!good_name(name, false)) throw Error(Code::Invalid, fmt::format("no name for a metric: \"{}\"", name));
  for (auto& [label, value] : labels) {
    if (!good_name(label, true))
      throw Error(Code::Invalid, fmt::format("metric {}: no label name: \"{}\"", name, label));
    cut(value);
  }
  return labels;
}

struct ToPrometheus {
  prometheus::MetricType operator()(const Counter&) const { return prometheus::MetricType::Counter; }
  prometheus::MetricType operator()(const Gauge&) const { return prometheus::MetricType::Gauge; }
  prometheus::MetricType operator()(const Histogram&) const { return prometheus::MetricType::Histogram; }

  void operator()(const Counter& from, prometheus::ClientMetric& to) const { to.counter.value = from.value(); }
  void operator()(const Gauge& from, prometheus::ClientMetric& to) const { to.gauge.value = from.value(); }
  void operator()(const Histogram& from, prometheus::ClientMetric& to) const {
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < from.counts().size(); ++i) {
      below += from.counts()[i];
      const bool last = i == from.bounds().size();
      to.histogram.bucket.push_back({below, last ? std::numeric_limits<double>::infinity() : from.bounds()[i]});
    }
    to.histogram.sample_count = below;
    to.histogram.sample_sum = from.sum();
  }
};

}  // namespace

Histogram::Histogram(std::vector<double> bounds) : bounds_(std::move(bounds)), counts_(bounds_.size() + 1) {}

void Histogram::observe(double value) {
  ++counts_[static_cast<std::size_t>(std::ranges::lower_bound(bounds_, value) - bounds_.begin())];
  sum_ += value;
}

std::uint64_t Histogram::count() const { return std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0}); }

std::vector<double> exponential_buckets(double start, double factor, std::size_t count) {
  std::vector<double> bounds(count);
  for (auto& bound : bounds) bound = std::exchange(start, start * factor);
  return bounds;
}

template <class M>
M& Registry::find(std::string_view name, std::string_view help, Labels labels, Metric empty) {
  labels = check(name, std::move(labels));
  auto at = families_.find(name);
  if (at == families_.end()) {
    Family family{.help = std::string(help), .empty = std::move(empty), .series = {}};
    at = families_.emplace(std::string(name), std::move(family)).first;
  }
  auto& family = at->second;
  if (!std::holds_alternative<M>(family.empty)) {
    throw Error(Code::Invalid, fmt::format("metric {} exists with another type", name));
  }
  if (family.series.size() >= kMaxSeries && !family.series.contains(labels)) {
    for (auto& [label, value] : labels) value = "_other";
  }
  return std::get<M>(family.series.try_emplace(std::move(labels), family.empty).first->second);
}

Counter& Registry::counter(std::string_view name, std::string_view help, Labels labels) {
  return find<Counter>(name, help, std::move(labels), Counter());
}

Gauge& Registry::gauge(std::string_view name, std::string_view help, Labels labels) {
  return find<Gauge>(name, help, std::move(labels), Gauge());
}

Histogram& Registry::histogram(std::string_view name, std::string_view help, const std::vector<double>& bounds,
                               Labels labels) {
  if (!std::ranges::is_sorted(bounds, std::ranges::less_equal())) {
    throw Error(Code::Invalid, fmt::format("metric {}: its buckets do not ascend", name));
  }
  return find<Histogram>(name, help, std::move(labels), Histogram(bounds));
}

Collector Registry::collect(std::function<void()> fn) {
  return {*this, collectors_.insert(collectors_.end(), std::move(fn))};
}

std::string Registry::text() {
  for (const auto& fn : collectors_) fn();
  std::vector<prometheus::MetricFamily> families;
  families.reserve(families_.size());
  for (const auto& [name, family] : families_) {
    auto& out = families.emplace_back();
    out.name = name;
    out.help = family.help;
    out.type = std::visit([](const auto& empty) { return ToPrometheus()(empty); }, family.empty);
    for (const auto& [labels, metric] : family.series) {
      auto& series = out.metric.emplace_back();
      for (const auto& [label, value] : labels) series.label.push_back({label, value});
      std::visit([&](const auto& m) { ToPrometheus()(m, series); }, metric);
    }
  }
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace kopper::metrics
