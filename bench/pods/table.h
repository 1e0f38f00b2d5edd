#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <benchmark/benchmark.h>

namespace kopper::bench {

// Prints a Markdown table at the end of a run: throughput by CPU time, the best of all repetitions, and how it compares
// with the rows called `base` (such as memcpy) and `rival`. Benchmarks must call SetBytesProcessed; an "items" counter
// adds the time an item takes.
class Table : public ::benchmark::BenchmarkReporter {
 public:
  Table(std::string base, std::string rival) : base_(std::move(base)), rival_(std::move(rival)) {}

  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override;
  void Finalize() override;

 private:
  struct Row {
    std::string name;
    double bytes_per_second = 0;
    double seconds_an_item = 0;
  };
  double speed_of(std::string_view name) const;

  std::string base_;
  std::string rival_;
  std::vector<Row> rows_;
};

}  // namespace kopper::bench
