#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kopper/rt/stream.h"
#include "kopper/rt/task.h"

namespace kopper::rt {

// Where the standard streams of a Process go.
enum class Stdio : std::uint8_t {
  Shared,    // outputs: `output_file`, or where ours go
  Pipes,     // output() and errors(); input() with `open_input`
  Terminal,  // a terminal of its own: input() and output() are one stream, errors come with the output
};

struct ProcessSpec {
  std::vector<std::string> argv;                         // argv[0]: a path, or a name to look up in PATH
  std::vector<std::pair<std::string, std::string>> env;  // added to our own environment, or replacing parts of it
  bool clear_env = false;                                // nothing but `env`
  std::string cwd;                                       // empty: ours
  std::string input;                                     // what the process reads from its standard input
  std::string output_file;  // Process only: both outputs are appended to it; empty: they go where ours go
  std::size_t output_limit = std::size_t{1} << 20U;  // run_process only: so much of each output is kept
  Stdio stdio = Stdio::Shared;                       // Process only
  bool open_input = false;  // Pipes only: standard input is Process::input(); otherwise it is `input`
  // Terminal only: the terminal is no controlling one yet; the program makes it its own, as setsid(1) --ctty does.
  bool takes_terminal = false;
  bool open_info = false;  // Process only: the child may write to its descriptor 3, see Process::info()
  // Process only: limits by their names in prlimit(1), set before the program starts: {"nofile", 1024}. A program that
  // does not exist then ends with code 127, as in a shell.
  std::vector<std::pair<std::string, std::uint64_t>> limits;
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

  // Until it has ended, and its group with it; not until its outputs are read. One call at a time; afterwards it
  // returns at once.
  Task<ExitStatus> wait();
  // To the whole group. Nothing happens when the process has ended.
  void signal(int number) noexcept;
  int pid() const;

  // The streams that the spec asked for; Error{Internal} for another. They live as long as the process object. One that
  // is not read fills, and holds the program up. Once wait() has returned, what was written can still be read, and then
  // the stream ends, even when somebody who escaped keeps the other end open.
  Stream& input();  // shutdown() is its end of file
  Stream& output();
  Stream& errors();
  Stream& info();
  // Terminal only: its size in characters, told to the programs in it. 0 by 0 at first.
  void resize(std::uint16_t columns, std::uint16_t rows) noexcept;

  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace kopper::rt
