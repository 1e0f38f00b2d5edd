#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kopper/http/handler.h"
#include "kopper/rt/loop.h"

// Where the processor's time and the memory of this process go.
namespace kopper::runtime {

struct CpuProfile {
  std::chrono::microseconds period{};               // of processor time, between two samples
  std::vector<std::vector<std::uintptr_t>> stacks;  // a sample each, the innermost call first
  std::size_t lost = 0;                             // samples that did not fit
};

// Samples all threads for so long, a hundred times in a second of processor time, by SIGPROF. Throws Error{Conflict}
// when a profile is being made already, or somebody else handles the signal.
Task<CpuProfile> profile_cpu(rt::Duration how_long);

// As `pprof` reads it: `go tool pprof operator-manager http://127.0.0.1:8080/debug/pprof/profile`.
std::string pprof(const CpuProfile& profile);
// "main;run;step 12" lines, as flame graphs are made of. A function without a public name reads "program+0x1234", which
// addr2line understands.
std::string folded(const CpuProfile& profile);
// Figures of the allocator, one a line.
std::string heap_summary();

//   GET /debug/pprof/profile?seconds=30   CPU; &debug=1: folded. At most 60 s.
//   GET /debug/pprof/heap
// Tells much and costs time: only for those who may, and off unless asked for.
std::unique_ptr<http::Handler> profile_handler();

}  // namespace kopper::runtime
