#include "kopper/rt/pids.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <string>

#include <unistd.h>

namespace kopper::rt {

std::vector<int> children_of(int pid) {
  const auto number = std::to_string(pid);
  std::ifstream file("/proc/" + number + "/task/" + number + "/children");
  std::vector<int> out;
  for (int child = 0; file >> child;) out.push_back(child);
  return out;
}

bool send_signal(int pid, int number) noexcept { return pid > 0 && ::kill(pid, number) == 0; }

bool is_running(int pid) noexcept { return pid > 0 && (::kill(pid, 0) == 0 || errno == EPERM); }

int own_pid() noexcept { return ::getpid(); }

int signal_number(std::string_view name) noexcept {
  if (name.starts_with("SIG")) name.remove_prefix(3);
  for (int number = 1; number < NSIG; ++number) {
    const char* known = ::sigabbrev_np(number);
    if (known != nullptr && name == known) return number;
  }
  return 0;
}

unsigned user_id() noexcept { return ::getuid(); }
unsigned group_id() noexcept { return ::getgid(); }

}  // namespace kopper::rt
