#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kopper/rt/task.h"

namespace kopper::rt {

struct ProcessSpec {
  std::vector<std::string> argv;                         // argv[0]: a path, or a name to look up in PATH
  std::vector<std::pair<std::string, std::string>> env;  // added to our own environment, or replacing parts of it
  bool clear_env = false;                                // nothing but `env`
  std::string cwd;                                       // empty: ours
  std::string input;                                     // what the process reads from its standard input
  std::string output_file;  // Process only: both outputs are appended to it; empty: they go where ours go
  std::size_t output_limit = std::size_t{1} << 20U;  // run_process only: so much of each output is kept
};

struct ExitStatus {
  int code = 0;    // as a shell says it: 128 + signal for a process that a signal ended
  int signal = 0;  // 0: it ended by itself

  bool ok() const { return code == 0; }
  std::string str() const;  // "exit code 1", "killed by signal 9 (Killed)"
};

struct ProcessResult {
  ExitStatus status;
  std::string out;
  std::string err;
  bool truncated = false;  // more than `output_limit` came; the rest was read and dropped
};

// Runs a program to its end. Cancelling or destroying the task kills it, so wrap it in timeout(). Whatever the program
// left running in its process group is killed too. Throws Error{NotFound|Forbidden|…} when it cannot be started.
Task<ProcessResult> run_process(ProcessSpec spec);

// A process that runs beside us, in a process group of its own. Loop-confined.
class Process {
 public:
  // Running when constructed. Throws Error naming the program when it cannot be started.
  explicit Process(const ProcessSpec& spec);
  // Kills the group, if it still runs, and waits for the process (not for long: SIGKILL).
  ~Process();
  Process(Process&&) noexcept;
  Process& operator=(Process&&) noexcept;

  // Until it has ended, and its group with it. One call at a time; afterwards it returns at once.
  Task<ExitStatus> wait();
  // To the whole group. Nothing happens when the process has ended.
  void signal(int number) noexcept;
  int pid() const;

  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace kopper::rt
