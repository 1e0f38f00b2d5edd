#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include <sys/resource.h>
#include <unistd.h>

#include "kopper/metrics/metrics.h"

namespace kopper::metrics {

namespace {

struct Stat {
  double virtual_bytes = 0;
  double resident_bytes = 0;
  double start_seconds = 0;  // since boot
};

// proc(5): the program's name, in parentheses, may contain anything; what follows it is numbers.
Stat read_stat() {
  std::ifstream file("/proc/self/stat");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  std::istringstream rest(text.substr(text.rfind(')') == std::string::npos ? text.size() : text.rfind(')') + 1));
  constexpr int kState = 3;
  constexpr int kStart = 22;
  constexpr int kVirtual = 23;
  constexpr int kResident = 24;
  Stat stat;
  std::string word;
  for (int field = kState; field <= kResident && rest >> word; ++field) {
    if (field == kStart) stat.start_seconds = std::stod(word) / static_cast<double>(sysconf(_SC_CLK_TCK));
    if (field == kVirtual) stat.virtual_bytes = std::stod(word);
    if (field == kResident) stat.resident_bytes = std::stod(word) * static_cast<double>(sysconf(_SC_PAGESIZE));
  }
  return stat;
}

double boot_seconds() {
  std::ifstream file("/proc/stat");
  std::string word;
  while (file >> word) {
    if (word == "btime" && file >> word) return std::stod(word);
  }
  return 0;
}

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return std::chrono::duration<double>(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec))
      .count();
}

double open_files() {
  std::error_code error;
  const std::filesystem::directory_iterator all("/proc/self/fd", error);
  if (error) return 0;
  return static_cast<double>(std::distance(begin(all), end(all))) - 1;  // but for the one that reads the folder
}

double max_files() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return static_cast<double>(limit.rlim_cur);
}

}  // namespace

Collector collect_process(Registry& registry) {
  auto& cpu = registry.counter("process_cpu_seconds_total", "Total user and system CPU time spent in seconds.");
  auto& open = registry.gauge("process_open_fds", "Number of open file descriptors.");
  auto& resident = registry.gauge("process_resident_memory_bytes", "Resident memory size in bytes.");
  auto& virtual_size = registry.gauge("process_virtual_memory_bytes", "Virtual memory size in bytes.");
  registry.gauge("process_max_fds", "Maximum number of open file descriptors.").set(max_files());
  registry.gauge("process_start_time_seconds", "Start time of the process since unix epoch in seconds.")
      .set(boot_seconds() + read_stat().start_seconds);
  return registry.collect([&cpu, &open, &resident, &virtual_size] {
    const auto stat = read_stat();
    cpu.inc(cpu_seconds() - cpu.value());
    open.set(open_files());
    resident.set(stat.resident_bytes);
    virtual_size.set(stat.virtual_bytes);
  });
}

}  // namespace kopper::metrics
