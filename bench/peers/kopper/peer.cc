#include "peers/kopper/peer.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>
#include <sys/resource.h>

#include "kopper/rt/offload.h"

namespace kopper::bench {
namespace {

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double quantile_us(const std::vector<std::int64_t>& sorted, std::size_t percent) {
  if (sorted.empty()) return 0;
  return static_cast<double>(sorted[std::min(sorted.size() * percent / 100, sorted.size() - 1)]) / 1e3;
}

void mark() {
  auto values = std::exchange(counts().latencies, {});
  counts().since = wall_now();
  std::ranges::sort(values);
  say("mark", {{"latencies", static_cast<double>(values.size())},
               {"p50_us", quantile_us(values, 50)},
               {"p99_us", quantile_us(values, 99)}});
}

std::optional<std::string> next_line() {
  std::string line;
  return std::getline(std::cin, line) ? std::optional(line) : std::nullopt;
}

}  // namespace

Counts& counts() {
  static Counts all;
  return all;
}

std::int64_t wall_now() {
  return std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
}

void note_latency(std::string_view sent, std::int64_t now) {
  std::int64_t when = 0;
  if (std::from_chars(sent.data(), sent.data() + sent.size(), when).ec != std::errc()) return;
  if (when > counts().since) counts().latencies.push_back(now - when);
}

void say(std::string_view what, std::initializer_list<std::pair<std::string_view, double>> more) {
  auto line = fmt::format(R"({{"what":"{}","cpu":{},"events":{},"reconciles":{})", what, cpu_seconds(), counts().events,
                          counts().reconciles);
  for (const auto& [name, value] : more) line += fmt::format(R"(,"{}":{})", name, value);
  fmt::print("{}}}\n", line);
  std::fflush(stdout);
}

Task<> serve(std::function<Task<>(int rounds)> storm) {
  rt::ThreadPool reading;
  while (true) {
    const auto line = co_await rt::offload(reading, next_line);
    if (!line) co_return;
    if (*line == "mark") {
      mark();
    } else if (storm && line->starts_with("storm ")) {
      co_await storm(std::stoi(line->substr(sizeof "storm")));
    } else {
      throw std::runtime_error("no command " + *line);
    }
  }
}

}  // namespace kopper::bench
