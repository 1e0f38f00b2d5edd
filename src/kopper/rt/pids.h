#pragma once

#include <string_view>
#include <vector>

namespace kopper::rt {

// The processes that `pid` started and that have not ended, oldest first.
std::vector<int> children_of(int pid);
// False when there is no such process, or it may not be signalled.
bool send_signal(int pid, int number) noexcept;
bool is_running(int pid) noexcept;
int own_pid() noexcept;
// "SIGTERM", "TERM"; 0 when there is none of that name.
int signal_number(std::string_view name) noexcept;
// Who we are on this machine.
unsigned user_id() noexcept;
unsigned group_id() noexcept;

}  // namespace kopper::rt
