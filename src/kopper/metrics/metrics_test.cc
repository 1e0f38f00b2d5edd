#include "kopper/metrics/metrics.h"

#include <chrono>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/base/error.h"

namespace kopper::metrics {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Metrics, WritesTheTextFormatSorted) {
  Registry registry;
  registry.counter("b_total", "Second.", {{"z", "1"}, {"a", "quote \" slash \\ line \n"}}).inc(2);
  registry.counter("b_total", "Second.", {{"a", "0"}, {"z", "2"}}).inc();
  registry.gauge("a", "First.").set(-1.5);
  EXPECT_EQ(registry.text(),
            "# HELP a First.\n"
            "# TYPE a gauge\n"
            "a -1.5\n"
            "# HELP b_total Second.\n"
            "# TYPE b_total counter\n"
            "b_total{a=\"0\",z=\"2\"} 1\n"
            "b_total{a=\"quote \\\" slash \\\\ line \\n\",z=\"1\"} 2\n");
}

TEST(Metrics, TheSameNameAndLabelsAreTheSameMetric) {
  Registry registry;
  auto& one = registry.counter("c_total", "", {{"x", "1"}});
  for (int i = 0; i < 100; ++i) registry.counter("c_total", "", {{"x", std::to_string(i)}}).inc();
  EXPECT_EQ(&one, &registry.counter("c_total", "other help", {{"x", "1"}}));
  EXPECT_EQ(one.value(), 1);
}

TEST(Metrics, ACounterOnlyGrows) {
  Counter counter;
  counter.inc(3);
  counter.inc(-2);
  EXPECT_EQ(counter.value(), 3);
}

TEST(Metrics, HistogramBoundsAreInclusive) {
  Registry registry;
  auto& h = registry.histogram("h_seconds", "H.", {0.1, 1}, {{"x", "y"}});
  for (const double v : {0.05, 0.1, 0.5, 1.0, 7.0}) h.observe(v);
  EXPECT_THAT(h.counts(), ElementsAre(2, 2, 1));
  EXPECT_EQ(registry.text(),
            "# HELP h_seconds H.\n"
            "# TYPE h_seconds histogram\n"
            "h_seconds_count{x=\"y\"} 5\n"
            "h_seconds_sum{x=\"y\"} 8.65\n"
            "h_seconds_bucket{x=\"y\",le=\"0.1\"} 2\n"
            "h_seconds_bucket{x=\"y\",le=\"1\"} 4\n"
            "h_seconds_bucket{x=\"y\",le=\"+Inf\"} 5\n");
}

TEST(Metrics, ExponentialBuckets) { EXPECT_THAT(exponential_buckets(1, 10, 4), ElementsAre(1, 10, 100, 1000)); }

TEST(Metrics, LabelsCannotGrowWithoutBound) {
  Registry registry;
  for (std::size_t i = 0; i < kMaxSeries + 50; ++i) registry.counter("c_total", "", {{"key", std::to_string(i)}}).inc();
  const auto& other = registry.counter("c_total", "", {{"key", "_other"}});
  EXPECT_EQ(other.value(), 50);
  EXPECT_EQ(registry.counter("c_total", "", {{"key", "7"}}).value(), 1);

  registry.gauge("g", "", {{"key", std::string(kMaxLabelValue - 1, 'x') + "é" + std::string(1000, 'x')}}).set(1);
  EXPECT_THAT(registry.text(), HasSubstr("g{key=\"" + std::string(kMaxLabelValue - 1, 'x') + "\"} 1\n"));
}

TEST(Metrics, RefusesWhatPrometheusWould) {
  Registry registry;
  registry.counter("c_total", "");
  EXPECT_THROW(registry.gauge("c_total", ""), Error);
  EXPECT_THROW(registry.counter("1c", ""), Error);
  EXPECT_THROW(registry.counter("a-b", ""), Error);
  EXPECT_THROW(registry.counter("c", "", {{"a:b", ""}}), Error);
  EXPECT_THROW(registry.counter("c", "", {{"__a", ""}}), Error);
  EXPECT_THROW(registry.histogram("h", "", {1, 1}), Error);
}

TEST(Metrics, CollectorsRunBeforeEachTextUntilDestroyed) {
  Registry registry;
  auto& gauge = registry.gauge("g", "");
  {
    const auto collector = registry.collect([&] { gauge.inc(); });
    EXPECT_THAT(registry.text(), HasSubstr("g 1\n"));
    EXPECT_THAT(registry.text(), HasSubstr("g 2\n"));
  }
  EXPECT_THAT(registry.text(), HasSubstr("g 2\n"));
}

TEST(Metrics, ProcessFigures) {
  Registry registry;
  const auto process = collect_process(registry);
  registry.text();
  const auto open = registry.gauge("process_open_fds", "").value();
  EXPECT_GE(open, 3);
  const std::ifstream one_more("/proc/self/stat");
  registry.text();
  EXPECT_EQ(registry.gauge("process_open_fds", "").value(), open + 1);
  EXPECT_GT(registry.counter("process_cpu_seconds_total", "").value(), 0);
  EXPECT_GT(registry.gauge("process_resident_memory_bytes", "").value(), 1 << 20);
  EXPECT_GT(registry.gauge("process_max_fds", "").value(), open);
  const double now = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  const double start = registry.gauge("process_start_time_seconds", "").value();
  EXPECT_LE(start, now + 1);
  EXPECT_GT(start, now - 86400);
}

}  // namespace
}  // namespace kopper::metrics
