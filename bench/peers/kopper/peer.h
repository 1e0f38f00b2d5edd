#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kopper/rt/task.h"

// What all modes of the program share: what is counted, what is said, what is obeyed. The other two peers do the same.
namespace kopper::bench {

inline constexpr std::string_view kSentAnnotation = "bench.kopper.dev/sent";

struct Counts {
  std::int64_t events = 0;
  std::int64_t reconciles = 0;
  std::int64_t since = 0;                 // what was sent before does not count
  std::vector<std::int64_t> latencies{};  // ns
};
Counts& counts();

std::int64_t wall_now();  // ns since the epoch
// `sent` is the annotation's text; empty when there is none.
void note_latency(std::string_view sent, std::int64_t now);

// One line of JSON for the driver: what happened, and what it has cost until now.
void say(std::string_view what, std::initializer_list<std::pair<std::string_view, double>> more = {});
// Obeys the driver until it closes our standard input. `storm` asks for all pods once a round.
Task<> serve(std::function<Task<>(int rounds)> storm = nullptr);

Task<> run_controller();
Task<> run_operator();

}  // namespace kopper::bench
